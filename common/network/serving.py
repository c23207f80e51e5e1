"""Serving an ASGI app where someone already listens: quietly, until it is told to stop."""

import socket
from typing import Any

import uvicorn


def serve_app(app: Any, listener: socket.socket) -> None:
    """Serve `app` on this listening socket until SIGINT or SIGTERM."""
    uvicorn.Server(uvicorn.Config(app, log_level="warning", access_log=False)).run(sockets=[listener])
