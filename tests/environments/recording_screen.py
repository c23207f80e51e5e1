"""A touch screen that writes down what is done to it, and two apps on it."""

import io

from PIL import Image

from environments.touch.screen import Element, Key

SIZE = (412, 915)


class RecordingScreen:
    """As `TouchScreen` and `Apps`. Its color tells how often it was touched."""

    def __init__(self) -> None:
        self.done: list[tuple] = []
        self.app = "org.elcano.home"
        self.text = ""
        self.fault: Exception | None = None

    @property
    def size(self) -> tuple[int, int]:
        return SIZE

    async def screenshot(self) -> bytes:
        if self.fault is not None:
            raise self.fault
        picture = io.BytesIO()
        Image.new("RGB", SIZE, (len(self.done), 0, 99)).save(picture, "PNG")
        return picture.getvalue()

    async def tap(self, x: float, y: float) -> None:
        self.done.append(("tap", x, y))

    async def swipe(self, x1: float, y1: float, x2: float, y2: float, ms: int = 300) -> None:
        self.done.append(("swipe", x1, y1, x2, y2, ms))

    async def type(self, text: str) -> None:
        self.done.append(("type", text))
        self.text += text

    async def key(self, key: Key) -> None:
        self.done.append(("key", key))

    async def tree(self) -> list[Element]:
        return [
            Element("button", 'Save "all" & <go>', (10, 20, 110, 60), is_clickable=True),
            Element("textbox", self.text, (10, 80, 400, 120), "Name", is_clickable=True, is_editable=True),
            Element("switch", "Wi-Fi", (10, 140, 400, 180), is_clickable=True, is_checked=True),
        ]

    def packages(self) -> list[str]:
        return ["org.elcano.clock", "org.elcano.home"]

    async def front(self) -> str:
        return self.app

    async def start(self, package: str) -> None:
        self.done.append(("start", package))
        self.app = package

    async def clear(self, package: str) -> None:
        self.done.append(("clear", package))

    async def state(self) -> dict:
        return {"text": self.text}

    async def revive(self) -> None:
        self.done.append(("revive",))

    async def view(self, url: str) -> None:
        self.done.append(("view", url))
