"""A website where everything goes wrong that goes wrong on the web, each on a path of its own, and a policy that copes.

`/predict` says what `website.py` says. Addresses in pages: PORT is the website's own port.
"""

import socket
import time
from collections.abc import Callable
from http.server import ThreadingHTTPServer
from urllib.parse import urlsplit

from tests.environments import website

LINKS = ["beforeunload", "basic", "file", "hanging", "loop-redirect", "cut", "empty", "captcha", "forbidden", "fine"]
ROWS = "".join(
    f"<tr><td><a href='/fine?{row}'>row {row}</a><td><span>{row}</span><b>{row * 7}</b>" for row in range(2500)
)

PAGES = {
    "/": "<title>Wild</title><h1>Wild</h1>" + "".join(f"<a href='/{name}'>to {name}</a> " for name in LINKS),
    "/fine": "<title>Fine</title><h1>All is well</h1>",
    "/loop": "<title>Loop</title><button onclick='while (true) {}'>Start loop</button>",
    "/dialogs": """<title>Dialogs</title><p id="out">none</p><button onclick="
        alert('one'); const sure = confirm('two'); const name = prompt('three', 'Ada');
        for (let i = 0; i < 20; i++) alert('more ' + i);
        out.textContent = `confirmed ${sure} as ${name}`">Ask</button>
        <button onclick="while (true) alert('again')">Ask for ever</button>""",
    "/beforeunload": """<title>Stay</title><h1>Unsaved</h1><input aria-label="Name"><a href="/fine">Leave</a>
        <script>addEventListener("beforeunload", (event) => event.preventDefault())</script>""",
    "/many": f"<title>Many</title><h1>Many</h1><table>{ROWS}</table>",
    "/animation": """<title>Moves</title><style>@keyframes spin { to { transform: rotate(1turn) } }
        .a { width: 50px; height: 50px; background: red; animation: spin 1s infinite linear }</style>
        <div class="a"></div><p id="n">0</p><canvas id="c"></canvas>
        <button onclick="this.textContent = 'stopped for me'">Press</button><script>
        const draw = () => { n.textContent++; c.getContext('2d').fillRect(Math.random() * 99, 9, 9, 9);
            requestAnimationFrame(draw) }; draw()</script>""",
    "/memory": """<title>Memory</title><button onclick="
        const all = []; while (true) all.push(new Array(1e6).fill(Math.random()))">Fill memory</button>""",
    "/windows": """<title>Windows</title><button onclick="
        for (let i = 0; i < 12; i++) window.open('/fine?' + i)">Open many</button>""",
    "/more-windows": """<title>More</title><h1>One more</h1><script>
        window.open('/more-windows?' + Math.random())</script>""",
    "/odd-sliders": """<title>Odd</title>
        <div role="slider" tabindex="0" aria-label="Nowhere" aria-valuenow="x">a</div>
        <div role="slider" tabindex="0" aria-label="Endless" aria-valuenow="0" aria-valuemax="1e999">b</div>
        <div role="slider" tabindex="0" aria-label="Leaving" aria-valuenow="0"
            onkeydown="this.ariaValueNow = 'x'">c</div>
        <div role="slider" tabindex="0" aria-label="Tiny" aria-valuenow="0"
            onkeydown="this.ariaValueNow = 5e-324">d</div>""",
    "/captcha": """<title>Just a moment...</title><h1>shop.example</h1>
        <p>Verify you are human by completing the action below.</p>""",
    "/papers": """<title>Papers</title><a href="/paper.pdf">Read the paper</a>
        <a href="/attached.pdf">Download the paper</a>""",
    "/login": """<title>Sign up</title><form><input aria-label="Name"><button>Sign up</button></form>
        <iframe srcdoc="<title>reCAPTCHA</title>I'm not a robot"></iframe>""",
    "/covered": """<title>Covered</title><button>Behind</button>
        <div style="position:fixed;inset:0;background:#eee">Cookies? <button>Yes</button></div>""",
    "/upload": """<title>Upload</title>
        <input type="file" aria-label="Your file" onchange="out.textContent = files[0].name">
        <button onclick="picker.click()">Attach</button><input type="file" id="picker" style="display:none"
        onchange="out.textContent = 'attached ' + files[0].name"><p id="out">nothing</p>
        <label style="display:inline-block">Enclose<input type="file" style="display:none"
        onchange="out.textContent = 'enclosed ' + files[0].name"></label>
        <select aria-label="Kind"><option>Letter<option>Bill</select>""",
    "/drag": """<title>Drag</title><style>div { width: 90px; height: 40px; margin: 9px; background: #ddd }</style>
        <div id="card" draggable="true" role="button" aria-label="Card">Card</div>
        <div id="box" role="button" aria-label="Box">Box</div>
        <div id="thing" role="button" aria-label="Thing" style="position:relative">Thing</div>
        <div role="slider" aria-label="Price" aria-valuemin="0" aria-valuemax="100" aria-valuenow="20" tabindex="0"
            id="price" onkeydown="if (event.key.startsWith('Arrow')) this.ariaValueNow = +this.ariaValueNow +
            (event.key === 'ArrowRight' ? 5 : -5)">slide</div>
        <div style="width:200px"><div role="slider" aria-label="Volume" aria-valuemin="0" aria-valuemax="100"
            aria-valuenow="0" id="volume" style="width:20px;margin:0;position:relative">v</div></div>
        <p id="out">nothing</p><script>
        box.ondragover = (event) => event.preventDefault();
        box.ondrop = (event) => {
            event.preventDefault();
            out.textContent = 'dropped ' + event.dataTransfer.getData('text');
        };
        card.ondragstart = (event) => event.dataTransfer.setData('text', 'the card');
        const follow = (element, moved) => element.onmousedown = (down) => {
            document.onmousemove = (move) => moved(move.clientX - down.clientX, move.clientY - down.clientY);
            document.onmouseup = () => document.onmousemove = null;
        };
        follow(thing, (x, y) => { thing.style.top = y + 'px'; out.textContent = 'moved by ' + Math.round(y) });
        follow(volume, (x) => { volume.style.left = x + 'px'; volume.ariaValueNow = Math.round(x / 2) });
        </script>""",
}


