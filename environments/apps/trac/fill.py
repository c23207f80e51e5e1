"""Fills a new Trac with content that it reads as JSON; run by the Python that Trac is installed in: fill.py FOLDER"""

import json
import sys
from datetime import UTC, datetime, timedelta

from trac.env import open_environment
from trac.perm import PermissionSystem
from trac.ticket.model import Component, Milestone, Ticket, Version
from trac.wiki.model import WikiPage

BEGIN = datetime(2025, 6, 1, 9, 0, tzinfo=UTC)


def main(folder, content):
    env = open_environment(folder)
    for kind in (Component, Milestone, Version):
        for old in list(kind.select(env)):
            old.delete()
    for name, owner in content["components"].items():
        component = Component(env)
        component.name, component.owner = name, owner
        component.insert()
    for number, (name, text) in enumerate(content["milestones"].items()):
        milestone = Milestone(env)
        milestone.name, milestone.description = name, text
        milestone.due = datetime(2026, 3, 2, 17, 0, tzinfo=UTC) + timedelta(days=45 * number)
        milestone.insert()
    for number, name in enumerate(content["versions"]):
        version = Version(env)
        version.name, version.time = name, BEGIN - timedelta(days=90 * number)
        version.insert()
    for fields in content["tickets"]:
        ticket, day = Ticket(env), BEGIN + timedelta(days=fields.pop("day"))
        closing = {name: fields.pop(name) for name in ("status", "resolution")}
        ticket.populate({**fields, "status": "new" if closing["status"] == "closed" else closing["status"]})
        ticket.insert(when=day)
        if closing["status"] == "closed":
            ticket.populate(closing)
            ticket.save_changes(fields["owner"], "Done.", when=day + timedelta(days=3))
    for name, text in content["pages"].items():
        page = WikiPage(env, name)
        page.text = text
        page.save("bo", "", t=BEGIN)
    rights = PermissionSystem(env)
    for right in content["rights"]:
        rights.grant_permission(content["agent"], right)
    rights.revoke_permission("anonymous", "REPORT_SQL_VIEW")
    with env.db_transaction as db:
        # later than any clock here, so that no login ever prunes it
        db("INSERT INTO auth_cookie VALUES (%s, %s, '127.0.0.1', 4102444800)", (content["cookie"], content["agent"]))
        for name in content["people"]:  # known by name, so that menus of owners hold them
            db("INSERT INTO session VALUES (%s, 1, 0)", (name,))
    env.shutdown()


if __name__ == "__main__":
    main(sys.argv[1], json.load(sys.stdin))
