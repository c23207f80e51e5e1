"""Pages are asked for once while the seed is built: what PHP compiles for them, and what MediaWiki keeps of them, is
there when a server starts."""

import contextlib
import http.client
import sqlite3
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from pathlib import Path

from common.errors import UserError
from common.processes import die_with_parent, free_port
from environments.apps.clock import BEGIN, environment
from environments.apps.mediawiki.content import LIST
from environments.apps.mediawiki.settings import CACHE
from environments.apps.mediawiki.start import COOKIES, START, command

_TIMEOUT_S = 120.0
_LIST = LIST.replace(" ", "_")
_PAGES = (
    *(START, f"/index.php/{_LIST}", "/index.php?search=Glass"),
    *(f"/index.php?title={_LIST}&action={action}" for action in ("edit", "history", "watch", "unwatch")),
    *("/index.php?title=Talk:Main_Page&action=edit&section=new", f"/index.php/Special:MovePage/{_LIST}"),
)
_SCRIPTS = (
    "jquery,moment,oojs,oojs-ui-core,oojs-ui-widgets|jquery.lengthLimit,makeCollapsible,textSelection,highlightText,"
    "suggestions|jquery.client|mediawiki.String,Title,api,base,cldr,jqueryMsg,language,util,confirmCloseWindow,diff,icon,"
    "storage,searchSuggest,notification,visibleTimeout,htmlform|mediawiki.htmlform.ooui|mediawiki.action.edit,history|"
    "mediawiki.action.edit.collapsibleFooter,editWarning|mediawiki.action.view.postEdit|mediawiki.libs.pluralruleparser|"
    "mediawiki.page.ready|mediawiki.page.watch.ajax|mediawiki.widgets.DateInputWidget,visibleLengthLimit|"
    "skins.vector.legacy.js|oojs-ui-widgets.icons|oojs-ui.styles.icons-movement,icons-interactions,indicators|site"
)
"""What the scripts of these pages ask for, in ResourceLoader's own notation."""
_LOADED = ("startup&only=scripts&raw=1", "skins.vector.styles.legacy&only=styles", _SCRIPTS)


def warm(program: Path, state: Path) -> None:
    """At the moment at which servers start, since MediaWiki keeps things for a day.

    Raises:
        UserError: MediaWiki does not answer.
    """
    port = free_port()
    where = environment(program, BEGIN, HOME=str(state), TMPDIR=str(state))
    line = command(program, state, port, f"http://127.0.0.1:{port}{START}")
    nowhere = subprocess.DEVNULL
    with subprocess.Popen(
        line, env=where, cwd=state, preexec_fn=die_with_parent, stdin=nowhere, stdout=nowhere, stderr=nowhere
    ) as server:
        try:
            address = f"http://127.0.0.1:{port}"
            _until_answered(lambda: _get(f"{address}{START}"))
            loaded = (f"/load.php?lang=en&skin=vector&modules={names}" for names in _LOADED)
            for page in (*_PAGES, *loaded):
                _get(f"{address}{page}")
        finally:
            server.terminate()
    with contextlib.closing(sqlite3.connect(state / CACHE)) as cache:
        cache.execute("PRAGMA wal_checkpoint(TRUNCATE)")


def _get(url: str) -> None:
    cookies = "; ".join(f"{name}={value}" for name, value in COOKIES.items())
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    opener.open(urllib.request.Request(url, headers={"Cookie": cookies}), timeout=_TIMEOUT_S).read()


def _until_answered(ask: Callable[[], None]) -> None:
    deadline = time.monotonic() + _TIMEOUT_S
    while True:
        try:
            return ask()
        except (OSError, urllib.error.URLError, http.client.HTTPException) as error:
            if time.monotonic() > deadline:
                raise UserError(f"MediaWiki does not answer after it was filled: {error}") from None
            time.sleep(0.1)
