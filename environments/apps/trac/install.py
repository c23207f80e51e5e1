"""Trac and what it needs, from the Python package index."""

from environments.apps.installing import About

ABOUT = About(
    title="Trac",
    version="1.6",
    license="BSD-3-Clause",
    python=("Trac==1.6", "Jinja2==3.1.6", "MarkupSafe==3.0.4", "setuptools==65.5.0"),
)
