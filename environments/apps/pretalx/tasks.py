"""What may be asked of somebody who organises our conference."""

from environments.apps.pretalx import instances
from environments.apps.templates import Template, ask

TEMPLATES: dict[str, Template] = {
    "room-of-session": ask(
        "answer",
        instances.room_of,
        "In which room does the session {title} take place?",
        "I want to hear {title}. Where do I have to go?",
    ),
    "start-of-session": ask(
        "answer",
        instances.start_of,
        "At what time does the session {title} begin? Answer such as 17:30.",
        "When does {title} begin? Say only the hour and the minutes, such as 08:15.",
        split="test",
    ),
    "speaker-of-proposal": ask(
        "answer",
        instances.speakers_of,
        "Who proposed {title}?",
        "Somebody would like to speak about {title}. Who is it?",
    ),
    "state-of-proposal": ask(
        "answer",
        instances.state_of,
        "In which state is the proposal {title}, in one word?",
        "What became of the proposal {title}? One word is enough.",
    ),
    "capacity-of-room": ask(
        "answer", instances.capacity_of, "How many people fit into the room {room}?", "What is the capacity of {room}?"
    ),
    "score-of-review": ask(
        "answer",
        instances.score_of,
        "Which score from 0 to 2 did {reviewer} give to the proposal {title}?",
        "{reviewer} has reviewed {title}. Was the score 0, 1 or 2?",
        split="test",
    ),
    "open-proposal": ask(
        "open",
        instances.open_proposal,
        "Open the proposal {title} where we organisers edit it, but change nothing.",
        "I want to work on {title}. Bring up the page on which it is edited, and leave the rest to me.",
    ),
    "open-public-session": ask(
        "open",
        instances.open_public,
        "Show me the page of the session {title} as visitors see it.",
        "Open the public page of {title} and leave it in front.",
        split="test",
    ),
    "new-room": ask(
        "create",
        instances.new_room,
        "Add the room {room}, in which {capacity} people can sit.",
        "We may use one more room. It is called {room} and has a capacity of {capacity}.",
    ),
    "new-type": ask(
        "create",
        instances.new_type,
        "Add the session type {type}, with a default duration of {minutes} minutes.",
        "Proposals may have one more type, namely {type}. Such a session takes {minutes} minutes by default.",
    ),
    "new-comment": ask(
        "create",
        instances.new_comment,
        "Leave this comment on the proposal {title}: {text}",
        "My colleagues should read this below the proposal {title}: {text}",
    ),
    "new-review": ask(
        "create",
        instances.new_review,
        "Review the proposal {title} with the score {score} and this text: {text}",
        "As a reviewer I give the score {score} to {title}. My words are: {text}",
        split="test",
    ),
    "accept-proposal": ask(
        "edit",
        instances.accept,
        "Accept the proposal {title}.",
        "We would like to have {title} at our conference. Accept it, and leave the mail in the outbox.",
    ),
    "reject-proposal": ask(
        "edit",
        instances.reject,
        "Reject the proposal {title}.",
        "There is no place for {title} this year. Reject it, and leave the mail in the outbox.",
    ),
    "confirm-session": ask(
        "edit",
        instances.confirm,
        "Mark the session {title} as confirmed.",
        "The speaker of {title} told us by phone that it is confirmed. Set its state to that.",
    ),
    "cancel-session": ask(
        "edit",
        instances.cancel,
        "Cancel the session {title}.",
        "Unfortunately {title} will not take place. Set its state to canceled, but do not delete it.",
        split="test",
    ),
    "move-session": ask(
        "edit",
        instances.move,
        "Move the session {title} to the room {room}, at the same time as now.",
        "The time of {title} stays as it is, but it takes place here instead: {room}.",
    ),
    "reschedule-session": ask(
        "edit",
        instances.reschedule,
        "Let the session {title} take place on {day}, from {start} to {end}, in the room where it is now.",
        (
            "The session {title} gets another time, but no other room. It is on {day}, begins at {start} and ends at "
            "{end}."
        ),
    ),
    "place-session": ask(
        "edit",
        instances.place,
        (
            "The session {title} has no place in the schedule yet. Put it into the room {room} on {day}, from {start} "
            "to {end}."
        ),
        "Schedule {title} in the room {room} on {day}. It begins at {start} and ends at {end}.",
        split="test",
    ),
    "retitle-proposal": ask(
        "edit",
        instances.retitle,
        "Change the title of the proposal {title} to {new}.",
        "The proposal {title} gets another title, namely {new}.",
    ),
    "change-capacity": ask(
        "edit",
        instances.change_capacity,
        "Change the capacity of the room {room} to {capacity}.",
        "With other chairs, {capacity} people now fit into the room {room}. Put that into the list of rooms.",
    ),
    "speaker-arrived": ask(
        "edit",
        instances.arrived,
        "Mark the speaker {person} as arrived.",
        "The speaker {person} stands at the entrance. Note the arrival.",
    ),
    "delete-tag": ask("edit", instances.delete_tag, "Delete the tag {tag}.", "Nobody uses the tag {tag}. Remove it."),
    "discard-mail": ask(
        "edit",
        instances.discard_mail,
        "Discard the mail in the outbox that is for {person} and about the proposal {title}.",
        "In the outbox a mail to {person} about {title} waits. It must not be sent, so delete it.",
    ),
    "send-mail": ask(
        "edit",
        instances.send_mail,
        "Send the mail in the outbox that is for {person} and about the proposal {title}, and no other.",
        "In the outbox a mail to {person} about {title} waits. Send that one now.",
        split="test",
    ),
    "find-session": ask(
        "constraints",
        instances.find_at,
        "Which session begins in the room {room} on {day} at {time}?",
        "I will be in the room {room} on {day} at {time}. What is the title of the session that begins then?",
    ),
    "accept-only": ask(
        "constraints",
        instances.accept_only,
        (
            "Of the proposals in the track {track} that are still in the state submitted, one is of the type {type}. "
            "Accept it."
        ),
        "Accept the only proposal of the type {type} in the track {track} about which nothing was decided yet.",
        split="test",
    ),
    "same-room": ask(
        "steps",
        instances.same_room,
        "Find out in which room {other} takes place, and move the session {title} to that room. Its time stays.",
        "The session {title} should be in the same room as {other}, at its own time. Move it there.",
    ),
    "confirm-two": ask(
        "steps",
        instances.confirm_two,
        "Mark two sessions as confirmed. The first: {title}. The second: {other}",
        "Two speakers have confirmed by phone. Set the state of both sessions, {title} and then {other}",
    ),
    "move-and-release": ask(
        "steps",
        instances.move_and_release,
        (
            "Move the session {title} to the room {room} and release the schedule as version {version}. Leave the "
            "comment as it is suggested, and let the speakers be notified."
        ),
        (
            "The session {title} takes place in the room {room} now, at the same time. Change that, then release it as "
            "version {version} with the suggested comment and a notice to speakers."
        ),
        split="test",
    ),
    "no-such-session": ask(
        "impossible",
        instances.no_session,
        "Which room was given to the session {title}?",
        "Who speaks in the session {title}?",
    ),
    "foreign-team": ask(
        "impossible",
        instances.foreign_team,
        "Make {person} a member of the team Reviewers.",
        "Invite {person} to our team of reviewers.",
    ),
}
