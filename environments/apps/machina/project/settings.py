"""Settings of our board, run by the Python that django-machina is in."""

from pathlib import Path

import machina
from common_settings import *  # noqa: F403 - as Django's settings are shared
from common_settings import CONTEXT_PROCESSORS, MIDDLEWARE, SEARCH_INDEX

_DJANGO = ("auth", "contenttypes", "sessions", "messages", "staticfiles", "humanize")
_MACHINA = (
    *("forum", "forum_conversation", "forum_conversation.forum_attachments", "forum_conversation.forum_polls"),
    *("forum_feeds", "forum_moderation", "forum_search", "forum_tracking", "forum_member", "forum_permission"),
)
INSTALLED_APPS = (
    *(f"django.contrib.{name}" for name in _DJANGO),
    *("mptt", "haystack", "widget_tweaks", "machina"),
    *(f"machina.apps.{name}" for name in _MACHINA),
)
MIDDLEWARE = (*MIDDLEWARE, "machina.apps.forum_permission.middleware.ForumPermissionMiddleware")
TEMPLATES = (
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": (machina.MACHINA_MAIN_TEMPLATE_DIR,),
        "OPTIONS": {
            "context_processors": (*CONTEXT_PROCESSORS, "machina.core.context_processors.metadata"),
            "loaders": (
                "django.template.loaders.filesystem.Loader",
                "django.template.loaders.app_directories.Loader",
            ),
        },
    },
)
STATICFILES_DIRS = (Path(machina.MACHINA_MAIN_STATIC_DIR),)
CACHES = {
    name: {"BACKEND": "django.core.cache.backends.dummy.DummyCache"} for name in ("default", "machina_attachments")
}
HAYSTACK_CONNECTIONS = SEARCH_INDEX
MACHINA_FORUM_NAME = "The Potting Shed"
MACHINA_MARKUP_WIDGET = None  # a plain field to write in
MACHINA_PROFILE_AVATARS_ENABLED = False
