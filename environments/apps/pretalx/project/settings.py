"""Settings of our conference, run by the Python that pretalx is in: pretalx's own, and those that our applications
share."""

import os
from pathlib import Path

import common_settings as ours

os.environ["PRETALX_NO_INITIAL_LOG"] = "yes"
os.environ["PRETALX_DATA_DIR"] = str(ours.STATE)
(ours.STATE / ".secret").write_text(ours.SECRET_KEY)

from pretalx.settings import *  # noqa: F403, E402 - reads the environment, and the secret
from pretalx.settings import BASE_DIR, MIDDLEWARE  # noqa: E402

for _name in (
    *("DATABASES", "MIGRATION_MODULES", "SESSION_COOKIE_AGE", "AUTH_PASSWORD_VALIDATORS", "EMAIL_BACKEND"),
    "ROOT_URLCONF",
):
    globals()[_name] = getattr(ours, _name)
SESSION_COOKIE_NAME = "sessionid"
AUTHENTICATION_BACKENDS = (
    *("django.contrib.auth.backends.ModelBackend", "rules.permissions.ObjectPermissionBackend"),
    "pretalx.common.auth.UserTokenAuthentication",
)

STATIC_ROOT = Path(BASE_DIR) / "static.dist"  # what `install.py` built, with its table
STATICFILES_DIRS = (Path(BASE_DIR) / "pretalx" / "static", STATIC_ROOT)
STORAGES = {
    "default": {"BACKEND": "django.core.files.storage.FileSystemStorage"},
    "staticfiles": {"BACKEND": "django.contrib.staticfiles.storage.StaticFilesStorage"},
}
MIDDLEWARE = [name for name in MIDDLEWARE if not name.startswith("whitenoise.")]
