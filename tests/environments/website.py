"""A small real website and a scripted policy, on one free port, for tests of the collector.

The policy speaks `/predict` and `/v1/chat/completions`. What it says stands in the task's `ques`, replies separated by
" | "; `{Next}` stands for the label of the first tree line that holds `Next`.
"""

import itertools
import json
import re
import ssl
import threading
import time
from collections.abc import Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

HOME = """
<title>Home</title>
<h1>Harbour</h1>
<a href="/second">Next page</a> <a href="/second?tab" target="_blank">New tab</a>
<button onclick="window.open('/second?opened')">Open window</button>
<button onclick="note.textContent = confirm('Sure?') ? 'yes sure' : 'no'">Ask me</button>
<button disabled>Greyed out</button>
<form action="/found"><input name="q" placeholder="Search here" value="old words"></form>
<input type="date" aria-label="Day" onchange="note.textContent = 'day ' + value">
<input type="checkbox" aria-label="Agree" onchange="note.textContent = checked">
<label for="fare">Fare</label>
<select id="fare" onchange="note.textContent = 'fare ' + value">
  <option value="s">Standard single</option><option value="r">Day  return</option><option disabled>First class</option>
</select>
<textarea aria-label="Message"></textarea>
<div role="list" style="height:60px;overflow:auto" aria-label="Box">
  <p>box top</p><p style="margin-top:300px">box end</p>
</div>
<p id="note"></p>
<p style="margin-top:1500px">far below</p>
"""

PAGES = {
    "/": HOME,
    "/second": "<title>Second</title><h1>Second page</h1><a href='/'>Home</a>",
    "/late": """<title>Late</title><p id="place">empty</p><script>
        addEventListener("load", () => setTimeout(async () => {
            const answer = await fetch("/slow?ms=200");
            place.textContent = await answer.text();
        }, 300));
        setInterval(() => fetch("/slow?ms=1"), 40);
        </script>""",
    "/clock": """<title>Clock</title><p id="tick">0</p><p id="place">empty</p><script>
        setInterval(() => tick.textContent++, 50);
        setTimeout(() => place.textContent = "came late", 900);
        </script>""",
    "/spa": """<title>App</title><button onclick="setTimeout(load, 100)">Load</button><p id="place">empty</p><script>
        async function load() {
            await fetch("/slow?ms=300");
            setTimeout(() => place.textContent = "loaded at last", 200);
        }</script>""",
    "/broken": """<title>Broken</title><a href="http://127.0.0.1:9/">Own dead link</a>
        <a href="http://nowhere.localhost:9/">Foreign dead link</a>""",
    "/slow": "<title>Slow</title><a href='/document?ms=4000'>Slow page</a>",
    "/odd": "<title>Odd</title><h1 id='half'></h1><script>half.textContent = 'half \\ud83d emoji'</script>",
    "/visits": "<title>Visits</title><h1>Visit VISITS</h1>",
    "/hang": "<title>Hang</title><h1>Hang</h1><button onclick='while (true) {}'>Loop for ever</button>",
}


def start(
    host: str = "127.0.0.1",
    port: int = 0,
    handler: type[BaseHTTPRequestHandler] | None = None,
    context: ssl.SSLContext | None = None,
) -> ThreadingHTTPServer:
    """Serve in a thread until `shutdown`; the address is `server_address`."""
    server = Server((host, port), handler or Handler)
    if context is not None:
        server.socket = context.wrap_socket(server.socket, server_side=True)
    server.sessions = itertools.count(1)
    server.visits = {}
    server.requests = []
    server.slow_s = 0.0
    server.stopped = False
    threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
    return server


class Server(ThreadingHTTPServer):
    """Says nothing of browsers that are killed while it answers."""

    daemon_threads = True
    request_queue_size = 128  # many clients connect at once

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Nothing to do."""


def offer(patch: pytest.MonkeyPatch, server: ThreadingHTTPServer, pages: Mapping[str, str], before: str = "") -> str:
    """The address of a site that has these pages, too, until `patch` is undone; PORT in one is the site's own."""
    port = server.server_address[1]
    for path, page in pages.items():
        patch.setitem(PAGES, path, before + page.replace("PORT", str(port)))
    return f"http://127.0.0.1:{port}"


