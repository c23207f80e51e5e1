"""hledger-web and the libraries it needs, from Debian's packages, unpacked into a folder of their own."""

from environments.apps.installing import About

_LIBRARIES = ("libyaml-0-2=0.2.5-1", "libgmp10=2:6.2.1+dfsg1-1.1", "libffi8=3.4.4-1")
ABOUT = About(
    title="hledger-web",
    version="1.25",
    license="GPL-3.0-or-later",
    debian=("hledger-web=1.25-1", *_LIBRARIES),
    held_out=True,
)
