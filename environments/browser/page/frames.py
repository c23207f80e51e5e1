"""The frames of a tab, followed by DevTools events: which there are, what contains them, and who draws them.

A frame of another site may be drawn by a process of its own. It is then a DevTools target with its own session,
attached by `Target.setAutoAttach`; boxes and node ids of such frames are that process's.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

MAX_FRAMES = 20  # a page of advertisements has more; those that come last are left out


@dataclass(frozen=True)
class Frame:
    """`parent_id` is "" for the main frame; `session_id` is that of the process which draws it."""

    id: str
    parent_id: str
    session_id: str


class Frames:
    """Main frame first, then the others in the order they appeared."""

    def __init__(self, main_frame: str, session_id: str):
        self.main = Frame(main_frame, "", session_id)
        self._frames = {main_frame: self.main}
        self.owners: dict[str, int] = {}  # backend node ids of the <iframe>s, by frame, as far as they were asked for

    def __iter__(self) -> Iterator[Frame]:
        return iter(list(self._frames.values())[:MAX_FRAMES])

    def get(self, frame_id: str) -> Frame | None:
        """The frame, or None when it is gone."""
        return self._frames.get(frame_id)

    def outermost(self, frame: Frame) -> Frame:
        """Of those that the same process draws around the frame; its id is that of the process's DevTools target."""
        around = self.get(frame.parent_id)
        return self.outermost(around) if around and around.session_id == frame.session_id else frame

    def take(self, session_id: str, method: str, params: dict[str, Any]) -> None:
        """One event of a session; those that say nothing about frames are ignored."""
        if method == "Page.frameAttached":
            self._put(params["frameId"], params["parentFrameId"], session_id)
        elif method == "Page.frameNavigated":
            frame = params["frame"]
            self._drop_inside(frame["id"])
            if frame["id"] != self.main.id:
                self._put(frame["id"], frame.get("parentId", ""), session_id)
        elif (
            method == "Page.frameDetached" and params["reason"] == "remove"
        ):  # the other reason: another process takes it
            self._drop(params["frameId"])
        elif method == "Target.attachedToTarget" and params["targetInfo"]["type"] == "iframe":
            target = params["targetInfo"]
            self._put(target["targetId"], target.get("parentFrameId", ""), params["sessionId"])
        elif method == "Target.detachedFromTarget":
            for frame in list(self._frames.values()):
                if frame.session_id == params["sessionId"]:
                    self._drop(frame.id)

    def _put(self, frame_id: str, parent_id: str, session_id: str) -> None:
        known = self._frames.get(frame_id)
        parent_id = parent_id or (known.parent_id if known else self.main.id)
        self._frames[frame_id] = Frame(frame_id, parent_id, session_id)

    def _drop(self, frame_id: str) -> None:
        self._drop_inside(frame_id)
        if frame_id != self.main.id:
            self._frames.pop(frame_id, None)
            self.owners.pop(frame_id, None)

    def _drop_inside(self, frame_id: str) -> None:
        for frame in list(self._frames.values()):
            if frame.parent_id == frame_id:
                self._drop(frame.id)
