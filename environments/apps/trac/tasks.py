"""What may be asked of somebody who is logged in to our Trac: the words of each kind of task."""

from environments.apps.templates import Template, ask
from environments.apps.trac import instances

TEMPLATES: dict[str, Template] = {
    "ticket-owner": ask(
        "answer",
        instances.owner,
        "Who is [responsible] for the ticket {subject}?",
        "Look up the ticket {subject} and tell me who [owns] it.",
        "I need the name of the [owner] of the ticket {subject}.",
    ),
    "ticket-priority": ask(
        "answer",
        instances.priority,
        "What [priority] does ticket number {number} have?",
        "How urgent is ticket {number} said to be? Give its [priority].",
        "Find ticket {number} and report which [priority] it was given.",
    ),
    "ticket-component": ask(
        "answer",
        instances.component,
        "Which [component] is the ticket {subject} about?",
        "Look up the [component] of the ticket {subject}.",
        "I need to know the [component] under which the ticket {subject} was filed.",
    ),
    "ticket-version": ask(
        "answer",
        instances.version,
        "Which [version] is the ticket {subject} about?",
        "Look up the [version] of the ticket {subject}.",
        "Find the ticket {subject} and report the [version] in which it was seen.",
    ),
    "ticket-milestone": ask(
        "answer",
        instances.milestone,
        "For which [milestone] is the ticket {subject} planned?",
        "Look up the [milestone] of the ticket {subject}.",
        split="test",
    ),
    "active-tickets": ask(
        "answer",
        instances.active,
        "How many tickets of the milestone {milestone} are still [active]?",
        "Count the tickets that are [left to do] for {milestone}.",
        "We plan the milestone {milestone}: how many of its tickets are [not closed]?",
    ),
    "ship-capacity": ask(
        "answer",
        instances.capacity,
        "How many [passengers] can the {ship} carry?",
        "The wiki describes the ship {ship}. What number of [passengers] does it take?",
        "I am writing about the {ship} and need to know how many [passengers] fit on board.",
    ),
    "office-hours": ask(
        "answer",
        instances.office_hours,
        "On which day of the week does {person} hold [office hours]?",
        "I want to see {person} in person. Which weekday do the [office hours] in the wiki say?",
        split="test",
    ),
    "open-ticket": ask(
        "open",
        instances.open_ticket,
        "[Show] me the ticket {subject}.",
        "[Take me] to the page of the ticket {subject}.",
        "Find the ticket {subject} and [leave it open] on the screen.",
    ),
    "open-ship": ask(
        "open",
        instances.open_ship,
        "[Show] me the wiki page about the ship {ship}.",
        "Open what the wiki knows of the {ship} and [leave it] on the screen.",
    ),
    "open-page": ask(
        "open",
        instances.open_page,
        "[Show] me the page {page} of the handbook.",
        "Find {page} in the wiki and [leave it open] on the screen.",
        split="test",
    ),
    "file-ticket": ask(
        "create",
        instances.file_ticket,
        "File a new {type} for the component {component} with the priority {priority}. Its summary: {subject}.",
        "Create a ticket of the type {type}, priority {priority}, component {component}, saying {subject}.",
        (
            "Somebody noticed this: {subject}. Write a ticket with that summary, "
            "as a {priority} {type}, and put it under {component}."
        ),
    ),
    "add-milestone": ask(
        "create",
        instances.add_milestone,
        "Add the milestone {name} to the roadmap, without a date.",
        "We need one more milestone, without a due date. Call it {name}.",
        split="test",
    ),
    "set-priority": ask(
        "edit",
        instances.set_priority,
        "Change the priority of the ticket {subject} to {priority}.",
        "The ticket {subject} should have the priority {priority}. Please correct it.",
        "Make it {priority}: the ticket {subject}.",
    ),
    "move-ticket": ask(
        "edit",
        instances.move,
        "Move the ticket {subject} to the milestone {milestone}.",
        "The ticket {subject} is now planned for {milestone}. Update its milestone.",
        split="test",
    ),
    "close-ticket": ask(
        "edit",
        instances.close,
        "Close the ticket {subject} as {resolution}.",
        "Resolve the ticket {subject} with the resolution {resolution}.",
        "Nobody will work on the ticket {subject} any more. Close it, resolution {resolution}.",
    ),
    "hand-over": ask(
        "edit",
        instances.hand_over,
        "Reassign the ticket {subject} to {person}.",
        "From now on {person} takes care of the ticket {subject}. Reassign it.",
        "Hand the ticket {subject} over to {person}.",
    ),
    "comment": ask(
        "edit",
        instances.comment,
        "Comment on the ticket {subject} as follows: {text}.",
        "Leave a comment on the ticket {subject}. It should read: {text}.",
    ),
    "find-the-one": ask(
        "constraints",
        instances.find_the_one,
        "Which active {type} in the component {component} is planned for {milestone}? Answer with its number.",
        "Exactly one {type} about {component} that belongs to {milestone} is not closed. What is its number?",
    ),
    "raise-the-one": ask(
        "constraints",
        instances.raise_the_one,
        "There is one active {type} in the component {component} for {milestone}. Set its priority to {priority}.",
        "Give the only {type} of {component} that is still active in {milestone} the priority {priority}.",
        split="test",
    ),
    "give-to-on-call": ask(
        "steps",
        instances.on_call,
        "The wiki page ProjectTeam says who is on call. Reassign ticket number {number} to that person.",
        "Whoever is on call according to the wiki page ProjectTeam should own ticket {number}. Reassign it.",
    ),
    "captain-ticket": ask(
        "steps",
        instances.captain,
        (
            "Look up the captain of the {ship} in the wiki. Then file a ticket in the component {component} "
            "with the captain's full name, and nothing else, as its summary."
        ),
        "Who is captain of the {ship}? File a ticket under {component} that has just this full name as summary.",
    ),
    "close-duplicate": ask(
        "steps",
        instances.duplicate,
        "Ticket {number} repeats ticket {other}. Close {number} as a duplicate with the comment: Same as #{other}.",
        "Close ticket {number} as a duplicate and comment on it: Same as #{other}.",
        split="test",
    ),
    "no-such-component": ask(
        "impossible",
        instances.no_component,
        "Put the ticket {subject} under the component {component}.",
        "Change the component of the ticket {subject} to {component}.",
    ),
    "no-such-ticket": ask(
        "impossible",
        instances.no_ticket,
        "Close ticket number {number} as fixed.",
        "Ticket {number} is done. Close it as fixed.",
    ),
}
