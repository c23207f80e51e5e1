"""What of our environment a child process inherits that meets websites or files of strangers: names of a list.

Everything else may hold a secret, whatever its name: GITHUB_PAT, DATABASE_URL, MYSQL_PWD, PIP_INDEX_URL.
"""

import os

_ANY_PROGRAM = (
    *("PATH", "HOME", "USER", "LOGNAME", "LD_LIBRARY_PATH"),
    *("TMPDIR", "TMP", "TEMP", "TZ", "TZDIR"),
    *("LANG", "LANGUAGE", "LOCPATH", "LC_ALL", "LC_ADDRESS", "LC_COLLATE", "LC_CTYPE", "LC_IDENTIFICATION"),
    *("LC_MEASUREMENT", "LC_MESSAGES", "LC_MONETARY", "LC_NAME", "LC_NUMERIC", "LC_PAPER", "LC_TELEPHONE", "LC_TIME"),
    *("RES_OPTIONS", "LOCALDOMAIN"),  # how names are looked up
)
_PYTHON = (
    *("PYTHONHOME", "PYTHONPATH", "PYTHONDONTWRITEBYTECODE", "PYTHONPYCACHEPREFIX", "PYTHONNOUSERSITE"),
    *("PYTHONUTF8", "PYTHONIOENCODING", "PYTHONUNBUFFERED", "PYTHONHASHSEED", "PYTHONWARNINGS"),
)
_BROWSER = (
    *("DISPLAY", "XAUTHORITY", "WAYLAND_DISPLAY", "DBUS_SESSION_BUS_ADDRESS"),
    *("XDG_RUNTIME_DIR", "XDG_SESSION_TYPE", "XDG_CURRENT_DESKTOP", "XDG_DATA_DIRS", "XDG_CONFIG_DIRS"),
    *("XDG_CONFIG_HOME", "XDG_CACHE_HOME", "XDG_DATA_HOME"),
    *("FONTCONFIG_FILE", "FONTCONFIG_PATH", "FONTCONFIG_SYSROOT"),
    "CHROME_DEVEL_SANDBOX",  # where a system's sandbox helper lies
)


def for_python() -> dict[str, str]:
    """What a Python process of ours needs."""
    return _only(*_ANY_PROGRAM, *_PYTHON)


def for_browser() -> dict[str, str]:
    """What Chromium needs."""
    return _only(*_ANY_PROGRAM, *_BROWSER)


def _only(*names: str) -> dict[str, str]:
    return {name: os.environ[name] for name in names if name in os.environ}
