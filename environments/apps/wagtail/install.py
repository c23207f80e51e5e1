"""Wagtail and what it needs, from the Python package index."""

from environments.apps.django_project.lifecycle import DJANGO
from environments.apps.installing import About

_VERSION = "8.0.1"
_NEEDS = (
    *("annotated-types==0.8.0", "anyascii==0.3.3", "beautifulsoup4==4.15.0", "certifi==2026.10.19.post1"),
    *("charset-normalizer==3.5.3", "defusedxml==0.7.1", "django-filter==26.2", "django-modelcluster==6.5"),
    *("django-ninja==1.7.1", "django-permissionedforms==0.1", "django-stubs-ext==6.1.2", "django-taggit==6.1.0"),
    *("django-tasks==0.12.0", "django-treebeard==5.3.1", "djangorestframework==3.18.3", "draftjs_exporter==7.3.1"),
    *("et_xmlfile==2.0.0", "filetype==1.2.0", "idna==3.20", "laces==0.1.2", "modelsearch==1.3.2", "openpyxl==3.1.5"),
    *("pillow==13.0.0", "pillow_heif==1.8.1", "pydantic==2.14.4", "pydantic_core==2.50.5", "requests==2.34.2"),
    *("soupsieve==4.1.3", "swapper==1.5.0", "telepath==0.3.1", "typing-inspection==0.4.5", "typing_extensions==4.16.0"),
    *("urllib3==2.8.0", "Willow==1.12.0"),
)
ABOUT = About(
    title="Wagtail",
    version=_VERSION,
    license="BSD-3-Clause",
    python=(f"wagtail=={_VERSION}", *_NEEDS, *DJANGO),
)