def _basic(handler: "WildHandler") -> None:
    handler.send_response(401)
    handler.send_header("www-authenticate", 'Basic realm="Members"')
    handler.finish_with(b"<title>Members</title><h1>Members only</h1>")


def _forbidden(handler: "WildHandler") -> None:
    handler.send_response(403)
    handler.finish_with(
        b"<title>Access Denied</title><h1>Access Denied</h1><p>You don't have permission to access /forbidden "
        b"on this server.</p>Reference #18.5"
    )


def _unavailable(handler: "WildHandler") -> None:
    handler.send_response(503)
    handler.finish_with(b"<title>Down</title><h1>Come back later</h1>")


def _file(handler: "WildHandler") -> None:
    handler.send_response(200)
    handler.send_header("content-disposition", 'attachment; filename="table.csv"')
    handler.finish_with(b"a,b\n1,2\n", "text/csv")


def _pdf(handler: "WildHandler", attached: bool) -> None:
    handler.send_response(200)
    if attached:
        handler.send_header("content-disposition", 'attachment; filename="attached.pdf"')
    handler.finish_with(handler.server.pdf, "application/pdf")


def _hanging(handler: "WildHandler") -> None:
    while not handler.server.stopped:
        time.sleep(0.1)


def _redirect(handler: "WildHandler") -> None:
    handler.send_response(302)
    handler.send_header("location", handler.path)
    handler.finish_with(b"")


def _cut(handler: "WildHandler", content: bytes) -> None:
    handler.send_response(200)
    handler.send_header("content-type", "text/html")
    handler.send_header("content-length", "100000")
    handler.end_headers()
    handler.wfile.write(content)
    _empty(handler)


def _empty(handler: "WildHandler") -> None:
    handler.close_connection = True
    handler.wfile.flush()
    handler.connection.shutdown(socket.SHUT_RDWR)


TROUBLES: dict[str, Callable[["WildHandler"], None]] = {
    "/basic": _basic,
    "/forbidden": _forbidden,
    "/unavailable": _unavailable,
    "/file": _file,
    "/paper.pdf": lambda handler: _pdf(handler, attached=False),
    "/attached.pdf": lambda handler: _pdf(handler, attached=True),
    "/hanging": _hanging,
    "/loop-redirect": _redirect,
    "/cut": lambda handler: _cut(handler, b"<title>Cut</title><h1>It begins</h1><p>and then"),
    "/cut-at-once": lambda handler: _cut(handler, b" "),
    "/empty": _empty,
}


class WildHandler(website.Handler):
    """Troubles and pages."""

    def do_GET(self) -> None:  # noqa: N802, the server's name for it
        path = urlsplit(self.path).path
        if path in TROUBLES:
            TROUBLES[path](self)
        elif path in PAGES:
            self._send(PAGES[path].encode())
        else:
            super().do_GET()

    def finish_with(self, content: bytes, kind: str = "text/html") -> None:
        """The end of an answer that was begun."""
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)


def start() -> ThreadingHTTPServer:
    """Serve in a thread until `website.stop`."""
    server = website.start(handler=WildHandler)
    server.pdf = b""
    return server
