"""A device as a touch screen: what is done to it are commands of its shell. Also its apps, and the lock that a run has
on it."""

import base64
import re
import shlex
from typing import Any

from common.errors import UserError
from common.files import parse_json
from data.actions.screen import png_size
from environments.android.adb import Adb, Held
from environments.android.hierarchy import read_hierarchy
from environments.faults import DeviceError, PageError
from environments.touch.screen import Element, Key

_PNG, _PNG_END = b"\x89PNG\r\n\x1a\n", b"IEND\xaeB`\x82"
_KEYCODES: dict[Key, str] = {"home": "KEYCODE_HOME", "back": "KEYCODE_BACK", "enter": "KEYCODE_ENTER"}
_DUMPED = "/sdcard/elcano.xml"
_FOCUS = re.compile(r"mCurrentFocus=Window\{\S+ \S+ ([^\s/}]+)")
_UNICODE_KEYBOARD = "com.android.adbkeyboard"
DUMP_TIMEOUT_S = 30.0
_KEYS_AT_ONCE = 100  # a shell takes a line of some thousand characters, and a device some milliseconds for a key
_TYPED_AT_ONCE = 300
_FAILED = re.compile(r"^(?:Error|\*\*)", re.MULTILINE)  # also with exit code 0
STATE = "content://org.elcano.state"
HELD, TAKEN = "held", "1taken"
LOCK = f"exec 8>/data/local/tmp/elcano.lock; flock -n 9 9>&8 && echo {HELD} && cat || echo $?taken"
"""Whoever holds the file's lock has the device; it ends with the connection, whatever becomes of us. The exit code is 1
where another has the lock, and 127 where there is no `flock`. Android's shell, mksh, keeps what `exec` opened to
itself: `flock` is given it by another number."""


