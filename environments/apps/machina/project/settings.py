"""Settings of our board, run by the Python that django-machina is in."""

from pathlib import Path

import machina
from common_settings import *  # noqa: F403 - as Django's settings are shared
from common_settings import STATE

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
HAYSTACK_CONNECTIONS = {
    "default": {"ENGINE": "haystack.backends.whoosh_backend.WhooshEngine", "PATH": str(STATE / "search")}
}
MACHINA_FORUM_NAME = "The Potting Shed"
MACHINA_MARKUP_WIDGET = None  # a plain field to write in
MACHINA_PROFILE_AVATARS_ENABLED = False
MACHINA_DEFAULT_AUTHENTICATED_USER_FORUM_PERMISSIONS = (
    *("can_see_forum", "can_read_forum", "can_start_new_topics", "can_reply_to_topics", "can_edit_own_posts"),
    *("can_post_without_approval", "can_vote_in_polls", "can_delete_own_posts"),
)
