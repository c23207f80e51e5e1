"""Addresses of our website's pages, run by the Python that Wagtail is in."""

from django.urls import include, path
from wagtail import urls as wagtail_urls
from wagtail.admin import urls as admin_urls
from wagtail.documents import urls as documents_urls

urlpatterns = [
    path("admin/", include(admin_urls)),
    path("documents/", include(documents_urls)),
    path("", include(wagtail_urls)),
]
