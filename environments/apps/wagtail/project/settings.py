"""Settings of our website, run by the Python that Wagtail is in."""

from common_settings import *  # noqa: F403 - as Django's settings are shared
from common_settings import CONTEXT_PROCESSORS, MIDDLEWARE

_DJANGO = ("auth", "contenttypes", "sessions", "messages", "staticfiles")
_WAGTAIL = ("contrib.redirects", "embeds", "sites", "users", "snippets", "documents", "images", "search", "admin")
INSTALLED_APPS = (
    "project",
    *(f"wagtail.{name}" for name in _WAGTAIL),
    *("wagtail", "modelcluster", "taggit", "django_filters"),
    *(f"django.contrib.{name}" for name in _DJANGO),
)
MIDDLEWARE = (*MIDDLEWARE, "wagtail.contrib.redirects.middleware.RedirectMiddleware")
TEMPLATES = (
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "APP_DIRS": True,
        "OPTIONS": {"context_processors": CONTEXT_PROCESSORS},
    },
)
SILENCED_SYSTEM_CHECKS = ("wagtailadmin.W003",)  # nobody gets an address by e-mail
DATA_UPLOAD_MAX_NUMBER_FIELDS = 10_000

WAGTAIL_SITE_NAME = "Harnsey"
WAGTAIL_ENABLE_UPDATE_CHECK = False
WAGTAIL_ENABLE_WHATS_NEW_BANNER = False
WAGTAIL_GRAVATAR_PROVIDER_URL = None
WAGTAIL_AUTOSAVE_INTERVAL = 0  # what was saved is what somebody saved
WAGTAIL_EDITING_SESSION_PING_INTERVAL = 0  # nobody else is there