def stop(server: ThreadingHTTPServer) -> None:
    """Answer nobody any more, also not on connections that are open."""
    server.stopped = True
    server.shutdown()
    server.server_close()


class Handler(BaseHTTPRequestHandler):
    """Pages, a session's own state, and the policy."""

    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        address = urlsplit(self.path)
        query = parse_qs(address.query)
        if "ms" in query:
            time.sleep(int(query["ms"][0]) / 1000)
            self._send(b"late content")
        elif address.path == "/_elcano/state":
            self._send(json.dumps({"visits": self.server.visits.get(self._session(), 0)}).encode(), "application/json")
        elif address.path == "/found":
            self._send(f"<title>Found</title><h1>Results for {query.get('q', ['nothing'])[0]}</h1>".encode())
        elif address.path in PAGES:
            kind = "text/javascript" if address.path.endswith(".js") else "text/html; charset=utf-8"
            self._send(self._page(address.path).encode(), kind)
        else:
            self._send(b"<h1>Not here</h1>", status=404)

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        if self.server.stopped:
            self.close_connection = True
            return
        self.server.requests.append(body)
        time.sleep(self.server.slow_s)
        if self.path == "/predict":
            turns = [turn["content"] for turn in body["conversations"] if turn["role"] == "user"]
            answer: dict[str, Any] = {"text": reply(turns), "prompt_tokens": 7, "completion_tokens": 3}
        else:
            turns = [_text(message["content"]) for message in body["messages"] if message["role"] == "user"]
            message = {"role": "assistant", "content": reply(turns)}
            choice = {"index": 0, "message": message, "finish_reason": "stop"}
            if body.get("return_token_ids"):
                logprobs = [{"token": "t", "logprob": -0.5, "bytes": None, "top_logprobs": []}] * 2
                choice |= {"token_ids": [11, 12], "logprobs": {"content": logprobs, "refusal": None}}
            answer = {"id": "x", "object": "chat.completion", "created": 0, "model": body["model"], "choices": [choice]}
        self._send(json.dumps(answer).encode(), "application/json")

    def _page(self, path: str) -> str:
        if path != "/visits":
            return PAGES[path]
        session = self._session() or str(next(self.server.sessions))
        self.server.visits[session] = self.server.visits.get(session, 0) + 1
        self._cookie = session
        return PAGES[path].replace("VISITS", str(self.server.visits[session]))

    def _session(self) -> str:
        found = re.search(r"session=(\d+)", self.headers.get("cookie", ""))
        return found[1] if found else ""

    def _send(self, content: bytes, kind: str = "text/html; charset=utf-8", status: int = 200) -> None:
        self.send_response(status)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(content)))
        if cookie := getattr(self, "_cookie", ""):
            self.send_header("set-cookie", f"session={cookie}; path=/")
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_: object) -> None:
        """Say nothing."""


def reply(user_turns: list[str]) -> str:
    """The scripted reply to the newest of these turns."""
    script = re.sub(r"^Now given a task: (.*?)  Please interact.*", r"\1", user_turns[0], flags=re.DOTALL)
    replies = script.split("\n")[0].split(" | ")
    action = replies[min(len(user_turns), len(replies)) - 1]
    action = re.sub(r"\{(.+?)\}", lambda wanted: find(user_turns[-1], wanted[1]), action)
    return action if action.startswith("!") else f"Thought: as told.\n\nAction: {action}"


def find(tree: str, wanted: str) -> str:
    """The label of the first tree line that holds `wanted`."""
    found = re.search(rf"^\t*\[(\d+)\] .*{re.escape(wanted)}", tree, re.MULTILINE)
    return found[1] if found else "999"


def _text(content: Any) -> str:
    return content if isinstance(content, str) else "".join(part.get("text", "") for part in content)
