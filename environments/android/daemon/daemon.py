"""The daemon: listens for clients of adb, and serves one touch screen to all of them."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Sequence

from common.processes import listen
from environments.android.daemon.commands import PROPERTIES, Device
from environments.android.daemon.connection import Connection
from environments.android.daemon.keys import PublicKey
from environments.android.daemon.services import FEATURES, Services
from environments.touch.screen import TouchScreen


@contextlib.asynccontextmanager
async def daemon(
    screen: TouchScreen, keys: Sequence[PublicKey] | None = None, port: int = 0, host: str = "127.0.0.1"
) -> AsyncIterator[int]:
    """Offers the screen until the block ends; gives the port.

    Args:
        keys: of clients that may connect; None: all may.

    Raises:
        UserError: the port is taken.
    """
    services = Services(Device(screen))
    names = ("ro.product.name", "ro.product.model", "ro.product.device")
    said = "".join(f"{name}={PROPERTIES[name].replace(' ', '_')};" for name in names)
    banner = f"device::{said}features={FEATURES}"
    clients: set[asyncio.Task[None]] = set()

    def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.ensure_future(Connection(reader, writer, services, banner, keys).run())
        clients.add(task)
        task.add_done_callback(clients.discard)

    server = await asyncio.start_server(accept, sock=listen(port, host))
    try:
        yield server.sockets[0].getsockname()[1]
    finally:
        server.close()
        for client in clients:
            client.cancel()
        await asyncio.gather(*clients, return_exceptions=True)
