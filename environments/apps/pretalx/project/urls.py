"""Addresses of our conference's pages, run by the Python that pretalx is in."""

from pretalx.urls import urlpatterns

__all__ = ["urlpatterns"]
