"""adbutils' client of a server of adb that runs; where it does not, adbutils would start one that outlives us."""

import socket

from adbutils import AdbClient, AdbConnection


class _Connection(AdbConnection):
    def _safe_connect(self) -> socket.socket:
        return self._create_socket()


class Client(AdbClient):
    """Its calls raise AdbError where no server answers."""

    def __init__(self, host: str, port: int):
        super().__init__(host, port)

    def make_connection(self, timeout: float | None = None) -> AdbConnection:
        connection = _Connection(self.host, self.port)
        if timeout:
            connection.conn.settimeout(timeout)
        return connection
