"""django-machina and what it needs, from the Python package index."""

from environments.apps.django_project.lifecycle import DJANGO
from environments.apps.installing import About

_VERSION = "1.3.1"
_NEEDS = (
    *("django-haystack==3.4.0", "django-js-asset==5.0.0", "django-mptt==0.20.0", "django-widget-tweaks==1.5.1"),
    *("markdown2==2.5.5", "packaging==26.4", "pillow==13.0.0", "Whoosh==2.7.4"),
)
ABOUT = About(
    title="django-machina",
    version=_VERSION,
    license="BSD-3-Clause",
    python=(f"django-machina=={_VERSION}", *_NEEDS, *DJANGO),
)
