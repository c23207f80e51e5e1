"""Fossil and the libraries it needs, from Debian's packages, unpacked into a folder of their own."""

from environments.apps.installing import About

ABOUT = About(
    title="Fossil",
    version="2.21",
    license="BSD-2-Clause",
    debian=("fossil=1:2.21-1+deb12u1", "libfuse2=2.9.9-6+b1", "libtcl8.6=8.6.13+dfsg-2"),
)
