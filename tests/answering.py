"""A local HTTP server whose answers a test chooses."""

import contextlib
import dataclasses
import json
import threading
from collections.abc import Callable, Iterator, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@dataclasses.dataclass(frozen=True)
class Request:
    """`path` as it was sent, `body` parsed from JSON, its bytes where it is none, None where there is no body."""

    method: str
    path: str
    headers: Mapping[str, str]
    body: Any


@contextlib.contextmanager
def answering(answer: Callable[[Request], tuple[int, Any]]) -> Iterator[str]:
    """Yields the base URL of a server, in threads of the test; `answer` gives a status and what is sent:
    bytes as HTML, all else as JSON."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            body = self.rfile.read(int(self.headers.get("content-length", 0))) or None
            with contextlib.suppress(ValueError):
                body = json.loads(body or b"null")
            status, value = answer(Request(self.command, self.path, self.headers, body))
            is_page = isinstance(value, bytes)
            content = value if is_page else json.dumps(value).encode()
            self.send_response(status)
            self.send_header("content-type", "text/html; charset=utf-8" if is_page else "application/json")
            self.send_header("content-length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        do_POST = do_GET  # noqa: N815

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
        try:
            yield f"http://127.0.0.1:{server.server_address[1]}"
        finally:
            server.shutdown()  # a thread that is left with a closed socket asks for it without a pause
