"""django-oscar and what it needs, from the Python package index."""

from environments.apps.django_project.lifecycle import DJANGO
from environments.apps.installing import About

_VERSION = "4.2.1"
_NEEDS = (
    *("babel==2.19.0", "django-extra-views==0.16.0", "django-haystack==3.4.0", "django-phonenumber-field==8.5.0"),
    *("django-tables2==2.7.0", "django-treebeard==7.0.3", "django-widget-tweaks==1.5.1", "packaging==26.4"),
    *("phonenumbers==9.0.43", "pillow==13.0.0", "purl==1.6", "six==1.17.0", "sorl-thumbnail==13.4.0", "Whoosh==2.7.4"),
)
ABOUT = About(
    title="django-oscar",
    version=_VERSION,
    license="BSD-3-Clause",
    python=(f"django-oscar=={_VERSION}", *_NEEDS, *DJANGO),
)