class AndroidDevice:
    """As `TouchScreen`, of the device with this serial."""

    def __init__(self, adb: Adb, serial: str):
        self._adb, self.serial = adb, serial
        self._size = (0, 0)
        self._held: Held | None = None

    @property
    def size(self) -> tuple[int, int]:
        """Of the newest screenshot: a device may be turned."""
        return self._size

    async def screenshot(self) -> bytes:
        said = await self._do("screencap", "-p")
        start, end = said.find(_PNG), said.rfind(_PNG_END)  # devices with several displays warn before it
        if start < 0 or end < start:
            raise DeviceError(f"{self.serial}: screencap gave no whole PNG but {len(said)} bytes, {said[:80]!r}")
        png = said[start : end + len(_PNG_END)]
        self._size = png_size(png)
        return png

    async def tap(self, x: float, y: float) -> None:
        await self._do("input", "tap", *_pixels(x, y))

    async def swipe(self, x1: float, y1: float, x2: float, y2: float, ms: int = 300) -> None:
        await self._do("input", "swipe", *_pixels(x1, y1, x2, y2), str(ms))

    async def type(self, text: str) -> None:
        """By key events where there are some for every character; else by ADBKeyboard, see `types_anything`."""
        for number, line in enumerate(re.split(r"\r\n?|\n", text)):
            if number:
                await self.key("enter")
            for part in _pieces(line):
                if has_keys(line):
                    await self._do("input", "text", part.replace(" ", "%s"))
                else:
                    coded = base64.b64encode(part.encode()).decode()
                    await self._do("am", "broadcast", "-a", "ADB_INPUT_B64", "--es", "msg", coded)

    async def key(self, key: Key) -> None:
        await self._do("input", "keyevent", _KEYCODES[key])

    async def tree(self) -> list[Element]:
        """Empty where the device cannot tell while something on it moves."""
        line = f"uiautomator dump {_DUMPED} >/dev/null && cat {_DUMPED}; rm -f {_DUMPED}"
        said = await self._adb.shell(self.serial, line, DUMP_TIMEOUT_S)
        return read_hierarchy(said.out.decode(errors="replace")) if b"<hierarchy" in said.out else []

    async def types_anything(self) -> bool:
        """Whether its keyboard is ADBKeyboard, which types what no key event does."""
        said = await self._adb.shell(self.serial, "settings get secure default_input_method")
        return said.out.decode(errors="replace").startswith(_UNICODE_KEYBOARD)

    async def erase(self, count: int) -> bool:
        """So many characters before the end of the field in focus; False where the device has no such keys."""
        keys = ["KEYCODE_MOVE_END", *["KEYCODE_DEL"] * count]
        for at in range(0, len(keys), _KEYS_AT_ONCE):
            words = ["input", "keyevent", *keys[at : at + _KEYS_AT_ONCE]]
            if (await self._adb.shell(self.serial, shlex.join(words))).code:
                return False
        return True

    async def front(self) -> str:
        """The package of the app in front, "" where none is."""
        said = await self._adb.shell(self.serial, "dumpsys window | grep mCurrentFocus")
        found = _FOCUS.search(said.out.decode(errors="replace"))
        return found[1] if found else ""

    async def packages(self) -> list[str]:
        """Of all its apps."""
        said = (await self._do("pm", "list", "packages")).decode(errors="replace")
        return [line.removeprefix("package:").strip() for line in said.splitlines() if line.startswith("package:")]

    async def start(self, package: str) -> None:
        """Bring an app to the front, as its icon does; PageError where there is none."""
        await self._open(package, "monkey", "-p", package, "-c", "android.intent.category.LAUNCHER", "1")

    async def view(self, url: str) -> None:
        """Open an address in the app that is for it; PageError where there is none."""
        await self._open(url, "am", "start", "-a", "android.intent.action.VIEW", "-d", url)

    async def clear(self, package: str) -> None:
        """An app as it was when it was installed, and closed.

        Raises:
            UserError: there is no such app.
        """
        said = await self._adb.shell(self.serial, shlex.join(("pm", "clear", package)))
        if said.code or b"Failed" in said.out:
            raise UserError(f"--clear_apps {package}: {self.serial} has no such app")

    async def state(self) -> dict[str, Any]:
        """What an app of the device tells about the state of its apps, for ground truth; empty where none does."""
        said = await self._adb.shell(self.serial, f"content read --uri {STATE}")
        try:
            state = parse_json(said.out.decode())
        except (UserError, ValueError):
            return {}
        return state if isinstance(state, dict) and not said.code else {}

    async def properties(self, *names: str) -> list[str]:
        """Of its system."""
        lines = "; ".join(f"getprop {shlex.quote(name)}" for name in names)
        return (await self._adb.done(self.serial, lines)).decode(errors="replace").splitlines()

    async def lock(self) -> bool:
        """Take the device for this run; False: another has it. A device without `flock` (Android 7) is anybody's."""
        self.unlock()
        self._held = await self._adb.hold(self.serial, LOCK, (HELD, TAKEN))
        if is_taken := self._held.said == TAKEN:
            self.unlock()
        return not is_taken

    def check_held(self) -> None:
        """DeviceError where the connection broke that holds the lock: the device may have begun anew meanwhile."""
        if self._held is not None and self._held.said == HELD and not self._held.is_open:
            raise DeviceError(f"{self.serial}: was away for a moment; what was done on it may be gone")

    def unlock(self) -> None:
        """Give it back; never fails."""
        if self._held is not None:
            self._held.close()
        self._held = None

    async def _open(self, what: str, *words: str) -> None:
        said = await self._adb.shell(self.serial, shlex.join(words))
        if said.code or _FAILED.search(said.text):
            raise PageError(f"{self.serial} cannot open {what}: {said.text[-200:]}")

    async def _do(self, *words: str) -> bytes:
        return await self._adb.done(self.serial, shlex.join(words))


def has_keys(text: str) -> bool:
    """Whether there is a key event for every character. `input text` fails on others, and types nothing."""
    return re.fullmatch(r"[\t\r\n -~]*", text) is not None


def _pieces(line: str) -> list[str]:
    """What is typed at once. `%s` is how `input text` is told a space, and nothing says `%s`, which is parted."""
    parts = re.split(r"(?<=%)(?=s)", line)
    return [part[at : at + _TYPED_AT_ONCE] for part in parts for at in range(0, len(part), _TYPED_AT_ONCE)]


def _pixels(*numbers: float) -> list[str]:
    return [str(round(number)) for number in numbers]
