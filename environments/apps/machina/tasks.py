"""What may be asked of somebody who is a member and a moderator of our board."""

from environments.apps.machina import instances
from environments.apps.templates import Template

TEMPLATES: dict[str, Template] = {
    "topic-author": Template(
        "answer",
        (
            "Who began the topic {topic}?",
            "Tell me which member started the discussion {topic}.",
            "Somebody opened the topic {topic} on the board. Who was it?",
        ),
        instances.topic_author,
    ),
    "newest-writer": Template(
        "answer",
        (
            "Who wrote the newest post in the topic {topic}?",
            "Which member had the last word so far in the topic {topic}?",
        ),
        instances.newest_writer,
        "test",
    ),
    "asked-price": Template(
        "answer",
        (
            "How many jars of honey does somebody ask for in the topic {topic}?",
            "I would like what is offered under {topic}. How many jars of honey must I bring?",
        ),
        instances.asked_price,
    ),
    "forum-of-topic": Template(
        "answer",
        (
            "In which forum is the topic {topic}?",
            "Find the topic {topic} and tell me the name of the forum that it stands in.",
        ),
        instances.forum_of,
    ),
    "open-topic": Template(
        "open",
        (
            "Show me the topic {topic}.",
            "Open the discussion {topic} and leave it in front.",
        ),
        instances.open_topic,
    ),
    "open-author": Template(
        "open",
        (
            "Show me the profile of whoever began the topic {topic}.",
            "Go to the topic {topic}, and from there to the profile of the member who started it.",
        ),
        instances.open_author,
    ),
    "new-topic": Template(
        "create",
        (
            "Begin a topic in the forum {forum} with the subject {subject} and this message: {text}",
            "Post something new in {forum}. The subject is {subject}, and the message says: {text}",
        ),
        instances.new_topic,
    ),
    "new-sticky": Template(
        "create",
        (
            "Begin a sticky topic in the forum {forum}, with the subject {subject} and this message: {text}",
            "In {forum} there should be a new topic that stays on top, a sticky one. Its subject is {subject}, and "
            "its message is: {text}",
        ),
        instances.new_sticky,
        "test",
    ),
    "reply": Template(
        "create",
        (
            "Reply to the topic {topic} with this: {text}",
            "Answer in the discussion {topic}. Write exactly this: {text}",
            "In the topic {topic}, post a reply that says: {text}",
        ),
        instances.reply,
    ),
    "subscribe": Template(
        "create",
        (
            "Subscribe to the topic {topic}.",
            "I would like to follow the discussion {topic}. Subscribe me to it.",
        ),
        instances.subscribe,
    ),
    "vote": Template(
        "create",
        (
            "In the poll of the topic {topic}, vote for this: {option}",
            "There is a poll in the topic {topic}. My vote goes to: {option}",
        ),
        instances.vote,
    ),
    "unsubscribe": Template(
        "edit",
        (
            "Unsubscribe from the topic {topic}.",
            "I no longer want to follow the discussion {topic}. End my subscription.",
        ),
        instances.unsubscribe,
    ),
    "edit-reply": Template(
        "edit",
        (
            "Replace the text of my reply in the topic {topic} by this: {text}",
            "What I wrote in the discussion {topic} is out of date. Change it, so that it says only: {text}",
        ),
        instances.edit_reply,
    ),
    "delete-reply": Template(
        "edit",
        (
            "Delete the reply that {member} wrote in the topic {topic}.",
            "The answer of {member} in the discussion {topic} must go. Delete it.",
        ),
        instances.delete_reply,
        "test",
    ),
    "signature": Template(
        "edit",
        (
            "Change my signature on the board to this: {text}",
            "Below my posts should stand from now on: {text}",
        ),
        instances.signature,
    ),
    "lock-topic": Template(
        "edit",
        (
            "Lock the topic {topic}.",
            "Nobody should be able to reply in the discussion {topic} any more. Lock it.",
        ),
        instances.lock_topic,
    ),
    "move-topic": Template(
        "edit",
        (
            "Move the topic {topic} to the forum {forum}.",
            "The discussion {topic} is in the wrong place. It belongs into {forum}, so move it there.",
        ),
        instances.move_topic,
        "test",
    ),
    "approve-post": Template(
        "edit",
        (
            "Approve the post {subject}, which waits for a moderator.",
            "A post with the subject {subject} is in the moderation queue. Approve it.",
        ),
        instances.approve,
    ),
    "find-only": Template(
        "constraints",
        (
            "Which topic in the forum {forum} was begun by {member}?",
            "Only one topic of the forum {forum} was started by {member}. What is its subject?",
        ),
        instances.find_only,
    ),
    "lock-only": Template(
        "constraints",
        (
            "Lock the only topic in the forum {forum} that {member} began.",
            "One topic of the forum {forum} was started by {member}. Make it a locked one.",
        ),
        instances.lock_only,
        "test",
    ),
    "name-author": Template(
        "steps",
        (
            "Find out who began the topic {topic}, and reply there with the name of that member alone.",
            "Post a reply in the topic {topic} that is nothing but the name of the member who started it.",
        ),
        instances.name_author,
        "test",
    ),
    "subscribe-two": Template(
        "steps",
        (
            "Subscribe to two topics. The first: {topic}. The second: {other}",
            "I want to follow two discussions, so subscribe to {topic} and then to {other}.",
        ),
        instances.subscribe_two,
    ),
    "no-such-topic": Template(
        "impossible",
        (
            "Whose post opens the topic {topic}?",
            "Tell me how many replies there are in the topic {topic}.",
        ),
        instances.no_topic,
    ),
    "foreign-reply": Template(
        "impossible",
        (
            "Change the reply of {member} in the topic {topic}, so that it says: {text}",
            "Correct what {member} answered in the discussion {topic}. It should say: {text}",
        ),
        instances.foreign_reply,
    ),
}
