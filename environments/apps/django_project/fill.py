"""Makes a database of content that it reads as JSON; run by the application's Python: fill.py APPLICATION STATE"""

import datetime
import json
import os
import sys

LAST = datetime.datetime(2045, 1, 1, tzinfo=datetime.UTC)  # later than any clock here


def main(application, state, given):
    sys.path.append(application)
    os.environ.update(STATE=state, DJANGO_SETTINGS_MODULE="project.settings")
    import django

    django.setup()
    from django.core.management import call_command
    from django.db import connection
    from project.filling import fill

    connection.cursor().execute("PRAGMA synchronous = OFF")
    call_command("migrate", run_syncdb=True, verbosity=0)
    agent = fill(given["content"])
    log_in(agent, given["session"])


def log_in(user, key):
    """Make the session with this key one of this user."""
    from django.conf import settings
    from django.contrib.auth import BACKEND_SESSION_KEY, HASH_SESSION_KEY, SESSION_KEY
    from django.contrib.sessions.backends.db import SessionStore

    session = SessionStore()
    session[SESSION_KEY] = str(user.pk)
    session[BACKEND_SESSION_KEY] = settings.AUTHENTICATION_BACKENDS[0]
    session[HASH_SESSION_KEY] = user.get_session_auth_hash()
    session.set_expiry(LAST)
    session._session_key = key
    session.save(must_create=True)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], json.load(sys.stdin))
