"""Roundup and what it needs, from the Python package index."""

from environments.apps.installing import About

_NEEDS = ("python-dateutil==4.0.0", "pytz==2026.6", "tzdata==2026.6", "setuptools==65.5.0")
ABOUT = About(
    title="Roundup",
    version="2.6.0",
    license="MIT AND ZPL-2.0 AND PSF-2.0",
    python=("roundup==2.6.0", *_NEEDS),
)
