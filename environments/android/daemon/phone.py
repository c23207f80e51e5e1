"""What the daemon stands in front of: a touch screen, and, where there are any, apps by their package."""

from typing import Any, Protocol, runtime_checkable

from environments.touch.screen import TouchScreen


@runtime_checkable
class Apps(Protocol):
    """What a screen may know beside `TouchScreen`."""

    def packages(self) -> list[str]:
        """Names of all apps, such as `org.elcano.clock`."""
        ...

    async def front(self) -> str:
        """The package of the app in front."""
        ...

    async def start(self, package: str) -> None:
        """Bring an app to the front."""
        ...

    async def clear(self, package: str) -> None:
        """Back to what it was when it was installed."""
        ...

    async def view(self, url: str) -> None:
        """Open an address in the app that is for it."""
        ...

    async def state(self) -> dict[str, Any] | None:
        """What the ground truth of tasks looks at; None: nobody is told."""
        ...

    async def revive(self) -> None:
        """After a fault of the screen: begin a new one, if it is gone."""
        ...


class NoApps:
    """Of a screen that has none."""

    def packages(self) -> list[str]:
        return []

    async def front(self) -> str:
        return "none"

    async def start(self, package: str) -> None:
        raise KeyError(package)

    async def clear(self, package: str) -> None:
        raise KeyError(package)

    async def view(self, url: str) -> None:
        raise KeyError(url)

    async def state(self) -> dict[str, Any] | None:
        return None

    async def revive(self) -> None:
        return None


def apps_of(screen: TouchScreen) -> Apps:
    """Those of the screen, if it has any."""
    return screen if isinstance(screen, Apps) else NoApps()
