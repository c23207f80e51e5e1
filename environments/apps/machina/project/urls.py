"""Addresses of our board's pages, run by the Python that django-machina is in."""

from django.urls import include, path
from machina import urls as machina_urls

urlpatterns = [path("", include(machina_urls))]
