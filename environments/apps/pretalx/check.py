"""What a conference holds, as records: all that its organisers can change, without times of saving. Codes of what is
made later, what a mail says, the log and the choice of columns are pretalx's own bookkeeping."""

import contextlib
import json
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from environments.apps.django_project.lifecycle import DATABASE
from environments.apps.sqlite import rows

_BEGIN = "2026-01-15"
"""What is proposed later gets a code by chance."""
_CODE = f"CASE WHEN proposal.created < '{_BEGIN}' THEN proposal.code ELSE 'new' END"


_MINUTES = "coalesce(proposal.duration, type.default_duration)"
"""How long a session takes, if nobody said when it ends: pretalx shows that as its end."""


def _names(table: str, name: str, other: str) -> str:
    """The names, in their order, of what a table leads to from the row `own`."""
    joined = f"SELECT {name} AS name FROM {table} WHERE {other} = own.id ORDER BY 1"
    return f"(SELECT group_concat(name, ', ') FROM ({joined}))"


_SPEAKERS = _names("submission_speakerrole JOIN person_user ON person_user.id = user_id", "name", "submission_id")
_TAGS = _names("submission_submission_tags JOIN submission_tag ON submission_tag.id = tag_id", "tag", "submission_id")
_SCORES = _names(
    "submission_review_scores JOIN submission_reviewscore ON submission_reviewscore.id = reviewscore_id",
    "label",
    "review_id",
)
_TO = _names("mail_queuedmail_to_users JOIN person_user ON person_user.id = user_id", "name", "queuedmail_id")
_MEMBERS = _names("event_team_members JOIN person_user ON person_user.id = user_id", "name", "team_id")
_EVENTS = _names("event_team_limit_events", "event_id", "team_id")

_QUERIES = {
    "proposal": f"SELECT {_CODE.replace('proposal.', 'own.')} AS code, own.title, type.name AS type, "
    "track.name AS track, own.state, own.pending_state, own.abstract, own.description, own.notes, own.internal_notes, "
    f"own.duration, own.slot_count, own.content_locale, own.is_featured, own.do_not_record, own.image, {_SPEAKERS} AS "
    f"speakers, {_TAGS} AS tags, anonymised_data FROM submission_submission AS own JOIN submission_submissiontype AS "
    "type ON type.id = submission_type_id LEFT JOIN submission_track AS track ON track.id = track_id ORDER BY own.id",
    "slot": f"SELECT schedule.version, {_CODE} AS proposal, room.name AS room, substr(start, 1, 16) AS start, "
    f"substr(coalesce(end, datetime(start, '+' || {_MINUTES} || ' minutes')), 1, 16) AS end, own.description "
    "FROM schedule_talkslot AS own JOIN schedule_schedule AS schedule ON schedule.id = schedule_id "
    "LEFT JOIN submission_submission AS proposal ON proposal.id = submission_id LEFT JOIN submission_submissiontype "
    "AS type ON type.id = submission_type_id LEFT JOIN schedule_room AS room ON room.id = room_id ORDER BY own.id",
    "schedule": "SELECT version, comment FROM schedule_schedule ORDER BY id",
    "room": "SELECT name, CAST(capacity AS TEXT) AS capacity, description, speaker_info, guid FROM schedule_room "
    "ORDER BY position, id",
    "availability": "SELECT person_id AS person, room.name AS room, start, end FROM schedule_availability AS own "
    "LEFT JOIN schedule_room AS room ON room.id = room_id",
    "tag": "SELECT tag AS name, description, color, is_public FROM submission_tag ORDER BY tag",
    "track": "SELECT name, description, color, requires_access_code FROM submission_track ORDER BY position, id",
    "type": "SELECT name, CAST(default_duration AS TEXT) AS duration, deadline, requires_access_code "
    "FROM submission_submissiontype ORDER BY id",
    "review": f"SELECT {_CODE} AS proposal, user.name AS by, own.text, {_SCORES} AS score FROM submission_review "
    "AS own JOIN submission_submission AS proposal ON proposal.id = submission_id JOIN person_user AS user "
    "ON user.id = user_id ORDER BY own.id",
    "comment": f"SELECT {_CODE} AS proposal, user.name AS by, own.text, reply_to_id AS answers FROM "
    "submission_submissioncomment AS own JOIN submission_submission AS proposal ON proposal.id = submission_id "
    "JOIN person_user AS user ON user.id = user_id ORDER BY own.id",
    "speaker": "SELECT user.name, user.email, biography, CASE WHEN has_arrived THEN 'yes' ELSE 'no' END AS arrived, "
    "own.internal_notes FROM person_speakerprofile AS own JOIN person_user AS user ON user.id = own.user_id "
    "WHERE EXISTS (SELECT 1 FROM submission_speakerrole AS role WHERE role.user_id = user.id) ORDER BY own.id",
    "mail": f"SELECT template.role AS template, own.subject, {_TO} AS people, own.'to' AS addresses, own.cc, own.bcc, "
    "own.reply_to, CASE WHEN own.sent IS NULL THEN 'no' ELSE 'yes' END AS sent FROM mail_queuedmail AS own "
    "LEFT JOIN mail_mailtemplate AS template ON template.id = template_id ORDER BY own.id",
    "user": "SELECT name, email, substr(password, 1, 1) AS password, is_active, is_staff, is_administrator, "
    "is_superuser, locale, timezone, avatar, get_gravatar FROM person_user ORDER BY id",
    "team": f"SELECT own.*, {_MEMBERS} AS members, {_EVENTS} AS events FROM event_team AS own ORDER BY id",
    "favourite": f"SELECT {_CODE} AS proposal, user_id AS user FROM submission_submissionfavourite AS own "
    "JOIN submission_submission AS proposal ON proposal.id = submission_id",
}
_WHOLE = {
    **{"event": "event_event", "organiser": "event_organiser", "setting": "event_event_settingsstore"},
    **{"invitation": "event_teaminvite", "link": "event_eventextralink", "call": "submission_cfp"},
    **{"phase": "submission_reviewphase", "category": "submission_reviewscorecategory"},
    **{"score": "submission_reviewscore", "question": "submission_question", "answer": "submission_answer"},
    **{"resource": "submission_resource", "access code": "submission_submitteraccesscode"},
    **{"feedback": "submission_feedback", "information": "person_speakerinformation"},
    **{"template": "mail_mailtemplate", "reviewer": "submission_submission_assigned_reviewers"},
    **{"limit": "event_team_limit_tracks", "interface": "person_userapitoken"},
}
"""Tables of which no task is about one column alone."""
_NOT_COMPARED = {"id", "created", "updated"}


def records(state: Path) -> list[dict[str, Any]]:
    """Each with a `kind`."""
    queries = _QUERIES | {kind: f"SELECT * FROM {table}" for kind, table in _WHOLE.items()}
    return [_plain(row) for kind, query in queries.items() for row in rows(state / DATABASE, kind, query)]


def _plain(row: dict[str, Any]) -> dict[str, Any]:
    return {name: _text(value) for name, value in row.items() if name not in _NOT_COMPARED}


def _text(value: Any) -> Any:
    """What is said in English of a text that may be there in several languages, or in none."""
    if not isinstance(value, str):
        return value
    with contextlib.suppress(ValueError):  # or somebody wrote what looks like it
        languages = json.loads(value) if value.startswith("{") else {}
        value = "" if value == "{}" else languages.get("en", value)
    return value.replace("\r", "").strip()


def place(url: str) -> str:
    """What a page is about: its path, whatever is asked of it."""
    return unquote(urlsplit(url).path).rstrip("/") or "/"
