"""What our MediaWiki is asked for once while its seed is built."""

import contextlib
import sqlite3
from pathlib import Path

from environments.apps import php_warm
from environments.apps.mediawiki.content import LIST
from environments.apps.mediawiki.settings import CACHE
from environments.apps.mediawiki.start import COOKIES, START, command

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
    """Ask for all of it.

    Raises:
        UserError: MediaWiki does not answer.
    """
    loaded = (f"/load.php?lang=en&skin=vector&modules={names}" for names in _LOADED)

    def serve(port: int) -> list[str]:
        return command(program, state, port, f"http://127.0.0.1:{port}{START}")

    php_warm.warm(program, state, serve, START, COOKIES, (*_PAGES, *loaded))
    with contextlib.closing(sqlite3.connect(state / CACHE)) as cache:
        cache.execute("PRAGMA wal_checkpoint(TRUNCATE)")
