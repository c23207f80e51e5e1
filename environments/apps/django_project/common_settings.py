"""Settings that Django applications share. STATE is the folder of what they hold."""

import os
from pathlib import Path


class _NoMigrations:
    """A new database has the tables of now: how they came about takes a minute, and changes nothing."""

    def __contains__(self, application):
        return True

    def __getitem__(self, application):
        return None


STATE = Path(os.environ["STATE"])
DATABASES = {
    "default": {
        "ENGINE": "django.db.backends.sqlite3",
        "NAME": STATE / "db.sqlite3",
        "ATOMIC_REQUESTS": True,
        "OPTIONS": {"timeout": 20},
    }
}
MIGRATION_MODULES = _NoMigrations()
DEFAULT_AUTO_FIELD = "django.db.models.AutoField"
MEDIA_ROOT, MEDIA_URL, STATIC_URL = STATE / "media", "/media/", "/static/"

ALLOWED_HOSTS = ("127.0.0.1", ".localhost")
DEBUG = False
SECRET_KEY = "the same in every copy, so that its cookie logs in"
SESSION_COOKIE_AGE = 20 * 365 * 24 * 60 * 60
AUTH_PASSWORD_VALIDATORS = ()
EMAIL_BACKEND = "django.core.mail.backends.dummy.EmailBackend"

LANGUAGE_CODE, LANGUAGES = "en-gb", (("en-gb", "English"),)
TIME_ZONE, USE_TZ = "UTC", True
ROOT_URLCONF = "project.urls"
SITE_ID = 1

MIDDLEWARE = (
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
)
CONTEXT_PROCESSORS = (
    *("django.template.context_processors.request", "django.contrib.auth.context_processors.auth"),
    *("django.template.context_processors.i18n", "django.contrib.messages.context_processors.messages"),
)
SEARCH_INDEX = {"default": {"ENGINE": "haystack.backends.whoosh_backend.WhooshEngine", "PATH": str(STATE / "search")}}
