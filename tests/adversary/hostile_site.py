"""A website that serves the attacks of `pages.py`, and a browser that visits it, with the wall and without."""

import asyncio
import contextlib
import threading
from collections.abc import Iterable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import parse_qs, quote, unquote, urlsplit

from environments.browser.fleet import Fleet
from environments.browser.page.page import Viewport
from tests.adversary.pages import HEADERS, NAVIGATIONS, SUBRESOURCES
from tests.adversary.traps import Traps
from tests.collection.faults.gates import open_and_press

ALL_AT_ONCE = "all at once"


class Site:
    """`url` is where it serves: a page for each navigation, and one with all subresources."""

    def __init__(self, traps: Traps):
        site = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                address = urlsplit(self.path)
                name, query = unquote(address.path[1:]), {k: v[0] for k, v in parse_qs(address.query).items()}
                kind, headers, status = "text/html; charset=utf-8", {}, 200
                if name == "_to":
                    status, headers, body = 302, {"location": query["there"]}, ""
                elif name == "_script":
                    kind, body = "text/javascript", f"fetch('{query['fetch']}', {{mode: 'no-cors'}}).catch(() => 0)"
                else:
                    body = site.page(name)
                if name in HEADERS:
                    header, value = HEADERS[name]
                    headers[header] = value.format(url=traps.url(name))
                content = body.encode()
                self.send_response(status)
                for header, value in {"content-type": kind, "content-length": str(len(content)), **headers}.items():
                    self.send_header(header, value)
                self.end_headers()
                self.wfile.write(content)

            def do_POST(self) -> None:
                self.do_GET()

            def log_message(self, *_: object) -> None:
                """Say nothing."""

        class Quiet(ThreadingHTTPServer):
            daemon_threads = True

            def handle_error(self, *_: object) -> None:
                """Browsers that are stopped leave connections behind."""

        self._traps = traps
        self.extra = ""  # a page of its own, where a test has one
        self._server = Quiet(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"
        threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True).start()

    def page(self, name: str) -> str:
        if name == ALL_AT_ONCE:
            return "".join(self._filled(one, html) for one, html in SUBRESOURCES.items())
        return (
            self._filled(name, NAVIGATIONS[name])
            if name in NAVIGATIONS
            else f"<p>fine</p><img src='/fine'>{self.extra}"
        )

    def _filled(self, name: str, html: str) -> str:
        return html.format(url=self._traps.url(name), host=self._traps.host, port=self._traps.ports[name], me=self.url)

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()


@contextlib.contextmanager
def serving(names: Iterable[str]) -> Iterator[tuple[Site, Traps]]:
    """The website and the traps that its pages try to reach."""
    with Traps(names) as traps:
        site = Site(traps)
        try:
            yield site, traps
        finally:
            site.close()


def visit(site: Site, names: Iterable[str], downloads: Path, flags: tuple[str, ...] = (), rest_s: float = 0.0) -> None:
    """Open these pages one after the other in a fresh browser, press what says Press, and wait a little."""

    async def go() -> None:
        fleet = Fleet(1, headless=True, viewport=Viewport(), flags=flags)
        async with fleet:
            for name in names:
                async with fleet.page(0, downloads) as page:
                    await open_and_press(page, f"{site.url}/{quote(name)}")
                    await asyncio.sleep(rest_s)

    asyncio.run(go())
