"""The commands of a device that clients of adb call, as they look from outside, on a touch screen."""

import asyncio
import base64
import functools
import json
import math
from collections.abc import Awaitable, Callable, Sequence

from environments.android.daemon.phone import apps_of
from environments.android.daemon.shell import FAULTS, CommandError, Streams
from environments.android.device import STATE, has_keys
from environments.android.hierarchy import write_hierarchy
from environments.touch.screen import Key, TouchScreen

MAX_FILE = 16 * 1024 * 1024
MAX_FILES = 64
KEYBOARD = "com.android.adbkeyboard/.AdbIME"  # types what no key event does
DUMPED = "/sdcard/window_dump.xml"
PROPERTIES = {
    "ro.product.model": "Touch screen",
    "ro.product.name": "elcano",
    "ro.product.device": "elcano",
    "ro.build.version.release": "14",
    "ro.build.version.sdk": "34",
    "sys.boot_completed": "1",
    "init.svc.bootanim": "stopped",
}
_OF_THE_SCREEN = ("_am", "_content", "_dumpsys", "_input", "_monkey", "_pm", "_screencap", "_uiautomator")
_KEYS: dict[str, Key] = {"3": "home", "4": "back", "66": "enter", "HOME": "home", "BACK": "back", "ENTER": "enter"}


class Device:
    """What all clients share: the screen, files that commands wrote, and locks on them."""

    def __init__(self, screen: TouchScreen):
        self.screen = screen
        self.files: dict[str, bytes] = {}
        self.locks: set[str] = set()
        self.in_use = asyncio.Lock()

    def keep(self, name: str, content: bytes) -> None:
        """Keep what a command wrote.

        Raises:
            CommandError: it is too much.
        """
        if len(content) > MAX_FILE or (name not in self.files and len(self.files) >= MAX_FILES):
            raise CommandError(f"{name}: No space left on device")
        self.files[name] = content


