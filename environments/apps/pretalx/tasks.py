"""What may be asked of somebody who organises our conference."""

from environments.apps.pretalx import instances
from environments.apps.templates import Template

TEMPLATES: dict[str, Template] = {
    "room-of-session": Template(
        "answer",
        (
            "In which room does the session {title} take place?",
            "I want to hear {title}. Where do I have to go?",
        ),
        instances.room_of,
    ),
    "start-of-session": Template(
        "answer",
        (
            "At what time does the session {title} begin? Answer such as 17:30.",
            "When does {title} begin? Say only the hour and the minutes, such as 08:15.",
        ),
        instances.start_of,
        "test",
    ),
    "speaker-of-proposal": Template(
        "answer",
        (
            "Who proposed {title}?",
            "Somebody would like to speak about {title}. Who is it?",
        ),
        instances.speakers_of,
    ),
    "state-of-proposal": Template(
        "answer",
        (
            "In which state is the proposal {title}, in one word?",
            "What became of the proposal {title}? One word is enough.",
        ),
        instances.state_of,
    ),
    "capacity-of-room": Template(
        "answer",
        (
            "How many people fit into the room {room}?",
            "What is the capacity of {room}?",
        ),
        instances.capacity_of,
    ),
    "score-of-review": Template(
        "answer",
        (
            "Which score from 0 to 2 did {reviewer} give to the proposal {title}?",
            "{reviewer} has reviewed {title}. Was the score 0, 1 or 2?",
        ),
        instances.score_of,
        "test",
    ),
    "open-proposal": Template(
        "open",
        (
            "Open the proposal {title} where we organisers edit it, but change nothing.",
            "I want to work on {title}. Bring up the page on which it is edited, and leave the rest to me.",
        ),
        instances.open_proposal,
    ),
    "open-public-session": Template(
        "open",
        (
            "Show me the page of the session {title} as visitors see it.",
            "Open the public page of {title} and leave it in front.",
        ),
        instances.open_public,
        "test",
    ),
    "new-room": Template(
        "create",
        (
            "Add the room {room}, in which {capacity} people can sit.",
            "We may use one more room. It is called {room} and has a capacity of {capacity}.",
        ),
        instances.new_room,
    ),
    "new-type": Template(
        "create",
        (
            "Add the session type {type}, with a default duration of {minutes} minutes.",
            "Proposals may have one more type, namely {type}. Such a session takes {minutes} minutes by default.",
        ),
        instances.new_type,
    ),
    "new-comment": Template(
        "create",
        (
            "Leave this comment on the proposal {title}: {text}",
            "My colleagues should read this below the proposal {title}: {text}",
        ),
        instances.new_comment,
    ),
    "new-review": Template(
        "create",
        (
            "Review the proposal {title} with the score {score} and this text: {text}",
            "As a reviewer I give the score {score} to {title}. My words are: {text}",
        ),
        instances.new_review,
        "test",
    ),
    "accept-proposal": Template(
        "edit",
        (
            "Accept the proposal {title}.",
            "We would like to have {title} at our conference. Accept it, and leave the mail in the outbox.",
        ),
        instances.accept,
    ),
    "reject-proposal": Template(
        "edit",
        (
            "Reject the proposal {title}.",
            "There is no place for {title} this year. Reject it, and leave the mail in the outbox.",
        ),
        instances.reject,
    ),
    "confirm-session": Template(
        "edit",
        (
            "Mark the session {title} as confirmed.",
            "The speaker of {title} told us by phone that it is confirmed. Set its state to that.",
        ),
        instances.confirm,
    ),
    "cancel-session": Template(
        "edit",
        (
            "Cancel the session {title}.",
            "Unfortunately {title} will not take place. Set its state to canceled, but do not delete it.",
        ),
        instances.cancel,
        "test",
    ),
    "move-session": Template(
        "edit",
        (
            "Move the session {title} to the room {room}, at the same time as now.",
            "The time of {title} stays as it is, but it takes place here instead: {room}.",
        ),
        instances.move,
    ),
    "reschedule-session": Template(
        "edit",
        (
            "Let the session {title} take place on {day}, from {start} to {end}, in the room where it is now.",
            "The session {title} gets another time, but no other room. It is on {day}, begins at {start} and ends at "
            "{end}.",
        ),
        instances.reschedule,
    ),
    "place-session": Template(
        "edit",
        (
            "The session {title} has no place in the schedule yet. Put it into the room {room} on {day}, from {start} "
            "to {end}.",
            "Schedule {title} in the room {room} on {day}. It begins at {start} and ends at {end}.",
        ),
        instances.place,
        "test",
    ),
    "retitle-proposal": Template(
        "edit",
        (
            "Change the title of the proposal {title} to {new}.",
            "The proposal {title} gets another title, namely {new}.",
        ),
        instances.retitle,
    ),
    "change-capacity": Template(
        "edit",
        (
            "Change the capacity of the room {room} to {capacity}.",
            "With other chairs, {capacity} people now fit into the room {room}. Put that into the list of rooms.",
        ),
        instances.change_capacity,
    ),
    "speaker-arrived": Template(
        "edit",
        (
            "Mark the speaker {person} as arrived.",
            "The speaker {person} stands at the entrance. Note the arrival.",
        ),
        instances.arrived,
    ),
    "delete-tag": Template(
        "edit",
        (
            "Delete the tag {tag}.",
            "Nobody uses the tag {tag}. Remove it.",
        ),
        instances.delete_tag,
    ),
    "discard-mail": Template(
        "edit",
        (
            "Discard the mail in the outbox that is for {person} and about the proposal {title}.",
            "In the outbox a mail to {person} about {title} waits. It must not be sent, so delete it.",
        ),
        instances.discard_mail,
    ),
    "send-mail": Template(
        "edit",
        (
            "Send the mail in the outbox that is for {person} and about the proposal {title}, and no other.",
            "In the outbox a mail to {person} about {title} waits. Send that one now.",
        ),
        instances.send_mail,
        "test",
    ),
    "find-session": Template(
        "constraints",
        (
            "Which session begins in the room {room} on {day} at {time}?",
            "I will be in the room {room} on {day} at {time}. What is the title of the session that begins then?",
        ),
        instances.find_at,
    ),
    "accept-only": Template(
        "constraints",
        (
            "Of the proposals in the track {track} that are still in the state submitted, one is of the type {type}. "
            "Accept it.",
            "Accept the only proposal of the type {type} in the track {track} about which nothing was decided yet.",
        ),
        instances.accept_only,
        "test",
    ),
    "same-room": Template(
        "steps",
        (
            "Find out in which room {other} takes place, and move the session {title} to that room. Its time stays.",
            "The session {title} should be in the same room as {other}, at its own time. Move it there.",
        ),
        instances.same_room,
    ),
    "confirm-two": Template(
        "steps",
        (
            "Mark two sessions as confirmed. The first: {title}. The second: {other}",
            "Two speakers have confirmed by phone. Set the state of both sessions, {title} and then {other}",
        ),
        instances.confirm_two,
    ),
    "move-and-release": Template(
        "steps",
        (
            "Move the session {title} to the room {room} and release the schedule as version {version}. Leave the "
            "comment as it is suggested, and let the speakers be notified.",
            "The session {title} takes place in the room {room} now, at the same time. Change that, then release it as "
            "version {version} with the suggested comment and a notice to speakers.",
        ),
        instances.move_and_release,
        "test",
    ),
    "no-such-session": Template(
        "impossible",
        (
            "Which room was given to the session {title}?",
            "Who speaks in the session {title}?",
        ),
        instances.no_session,
    ),
    "foreign-team": Template(
        "impossible",
        (
            "Make {person} a member of the team Reviewers.",
            "Invite {person} to our team of reviewers.",
        ),
        instances.foreign_team,
    ),
}
