"""PHP's own web server with Roundcube, and beside it Dovecot and a sink for what is sent (`serve.py`)."""

from pathlib import Path

from environments.apps.installing import python_of
from environments.apps.mail.install import web
from environments.apps.mail.settings import CONFIG, IMAP, MAILS, SMTP
from environments.apps.php import php

COOKIES: dict[str, str] = {}
START = "/?_task=mail&_mbox=INBOX"


def dovecot(program: Path, state: Path) -> list[str]:
    """Dovecot's program that speaks IMAP with whoever has logged in. It takes its settings from the environment.

    It refuses to run as root, as containers do: libuid-wrapper tells it of another user.
    """
    libraries = program / "usr" / "lib"
    near = libraries / "x86_64-linux-gnu"
    own = {
        "DOVECONF_ENV": "1",
        "LD_LIBRARY_PATH": f"{libraries / 'dovecot'}:{near}",
        "LD_PRELOAD": f"{_clock(program)}:{near / 'libuid_wrapper.so'}",
        **{"UID_WRAPPER": "1", "UID_WRAPPER_ROOT": "1", "MAIL_UID": "1000", "MAIL_GID": "1000"},
        **{"USER": "ana", "HOME": str(state), "MAIL_LOCATION": f"maildir:{state / MAILS}:INDEX=MEMORY"},
    }
    return ["/usr/bin/env", *(f"{name}={text}" for name, text in own.items()), str(libraries / "dovecot" / "imap")]


def _clock(program: Path) -> Path:
    return next(program.glob("lib/python*/site-packages/libfaketime/vendor/libfaketime/src/libfaketime.so.1"))


def command(program: Path, state: Path, port: int, address: str) -> list[str]:
    """Listens on this machine alone."""
    folders = {"ROUNDCUBE_CONFIG_DIR": str(state / CONFIG)}
    settings = {"opcache.lockfile_path": str(state), "include_path": str(program / "usr" / "share" / "php")}
    pages = php(program, "-S", f"127.0.0.1:{port}", "-t", str(web(program)), **folders, **settings)
    serve = [str(python_of(program)), str(Path(__file__).with_name("serve.py"))]
    return [*serve, str(state), IMAP, SMTP, *dovecot(program, state), "--", *pages]
