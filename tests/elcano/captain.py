"""Python code for processes of their own: a run's captain that gives one command to an executor, and a service."""

_CAPTAIN = """
import signal, sys
from pathlib import Path
from common import cli
from elcano.executors.executor import Command, load_executor
from elcano.resources import Resources
signal.signal(signal.SIGINT, signal.default_int_handler)  # also where the tests run in the background
def main(words):
    needs = Resources(partition="{partition}", num_nodes={num_nodes})
    load_executor("{executor}").run(Command(words[1:], Path(words[0])), needs)
sys.exit(cli.guarded(main, sys.argv[1:]))
"""
SERVES = """
import sys
from http.server import HTTPServer, SimpleHTTPRequestHandler
from common.processes import listen
server = HTTPServer(("", 0), SimpleHTTPRequestHandler, bind_and_activate=False)
server.socket = listen(int(sys.argv[2]), sys.argv[1])
server.serve_forever()
"""
"""Of an address and a port."""


def captain(executor: str, partition: str = "", num_nodes: int = 1) -> str:
    """Of a log and a command's words."""
    return _CAPTAIN.format(executor=executor, partition=partition, num_nodes=num_nodes)
