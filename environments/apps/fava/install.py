"""Fava, beancount and what they need, from the Python package index."""

from environments.apps.installing import About

_VERSION = "1.30.16"
_BEANCOUNT = ("beancount==3.2.3", "beangulp==0.2.0", "beanquery==0.2.0", "ply==3.11", "simplejson==3.20.2")
_WEB = ("Flask==3.1.3", "flask-babel==4.0.0", "babel==2.19.0", "Jinja2==3.1.6", "MarkupSafe==3.0.4", "Werkzeug==3.1.9")
_SERVER = ("cheroot==11.1.2", "jaraco.functools==4.6.0", "more-itertools==11.2.1", "watchfiles==1.3.0", "anyio==4.16.0")
_NEEDS = (
    *("beautifulsoup4==4.15.0", "blinker==1.9.0", "chardet==7.7.0", "click==8.5.1", "idna==3.20", "lxml==6.1.3"),
    *("itsdangerous==2.2.0", "markdown-it-py==4.3.0", "mdurl==0.1.2", "python-dateutil==4.0.0", "pytz==2026.6"),
    *("python-magic==0.4.27", "regex==2026.11.19", "soupsieve==4.1.3", "TatSu-LTS==5.16.0", "tzdata==2026.6"),
    "typing_extensions==4.16.0",
)
ABOUT = About(
    title="Fava",
    version=_VERSION,
    license="MIT, beancount: GPL-2.0-only",
    python=(f"fava=={_VERSION}", *_BEANCOUNT, *_WEB, *_SERVER, *_NEEDS),
)
