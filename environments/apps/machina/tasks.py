"""What may be asked of somebody who is a member and a moderator of our board."""

from environments.apps.machina import instances
from environments.apps.templates import Template, ask

TEMPLATES: dict[str, Template] = {
    "topic-author": ask(
        "answer",
        instances.topic_author,
        "Who began the topic {topic}?",
        "Tell me which member started the discussion {topic}.",
        "Somebody opened the topic {topic} on the board. Who was it?",
    ),
    "newest-writer": ask(
        "answer",
        instances.newest_writer,
        "Who wrote the newest post in the topic {topic}?",
        "Which member had the last word so far in the topic {topic}?",
        split="test",
    ),
    "asked-price": ask(
        "answer",
        instances.asked_price,
        "How many jars of honey does somebody ask for in the topic {topic}?",
        "I would like what is offered under {topic}. How many jars of honey must I bring?",
    ),
    "forum-of-topic": ask(
        "answer",
        instances.forum_of,
        "In which forum is the topic {topic}?",
        "Find the topic {topic} and tell me the name of the forum that it stands in.",
    ),
    "open-topic": ask(
        "open", instances.open_topic, "Show me the topic {topic}.", "Open the discussion {topic} and leave it in front."
    ),
    "open-author": ask(
        "open",
        instances.open_author,
        "Show me the profile of whoever began the topic {topic}.",
        "Go to the topic {topic}, and from there to the profile of the member who started it.",
    ),
    "new-topic": ask(
        "create",
        instances.new_topic,
        "Begin a topic in the forum {forum} with the subject {subject} and this message: {text}",
        "Post something new in {forum}. The subject is {subject}, and the message says: {text}",
    ),
    "new-sticky": ask(
        "create",
        instances.new_sticky,
        "Begin a sticky topic in the forum {forum}, with the subject {subject} and this message: {text}",
        (
            "In {forum} there should be a new topic that stays on top, a sticky one. Its subject is {subject}, and "
            "its message is: {text}"
        ),
        split="test",
    ),
    "reply": ask(
        "create",
        instances.reply,
        "Reply to the topic {topic} with this: {text}",
        "Answer in the discussion {topic}. Write exactly this: {text}",
        "In the topic {topic}, post a reply that says: {text}",
    ),
    "subscribe": ask(
        "create",
        instances.subscribe,
        "Subscribe to the topic {topic}.",
        "I would like to follow the discussion {topic}. Subscribe me to it.",
    ),
    "vote": ask(
        "create",
        instances.vote,
        "In the poll of the topic {topic}, vote for this: {option}",
        "There is a poll in the topic {topic}. My vote goes to: {option}",
    ),
    "unsubscribe": ask(
        "edit",
        instances.unsubscribe,
        "Unsubscribe from the topic {topic}.",
        "I no longer want to follow the discussion {topic}. End my subscription.",
    ),
    "edit-reply": ask(
        "edit",
        instances.edit_reply,
        "Replace the text of my reply in the topic {topic} by this: {text}",
        "What I wrote in the discussion {topic} is out of date. Change it, so that it says only: {text}",
    ),
    "delete-reply": ask(
        "edit",
        instances.delete_reply,
        "Delete the reply that {member} wrote in the topic {topic}.",
        "The answer of {member} in the discussion {topic} must go. Delete it.",
        split="test",
    ),
    "signature": ask(
        "edit",
        instances.signature,
        "Change my signature on the board to this: {text}",
        "Below my posts should stand from now on: {text}",
    ),
    "lock-topic": ask(
        "edit",
        instances.lock_topic,
        "Lock the topic {topic}.",
        "Nobody should be able to reply in the discussion {topic} any more. Lock it.",
    ),
    "move-topic": ask(
        "edit",
        instances.move_topic,
        "Move the topic {topic} to the forum {forum}.",
        "The discussion {topic} is in the wrong place. It belongs into {forum}, so move it there.",
        split="test",
    ),
    "approve-post": ask(
        "edit",
        instances.approve,
        "Approve the post {subject}, which waits for a moderator.",
        "A post with the subject {subject} is in the moderation queue. Approve it.",
    ),
    "find-only": ask(
        "constraints",
        instances.find_only,
        "Which topic in the forum {forum} was begun by {member}?",
        "Only one topic of the forum {forum} was started by {member}. What is its subject?",
    ),
    "lock-only": ask(
        "constraints",
        instances.lock_only,
        "Lock the only topic in the forum {forum} that {member} began.",
        "One topic of the forum {forum} was started by {member}. Make it a locked one.",
        split="test",
    ),
    "name-author": ask(
        "steps",
        instances.name_author,
        "Find out who began the topic {topic}, and reply there with the name of that member alone.",
        "Post a reply in the topic {topic} that is nothing but the name of the member who started it.",
        split="test",
    ),
    "subscribe-two": ask(
        "steps",
        instances.subscribe_two,
        "Subscribe to two topics. The first: {topic}. The second: {other}",
        "I want to follow two discussions, so subscribe to {topic} and then to {other}.",
    ),
    "no-such-topic": ask(
        "impossible",
        instances.no_topic,
        "Whose post opens the topic {topic}?",
        "Tell me how many replies there are in the topic {topic}.",
    ),
    "foreign-reply": ask(
        "impossible",
        instances.foreign_reply,
        "Change the reply of {member} in the topic {topic}, so that it says: {text}",
        "Correct what {member} answered in the discussion {topic}. It should say: {text}",
    ),
}
