"""What may be asked of somebody who is logged in to our Trac: the words of each kind of task."""

from environments.apps.templates import Template
from environments.apps.trac import instances

TEMPLATES: dict[str, Template] = {
    "ticket-owner": Template(
        "answer",
        (
            "Who is responsible for the ticket {subject}?",
            "Look up the ticket {subject} and tell me who owns it.",
            "I need the name of the owner of the ticket {subject}.",
        ),
        instances.owner,
    ),
    "ticket-priority": Template(
        "answer",
        (
            "What priority does ticket number {number} have?",
            "How urgent is ticket {number} said to be? Give its priority.",
            "Find ticket {number} and report which priority it was given.",
        ),
        instances.priority,
    ),
    "active-tickets": Template(
        "answer",
        (
            "How many tickets of the milestone {milestone} are still active?",
            "Count the tickets that are left to do for {milestone}.",
            "We plan the milestone {milestone}: how many of its tickets are not closed?",
        ),
        instances.active,
    ),
    "ship-capacity": Template(
        "answer",
        (
            "How many passengers can the {ship} carry?",
            "The wiki describes the ship {ship}. What number of passengers does it take?",
            "I am writing about the {ship} and need to know how many passengers fit on board.",
        ),
        instances.capacity,
    ),
    "office-hours": Template(
        "answer",
        (
            "On which day of the week does {person} hold office hours?",
            "I want to see {person} in person. Which weekday do the office hours in the wiki say?",
        ),
        instances.office_hours,
        "test",
    ),
    "open-ticket": Template(
        "open",
        (
            "Show me the ticket {subject}.",
            "Take me to the page of the ticket {subject}.",
            "Find the ticket {subject} and leave it open on the screen.",
        ),
        instances.open_ticket,
    ),
    "open-ship": Template(
        "open",
        (
            "Show me the wiki page about the ship {ship}.",
            "Open what the wiki knows of the {ship} and leave it on the screen.",
        ),
        instances.open_ship,
    ),
    "file-ticket": Template(
        "create",
        (
            "File a new {type} for the component {component} with the priority {priority}. Its summary: {subject}.",
            "Create a ticket of the type {type}, priority {priority}, component {component}, saying {subject}.",
            "Somebody noticed this: {subject}. Write a ticket with that summary, "
            "as a {priority} {type}, and put it under {component}.",
        ),
        instances.file_ticket,
    ),
    "add-milestone": Template(
        "create",
        (
            "Add the milestone {name} to the roadmap, without a date.",
            "We need one more milestone, without a due date. Call it {name}.",
        ),
        instances.add_milestone,
        "test",
    ),
    "set-priority": Template(
        "edit",
        (
            "Change the priority of the ticket {subject} to {priority}.",
            "The ticket {subject} should have the priority {priority}. Please correct it.",
            "Make it {priority}: the ticket {subject}.",
        ),
        instances.set_priority,
    ),
    "move-ticket": Template(
        "edit",
        (
            "Move the ticket {subject} to the milestone {milestone}.",
            "The ticket {subject} is now planned for {milestone}. Update its milestone.",
        ),
        instances.move,
        "test",
    ),
    "close-ticket": Template(
        "edit",
        (
            "Close the ticket {subject} as {resolution}.",
            "Resolve the ticket {subject} with the resolution {resolution}.",
            "Nobody will work on the ticket {subject} any more. Close it, resolution {resolution}.",
        ),
        instances.close,
    ),
    "hand-over": Template(
        "edit",
        (
            "Reassign the ticket {subject} to {person}.",
            "From now on {person} takes care of the ticket {subject}. Reassign it.",
            "Hand the ticket {subject} over to {person}.",
        ),
        instances.hand_over,
    ),
    "comment": Template(
        "edit",
        (
            "Comment on the ticket {subject} as follows: {text}.",
            "Leave a comment on the ticket {subject}. It should read: {text}.",
        ),
        instances.comment,
    ),
    "find-the-one": Template(
        "constraints",
        (
            "Which active {type} in the component {component} is planned for {milestone}? Answer with its number.",
            "Exactly one {type} about {component} that belongs to {milestone} is not closed. What is its number?",
        ),
        instances.find_the_one,
    ),
    "raise-the-one": Template(
        "constraints",
        (
            "There is one active {type} in the component {component} for {milestone}. Set its priority to {priority}.",
            "Give the only {type} of {component} that is still active in {milestone} the priority {priority}.",
        ),
        instances.raise_the_one,
        "test",
    ),
    "give-to-on-call": Template(
        "steps",
        (
            "The wiki page ProjectTeam says who is on call. Reassign ticket number {number} to that person.",
            "Whoever is on call according to the wiki page ProjectTeam should own ticket {number}. Reassign it.",
        ),
        instances.on_call,
    ),
    "captain-ticket": Template(
        "steps",
        (
            "Look up the captain of the {ship} in the wiki. Then file a ticket in the component {component} "
            "with the captain's full name, and nothing else, as its summary.",
            "Who is captain of the {ship}? File a ticket under {component} that has just this full name as summary.",
        ),
        instances.captain,
    ),
    "close-duplicate": Template(
        "steps",
        (
            "Ticket {number} repeats ticket {other}. Close {number} as a duplicate with the comment: Same as #{other}.",
            "Close ticket {number} as a duplicate and comment on it: Same as #{other}.",
        ),
        instances.duplicate,
        "test",
    ),
    "no-such-component": Template(
        "impossible",
        (
            "Put the ticket {subject} under the component {component}.",
            "Change the component of the ticket {subject} to {component}.",
        ),
        instances.no_component,
    ),
    "no-such-ticket": Template(
        "impossible",
        (
            "Close ticket number {number} as fixed.",
            "Ticket {number} is done. Close it as fixed.",
        ),
        instances.no_ticket,
    ),
}
