"""What a board holds, as records: all that its members can change, without times. Counts of posts and views, and what
somebody has read, are its own bookkeeping."""

from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from environments.apps.django_project.lifecycle import DATABASE
from environments.apps.sqlite import rows

_BEGIN = "2026-01-15"
"""What is written later counts by what it says: which number it gets depends on what was written before."""


def _number(table: str) -> str:
    return f"CASE WHEN {table}.created < '{_BEGIN}' THEN {table}.id ELSE 'new' END"


def _yes(column: str) -> str:
    name = column.rpartition(".")[2]
    return f"CASE WHEN {column} THEN 'yes' ELSE 'no' END AS {name}"


def _user(column: str) -> str:
    return f"(SELECT username FROM auth_user WHERE auth_user.id = {column})"


_TOPIC = "forum_conversation_topic AS topic"
_OF_TOPIC = f"JOIN {_TOPIC} ON topic.id ="
_QUERIES = {
    "forum": "SELECT forum.name, forum.description, parent.name AS parent FROM forum_forum AS forum "
    "LEFT JOIN forum_forum AS parent ON parent.id = forum.parent_id ORDER BY forum.id",
    "topic": f"SELECT {_number('topic')} AS id, topic.subject, topic.slug, {_user('poster_id')} AS poster, "
    "forum.name AS forum, topic.type, CASE topic.status WHEN 1 THEN 'locked' ELSE 'open' END AS status, "
    f"{_yes('approved')} "
    f"FROM {_TOPIC} JOIN forum_forum AS forum ON forum.id = forum_id ORDER BY topic.id",
    "post": f"SELECT {_number('post')} AS id, topic.subject AS topic, {_user('post.poster_id')} AS poster, "
    "post.subject, trim(replace(content, char(13), ''), char(10) || ' ') AS text, "
    f"{_yes('post.approved')}, {_yes('enable_signature')}, username, update_reason "
    f"FROM forum_conversation_post AS post {_OF_TOPIC} post.topic_id ORDER BY post.id",
    "poll": "SELECT topic.subject AS topic, question, duration, max_options, user_changes, hide_results "
    f"FROM forum_polls_topicpoll AS poll {_OF_TOPIC} poll.topic_id ORDER BY poll.id",
    "option": "SELECT question, text FROM forum_polls_topicpolloption AS option "
    "JOIN forum_polls_topicpoll AS poll ON poll.id = poll_id ORDER BY option.id",
    "vote": f"SELECT question, text AS option, {_user('voter_id')} AS voter FROM forum_polls_topicpollvote AS vote "
    "JOIN forum_polls_topicpolloption AS option ON option.id = poll_option_id "
    "JOIN forum_polls_topicpoll AS poll ON poll.id = poll_id ORDER BY vote.id",
    "attachment": "SELECT file, comment FROM forum_attachments_attachment",
    "subscription": f"SELECT topic.subject AS topic, {_user('user_id')} AS member "
    f"FROM forum_conversation_topic_subscribers AS held {_OF_TOPIC} held.topic_id ORDER BY held.id",
    "member": "SELECT member.id, username AS name, trim(replace(signature, char(13), ''), char(10) || ' ') "
    "AS signature, avatar, email, is_staff, is_superuser, is_active FROM auth_user AS member "
    "LEFT JOIN forum_member_forumprofile AS profile ON user_id = member.id ORDER BY member.id",
    "right": f"SELECT codename, {_user('user_id')} AS member, forum_id, has_perm, authenticated_user, anonymous_user "
    "FROM forum_permission_userforumpermission AS held JOIN forum_permission_forumpermission AS kind "
    "ON kind.id = permission_id ORDER BY held.id",
}


def records(state: Path) -> list[dict[str, Any]]:
    """Each with a `kind`."""
    return [record for kind, query in _QUERIES.items() for record in rows(state / DATABASE, kind, query)]


def place(url: str) -> str:
    """What a page is about: its path, whatever is asked of it."""
    return unquote(urlsplit(url).path).rstrip("/") or "/"
