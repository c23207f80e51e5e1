"""Makes a Roundup of content that it reads as JSON; run by the Python that Roundup is in: fill.py FOLDER TEMPLATE"""

import json
import sys

from roundup import configuration, init, instance, password

FIELDS = ("type", "severity", "priority", "status", "resolution")


def main(folder, template, content):
    needed = configuration.UserConfig(f"{template}/config_ini.ini")
    needed = {name: needed[name] for name in needed.keys() if name != "HOME"}  # noqa: SIM118 - no iterator
    init.install(folder, template, settings={**content["settings"], **needed, "rdbms_backend": "sqlite"})
    tracker = instance.open(folder)
    tracker.init(password.Password(content["secret"], config=tracker.config))
    db = tracker.open("admin")
    for name, realname in content["people"].items():
        roles = "User, Developer"
        db.user.create(username=name, realname=realname, address=f"{name}@example.org", roles=roles)
    db.commit()
    db.close()
    for fields in content["bugs"]:
        db = tracker.open(fields.pop("creator"))
        db.tx_Source = "web"
        given = {
            name: db.getclass("bug_type" if name == "type" else name).lookup(fields[name])
            for name in FIELDS
            if fields[name]
        }
        given["components"] = [db.component.lookup(fields["components"])]
        given["versions"] = [db.version.lookup(fields["versions"])]
        db.bug.create(title=fields["title"], assignee=db.user.lookup(fields["assignee"]), **given)
        db.commit()
        db.close()
    db = tracker.open("admin")
    sessions = db.getSessionManager()
    sessions.set(content["cookie"], user=content["agent"])
    sessions.sql("UPDATE sessions SET session_time = 4102444800")  # later than any clock here
    sessions.commit()
    db.close()


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], json.load(sys.stdin))
