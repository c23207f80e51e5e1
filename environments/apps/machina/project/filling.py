"""Fills a new board with content, run by the Python that django-machina is in."""

import datetime

from django.contrib.auth import get_user_model
from django.core.management import call_command
from machina.apps.forum_permission.shortcuts import ALL_AUTHENTICATED_USERS, assign_perm
from machina.core.db.models import get_model

BEGUN = datetime.datetime(2025, 11, 3, 7, 30, tzinfo=datetime.UTC)
MEMBERS_MAY = (
    *("can_see_forum", "can_read_forum", "can_start_new_topics", "can_reply_to_topics", "can_edit_own_posts"),
    *("can_delete_own_posts", "can_post_without_approval", "can_vote_in_polls"),
)
MODERATORS_MAY = (
    *("can_approve_posts", "can_delete_posts", "can_lock_topics", "can_move_topics"),
    *("can_post_announcements", "can_post_stickies"),
)
Forum, Topic, Post = (
    get_model("forum", "Forum"),
    get_model("forum_conversation", "Topic"),
    get_model("forum_conversation", "Post"),
)


def fill(content):
    """Everything that `content` names; the agent's user."""
    people = {name: get_user_model().objects.create_user(name) for name in content["members"]}
    for user in people.values():
        get_model("forum_member", "ForumProfile").objects.get_or_create(user=user)
    for name, text in content["signatures"].items():
        get_model("forum_member", "ForumProfile").objects.filter(user=people[name]).update(signature=text)
    forums = {}
    for category, names in content["forums"].items():
        parent = Forum.objects.create(name=category, type=Forum.FORUM_CAT)
        for name in names:
            forums[name] = Forum.objects.create(name=name, parent=parent, type=Forum.FORUM_POST)
    topics = {about["subject"]: _topic(about, forums, people) for about in content["topics"]}
    for about in content["waiting"]:
        _post(topics[about["topic"]], people[about["poster"]], about["subject"], about["text"], approved=False)
    for subject in content["subscribed"]:
        topics[subject].subscribers.add(people[content["agent"]])
    for topic in topics.values():
        topic.refresh_from_db()
        topic.update_trackers()
    for right in MEMBERS_MAY:
        assign_perm(right, ALL_AUTHENTICATED_USERS)
    for right in MODERATORS_MAY:
        assign_perm(right, people[content["agent"]])
    call_command("rebuild_index", interactive=False, verbosity=0)
    return people[content["agent"]]


def _topic(about, forums, people):
    topic = Topic.objects.create(
        forum=forums[about["forum"]],
        poster=people[about["posts"][0]["poster"]],
        subject=about["subject"],
        type=Topic.TOPIC_POST,
        status=Topic.TOPIC_LOCKED if about["locked"] else Topic.TOPIC_UNLOCKED,
    )
    begun = BEGUN + datetime.timedelta(minutes=about["minute"])
    for number, post in enumerate(about["posts"]):
        subject = about["subject"] if number == 0 else f"Re: {about['subject']}"
        written = _post(topic, people[post["poster"]], subject, post["text"])
        Post.objects.filter(pk=written.pk).update(created=begun + datetime.timedelta(minutes=number))
    Topic.objects.filter(pk=topic.pk).update(created=begun)
    if poll := about.get("poll"):
        made = get_model("forum_polls", "TopicPoll").objects.create(topic=topic, question=poll["question"])
        for option in poll["options"]:
            made.options.create(text=option)
    return topic


def _post(topic, poster, subject, text, approved=True):
    return Post.objects.create(topic=topic, poster=poster, subject=subject, content=text, approved=approved)
