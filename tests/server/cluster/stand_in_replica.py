"""A replica without a model, as a process: its weights version is what the file `version` in its folder says.

    python stand_in_replica.py STATE [flags] --model_name_or_path FOLDER

A POST to /stream is answered by one event, and nothing more. While STATE holds a file `refuse` it has no memory for a
reload, while it holds `status` that is its health, while it holds `health` that is all that it says of its health, and
one that begins while it holds `silent` never answers.
"""

import json
import sys
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

state, folder = Path(sys.argv[1]), Path(sys.argv[-1])
version = (folder / "version").read_text()
silent = (state / "silent").exists()


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        if silent:
            time.sleep(600)
        if (state / "health").exists():
            return self.answer(json.loads((state / "health").read_text()))
        health = (state / "status").read_text() if (state / "status").exists() else "ok"
        counts = dict.fromkeys(("num_waiting", "num_running", "num_finished"), 0)
        self.answer({"status": health, "weights_version": version, **counts}, 200 if health == "ok" else 503)

    def do_POST(self) -> None:
        global version
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        if self.path == "/reload":
            if (state / "refuse").exists():
                return self.answer({}, 503)
            version = (Path(body["model_name_or_path"]) / "version").read_text()
        if self.path == "/stream":
            self.send_response(200)
            self.send_header("content-type", "text/event-stream")
            self.send_header("transfer-encoding", "chunked")
            self.end_headers()
            self.wfile.write(b"9\r\ndata: 1\n\n\r\n")
            self.wfile.flush()
            time.sleep(600)
        heard = {"content_type": self.headers["content-type"]} if self.path == "/predict" else {}
        self.answer({"weights_version": version, **heard})

    def answer(self, body: object, status: int = 200) -> None:
        content = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("content-length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_: object) -> None:
        pass


server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
print(f"serving {folder} on http://127.0.0.1:{server.server_port}", flush=True)
server.serve_forever()
