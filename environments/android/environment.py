"""A device as an environment: an episode begins on its home screen or in an app, and is observed when it rests."""

import asyncio
import base64
import contextlib
import time
from collections.abc import Iterator
from typing import Any, Protocol

from data.actions.point_action import AnyAction
from data.task import Task
from data.trajectory import FINAL_SCREEN
from environments.android.acting import act
from environments.android.device import AndroidDevice
from environments.android.tree import tree_of
from environments.environment import Environment, Observation
from environments.faults import DeviceError

APP = "android://"
"""Tasks begin at `android://` with the package of an app, or `home`; or at any address that some app opens."""
HOME = f"{APP}home"
QUIET_S = 0.3  # between two screenshots that are to be the same
SETTLE_S = 4.0  # what moves for longer, as a video does, is shown as it is


class Lease(Protocol):
    """A device that nobody else has until it is given back."""

    device: AndroidDevice
    described: dict[str, Any]

    async def restore(self) -> None:
        """Put it back to how episodes begin."""
        ...

    async def give_back(self, fault: DeviceError | None) -> None:
        """The next one may have it; after a fault once it was found to be well, or replaced."""
        ...


class AndroidEnvironment(Environment):
    """`with_tree`: the elements of the screen are read as well."""

    def __init__(self, lease: Lease, with_tree: bool):
        self._lease, self._with_tree = lease, with_tree
        self._device = lease.device
        self._seen: Observation | None = None
        self._fault: DeviceError | None = None
        self._is_closed = False

    async def reset(self, task: Task, seed: int | None = None) -> None:
        with self._noting():
            await self._lease.restore()
            await self._device.key("home")
            place = task.web.removeprefix(APP)
            if place == task.web:
                await self._device.view(task.web)
            elif place.strip("/") not in ("", "home"):
                await self._device.start(place.strip("/"))

    async def observe(self) -> Observation:
        with self._noting():
            self._device.check_held()
            png = await self._settled()
            elements = await self._device.tree() if self._with_tree else []
            front = await self._device.front()
        tree, nodes = tree_of(elements)
        note = "The elements of the screen cannot be read while it moves." if self._with_tree and not elements else ""
        self._seen = Observation(
            url=APP + (front or "home"),
            tree=tree,
            nodes=nodes,
            screenshot_base64=base64.b64encode(png).decode(),
            viewport=self._device.size,
            note=note,
        )
        return self._seen

    async def act(self, action: AnyAction) -> str:
        if self._seen is None:
            raise ValueError("an action refers to what was observed last: call reset, then observe")
        with self._noting():
            return await act(self._device, action, self._seen)

    async def final_state(self) -> dict[str, Any]:
        """The app in front and what an app tells, for ground truth; the screen after the last action, for judges."""
        with self._noting():
            self._device.check_held()
            png = base64.b64encode(await self._settled()).decode()
            state = {"front": await self._device.front(), **await self._device.state()}
        return {"final_state": state, FINAL_SCREEN: {"png": png}}

    async def close(self) -> None:
        if not self._is_closed:
            self._is_closed = True
            await self._lease.give_back(self._fault)

    @property
    def provenance(self) -> dict[str, Any]:
        return {"device": {**self._lease.described, "hierarchy": self._with_tree}}

    @property
    def dead_host(self) -> object | None:
        return self._device if self._fault is not None else None

    @contextlib.contextmanager
    def _noting(self) -> Iterator[None]:
        try:
            yield
        except DeviceError as error:
            self._fault = error
            raise

    async def _settled(self) -> bytes:
        """A screenshot of the device at rest, or as it is when that takes too long."""
        end = time.monotonic() + SETTLE_S
        before, now = b"", await self._device.screenshot()
        while now != before and time.monotonic() < end:
            await asyncio.sleep(QUIET_S)
            before, now = now, await self._device.screenshot()
        return now
