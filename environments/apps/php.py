"""PHP of Debian's packages, unpacked into the folder of an application: no setting of the machine's own PHP counts."""

from pathlib import Path

_VERSION = "8.2.36-1~deb12u1"
_PARTS = ("cli", "common", "intl", "mbstring", "opcache", "sqlite3", "xml")
_LIBRARIES = (
    *("libargon2-1=0~20171227-0.3+deb12u1", "libbsd0=0.11.7-2", "libedit2=3.1-20221030-2", "libicu72=72.1-3+deb12u1"),
    *("libmd0=1.0.4-2", "libonig5=6.9.8-1", "libsodium23=1.0.18-1+deb12u1", "libsqlite3-0=3.40.1-2+deb12u2"),
    "libxml2=2.9.14+dfsg-1.3~deb12u6",
)
PACKAGES = (*(f"php8.2-{part}={_VERSION}" for part in _PARTS), *_LIBRARIES)

COMPILED = "compiled"
"""Folder of what PHP has compiled, which servers that start later read."""
_EXTENSIONS = (
    *("calendar", "ctype", "dom", "exif", "fileinfo", "iconv", "intl", "mbstring", "pdo", "pdo_sqlite", "posix"),
    *("simplexml", "sockets", "sqlite3", "tokenizer", "xml", "xmlreader", "xmlwriter"),
)
_SETTINGS = {
    "zend_extension": "opcache",
    "opcache.enable_cli": "1",
    "opcache.validate_timestamps": "0",  # no program changes while it runs
    "opcache.jit": "0",
    "memory_limit": "256M",
    "display_errors": "0",
    "log_errors": "1",
    "date.timezone": "UTC",
    "disable_functions": "exec,passthru,popen,proc_open,shell_exec,system",  # no page reaches the machine
    "allow_url_fopen": "0",
}


def php(program: Path, *words: str, **settings: str) -> list[str]:
    """The command line that runs these words, with settings in PHP's and the process's environment.

    Names of settings in capitals are of the environment, the others of PHP.
    """
    libraries = program / "usr" / "lib" / "x86_64-linux-gnu"
    where = {"LD_LIBRARY_PATH": str(libraries), **{name: text for name, text in settings.items() if name.isupper()}}
    extensions = next((program / "usr" / "lib" / "php").glob("*/pdo.so")).parent
    own = {name: text for name, text in settings.items() if not name.isupper()}
    given = {"extension_dir": str(extensions), "opcache.file_cache": str(program / COMPILED), **_SETTINGS, **own}
    options = [*(f"{name}={text}" for name, text in given.items()), *(f"extension={name}" for name in _EXTENSIONS)]
    variables = (f"{name}={text}" for name, text in where.items())
    binary = program / "usr" / "bin" / "php8.2"
    return ["/usr/bin/env", *variables, str(binary), "-n", *(f"-d{option}" for option in options), *words]
