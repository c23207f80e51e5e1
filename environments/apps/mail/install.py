"""Roundcube, Dovecot and PHP of Debian's packages, unpacked into a folder of their own; a sink for what is sent."""

import shutil
from pathlib import Path

from environments.apps import php
from environments.apps.installing import About
from environments.apps.mail.settings import PLUGIN

_VERSION = "1.6.5"
_DOVECOT = "1:2.3.19.1+dfsg1-2.1+deb12u7"
_DEBIAN = (
    f"roundcube-core={_VERSION}+dfsg-1+deb12u13",
    *("libjs-bootstrap4=4.6.1+dfsg1-4+deb12u1", "libjs-jquery=3.6.1+dfsg+~3.5.14-1"),
    *("libjs-jquery-ui=1.13.2+dfsg-1", "libjs-jquery-minicolors=2.3.5+dfsg-4", "libjs-jstimezonedetect=1.0.7+~1.0.3-1"),
    *("php-auth-sasl=1.1.0-1", "php-mail-mime=1.10.11-1", "php-masterminds-html5=2.7.6+dfsg-1"),
    *("php-net-smtp=1.10.1-1", "php-net-socket=1.2.2-2"),
    "php-pear=1:1.10.13+submodules+notgz+2022032202-2",
    *(f"dovecot-core={_DOVECOT}", f"dovecot-imapd={_DOVECOT}", "libunwind8=1.6.2-3", "libuid-wrapper=1.2.9-1"),
    *php.PACKAGES,
)


def web(program: Path) -> Path:
    """The folder of Roundcube's programs."""
    return program / "usr" / "share" / "roundcube"


def _finish(program: Path) -> None:
    (program / php.COMPILED).mkdir()
    shutil.rmtree(web(program) / "installer")
    settings = web(program) / "plugins" / "jqueryui" / "config.inc.php"
    settings.unlink()  # a link to a file of the system
    shutil.copy(program / "etc" / "roundcube" / "plugins" / "jqueryui" / "config.inc.php", settings)
    plugin = web(program) / "plugins" / PLUGIN / f"{PLUGIN}.php"
    plugin.parent.mkdir()
    plugin.write_text("<?php // its class stands in our settings, which Roundcube reads before\n")
    begin = web(program) / "program" / "include" / "iniset.php"
    begin.write_text(begin.read_text().replace("'/var/lib/roundcube/'", "dirname(__DIR__, 2) . '/'"))


ABOUT = About(
    title="Roundcube",
    version=_VERSION,
    license="GPL-3.0-or-later, LGPL-2.1, MIT",
    debian=_DEBIAN,
    python=("aiosmtpd==1.4.6", "atpublic==5.1", "attrs==25.3.0"),
    finish=_finish,
)