class Session:
    """The commands of one stream; locks that it took end with it."""

    def __init__(self, device: Device):
        self._device, self._screen = device, device.screen
        self._apps = apps_of(device.screen)
        self._held: set[str] = set()

    def close(self) -> None:
        self._device.locks -= self._held

    async def run(self, words: Sequence[str], streams: Streams) -> int:
        """Run one command; as `shell.Run`."""
        name, *arguments = words
        command = self._commands.get(name.rpartition("/")[2])
        if command is None:
            raise CommandError(f"/system/bin/sh: {name}: inaccessible or not found", 127)
        if command.__name__ not in _OF_THE_SCREEN:
            return await command(arguments, streams) or 0
        async with self._device.in_use:
            try:
                return await command(arguments, streams) or 0
            except FAULTS:
                await self._apps.revive()
                raise

    @functools.cached_property
    def _commands(self) -> dict[str, Callable[[Sequence[str], Streams], Awaitable[int | None]]]:
        return {
            "am": self._am,
            "cat": self._cat,
            "content": self._content,
            "dumpsys": self._dumpsys,
            "echo": self._echo,
            "exec": self._true,  # the shell itself keeps what it opens
            "flock": self._flock,
            "getprop": self._getprop,
            "grep": self._grep,
            "input": self._input,
            "monkey": self._monkey,
            "pm": self._pm,
            "rm": self._rm,
            "screencap": self._screencap,
            "settings": self._settings,
            "true": self._true,
            "uiautomator": self._uiautomator,
            "wm": self._wm,
        }

    async def _screencap(self, arguments: Sequence[str], streams: Streams) -> None:
        paths = [argument for argument in arguments if argument != "-p"]
        if "-p" not in arguments and not any(path.endswith(".png") for path in paths):
            raise CommandError("screencap: only PNGs are known here; give -p")
        png = await self._screen.screenshot()
        if paths:
            self._device.keep(paths[-1], png)
        else:
            await streams.out(png)

    async def _input(self, arguments: Sequence[str], streams: Streams) -> None:
        if arguments and arguments[0] in ("touchscreen", "keyboard"):
            arguments = arguments[1:]
        match arguments:
            case ["tap", x, y]:
                await self._screen.tap(*self._numbers(x, y))
            case ["swipe" | "draganddrop", x1, y1, x2, y2, *duration]:
                ms = int(self._numbers(*duration)[0]) if duration else 300
                left, top, right, bottom = self._numbers(x1, y1, x2, y2)
                await self._screen.swipe(left, top, right, bottom, ms)
            case ["text", text]:
                if not has_keys(text):
                    raise CommandError("java.lang.NullPointerException: no key event types this", 255)
                await self._screen.type(text.replace("%s", " "))
            case ["keyevent", *names] if names:
                for name in names:
                    await self._screen.key(_key(name))
            case _:
                raise CommandError(f"Error: Unknown command: {' '.join(arguments)}")

    def _numbers(self, *words: str) -> list[float]:
        try:
            numbers = [float(word) for word in words]
        except ValueError:
            numbers = [math.nan]
        if not all(map(math.isfinite, numbers)):
            raise CommandError(f"Error: Invalid arguments for command: {' '.join(words)}")
        return numbers

    async def _uiautomator(self, arguments: Sequence[str], streams: Streams) -> None:
        if not arguments or arguments[0] != "dump":
            raise CommandError("Usage: uiautomator dump [file]")
        xml = write_hierarchy(await self._screen.tree(), self._screen.size, await self._apps.front())
        path = next((argument for argument in arguments[1:] if not argument.startswith("-")), DUMPED)
        if path == "/dev/tty":
            await streams.out(xml.encode())
        else:
            self._device.keep(path, xml.encode())
        await streams.out(f"UI hierchary dumped to: {path}\n".encode())  # spelled so on devices, too

    async def _wm(self, arguments: Sequence[str], streams: Streams) -> None:
        if list(arguments) != ["size"]:
            raise CommandError("wm: only size is known here", 255)
        await streams.out("Physical size: {}x{}\n".format(*self._screen.size).encode())

    async def _dumpsys(self, arguments: Sequence[str], streams: Streams) -> None:
        match arguments:
            case ["window", *_]:
                front = await self._apps.front()
                await streams.out(f"  mCurrentFocus=Window{{0 u0 {front}/{front}.Main}}\n".encode())
            case ["display"]:
                await streams.out(b"  mViewports=[DisplayViewport{orientation=0}]\n")
            case _:
                raise CommandError(f"Can't find service: {' '.join(arguments)}")

    async def _content(self, arguments: Sequence[str], streams: Streams) -> None:
        """The state of the apps, as a provider of content would tell it."""
        state = await self._apps.state() if list(arguments) == ["read", "--uri", STATE] else None
        if state is None:
            raise CommandError(f"[ERROR] Could not find provider: {' '.join(arguments[2:])}")
        await streams.out(json.dumps(state).encode())

    async def _getprop(self, arguments: Sequence[str], streams: Streams) -> None:
        said = [PROPERTIES.get(name, "") for name in arguments]
        said = said or [f"[{name}]: [{value}]" for name, value in PROPERTIES.items()]
        await streams.out("".join(f"{line}\n" for line in said).encode())

    async def _am(self, arguments: Sequence[str], streams: Streams) -> None:
        match arguments:
            case ["start" | "start-activity", *options]:
                await self._start(_options(options), streams)
            case ["broadcast", *options] if _options(options).get("-a") == "ADB_INPUT_B64":
                await self._screen.type(self._decoded(_options(options).get("--es", ""), options[-1]))
                await streams.out(b"Broadcast completed: result=0\n")
            case ["force-stop", package]:
                self._check(package)  # an app in front of nobody does nothing here
            case _:
                raise CommandError(f"Unknown command: {' '.join(arguments)}", 255)

    def _decoded(self, name: str, text: str) -> str:
        """What ADBKeyboard is told to type."""
        try:
            return base64.b64decode(text, validate=True).decode() if name == "msg" else ""
        except ValueError:
            raise CommandError("Error: no text in base64") from None

    async def _settings(self, arguments: Sequence[str], streams: Streams) -> None:
        known = list(arguments) == ["get", "secure", "default_input_method"]
        await streams.out(f"{KEYBOARD if known else 'null'}\n".encode())

    async def _start(self, options: dict[str, str], streams: Streams) -> None:
        package = options.get("-n", "").partition("/")[0] or options.get("-p", "")
        await streams.out(f"Starting: Intent {{ {package or options.get('-d', '')} }}\n".encode())
        if package:
            self._check(package)
            await self._apps.start(package)
        elif "-d" in options:
            try:
                await self._apps.view(options["-d"])
            except KeyError:
                raise CommandError("Error: Activity not started, unable to resolve Intent") from None
        else:
            raise CommandError("Error: Intent has no component and no data")

    async def _monkey(self, arguments: Sequence[str], streams: Streams) -> None:
        package = _options(arguments).get("-p", "")
        if package not in self._apps.packages():
            raise CommandError("** No activities found to run, monkey aborted.", 252)
        await self._apps.start(package)
        await streams.out(b"Events injected: 1\n")

    async def _pm(self, arguments: Sequence[str], streams: Streams) -> None:
        match arguments:
            case ["list", "packages", *_]:
                await streams.out("".join(f"package:{name}\n" for name in self._apps.packages()).encode())
            case ["clear", package]:
                if package not in self._apps.packages():
                    await streams.out(b"Failed\n")
                    raise CommandError(f"no such package: {package}")
                await self._apps.clear(package)
                await streams.out(b"Success\n")
            case _:
                raise CommandError(f"Unknown command: {' '.join(arguments)}", 255)

    def _check(self, package: str) -> None:
        if package not in self._apps.packages():
            raise CommandError(f"Error type 3\nError: Activity class {{{package}}} does not exist.")

    async def _cat(self, arguments: Sequence[str], streams: Streams) -> None:
        for name in arguments:
            if name not in self._device.files:
                raise CommandError(f"cat: {name}: No such file or directory")
            await streams.out(self._device.files[name])
        while not arguments and (data := await streams.read()):
            await streams.out(data)

    async def _rm(self, arguments: Sequence[str], streams: Streams) -> None:
        for name in arguments:
            if not name.startswith("-") and self._device.files.pop(name, None) is None and "-f" not in arguments:
                raise CommandError(f"rm: {name}: No such file or directory")

    async def _echo(self, arguments: Sequence[str], streams: Streams) -> None:
        await streams.out((" ".join(arguments) + "\n").encode())

    async def _grep(self, arguments: Sequence[str], streams: Streams) -> int:
        wanted = arguments[-1].encode() if arguments else b""
        found = False
        while data := await streams.read():
            lines = [line for line in data.splitlines(keepends=True) if wanted in line]
            found = found or bool(lines)
            await streams.out(b"".join(lines))
        return 0 if found else 1

    async def _flock(self, arguments: Sequence[str], streams: Streams) -> int:
        """Of a file that is open by this number, without waiting."""
        name = streams.files.get(arguments[-1] if arguments else "")
        if not name or "-n" not in arguments:
            raise CommandError("flock: give -n and the number of an open file")
        if name in self._device.locks:
            return 1
        self._device.locks.add(name)
        self._held.add(name)
        return 0

    async def _true(self, arguments: Sequence[str], streams: Streams) -> None:
        return None


def _key(name: str) -> Key:
    key = _KEYS.get(name.removeprefix("KEYCODE_"))
    if key is None:
        raise CommandError(f"Error: {name} is no key of this screen")
    return key


def _options(words: Sequence[str]) -> dict[str, str]:
    """Those that begin with a dash, each with the word behind it."""
    return {word: after for word, after in zip(words, [*words[1:], ""], strict=True) if word.startswith("-")}
