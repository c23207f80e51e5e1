"""What inputs of dates, times, numbers and colors take, and the same out of how people write it, if that is certain."""

import re
from datetime import date, datetime

_DAYS = (
    "%Y-%m-%d", "%Y/%m/%d", "%Y.%m.%d", "%B %d, %Y", "%b %d, %Y", "%B %d %Y", "%b %d %Y",
    "%d %B %Y", "%d %b %Y", "%d %B, %Y", "%d %b, %Y", "%d-%b-%Y", "%A, %B %d, %Y", "%a, %b %d, %Y",
)  # fmt: skip
_TIMES = ("%H:%M", "%H:%M:%S", "%I:%M %p", "%I:%M%p", "%I:%M:%S %p", "%I %p", "%I%p", "%H.%M")
_MONTHS = ("%Y-%m", "%Y/%m", "%m/%Y", "%B %Y", "%b %Y", "%B, %Y", "%b, %Y")
_FORMATS = {
    "date": "YYYY-MM-DD, such as 2026-12-25",
    "time": "HH:MM of 24 hours, such as 15:30",
    "datetime-local": "YYYY-MM-DDTHH:MM, such as 2026-12-25T15:30",
    "month": "YYYY-MM, such as 2026-12",
    "week": "YYYY-Www, such as 2026-W52",
    "color": "#rrggbb, such as #ff8800",
    "range": "a number, such as 12",
    "number": "a number, such as 12",
}
_COLORS = {
    "black": "#000000", "white": "#ffffff", "red": "#ff0000", "lime": "#00ff00", "green": "#008000", "blue": "#0000ff",
    "yellow": "#ffff00", "cyan": "#00ffff", "magenta": "#ff00ff", "orange": "#ffa500", "purple": "#800080",
    "gray": "#808080", "grey": "#808080", "silver": "#c0c0c0", "maroon": "#800000", "navy": "#000080",
    "teal": "#008080", "olive": "#808000", "pink": "#ffc0cb", "brown": "#a52a2a",
}  # fmt: skip


def format_of(kind: str) -> str:
    """What an `<input type=kind>` takes, for a sentence; "" where it takes any text."""
    return _FORMATS.get(kind, "")


def convert(kind: str, text: str) -> str | None:
    """The value that such an input takes for what the text says; None where it says nothing certain, as 03/04/2026
    does, which is two days. An empty text empties the input."""
    words = " ".join(text.split())
    if not words:
        return "" if kind not in ("color", "range") else None
    match kind:
        case "date":
            return _day(words)
        case "time":
            return _time(words)
        case "datetime-local":
            return _moment(words)
        case "month":
            found = _parse(words, _MONTHS)
            return f"{found:%Y-%m}" if found else None
        case "week":
            return _week(words)
        case "color":
            return _color(words)
        case "number" | "range":
            return _number(words)
        case _:
            return text


def _parse(words: str, formats: tuple[str, ...]) -> datetime | None:
    for form in formats:
        try:
            return datetime.strptime(words, form)
        except ValueError:
            continue
    return None


def _day(words: str) -> str | None:
    words = re.sub(r"(\d)(?:st|nd|rd|th)\b", r"\1", words, flags=re.IGNORECASE)
    if found := _parse(words, _DAYS):
        return f"{found.year:04}-{found.month:02}-{found.day:02}"
    if match := re.fullmatch(r"(\d{1,2})[./-](\d{1,2})[./-](\d{4})", words):
        one, other, year = map(int, match.groups())
        days = {day for month, number in ((one, other), (other, one)) if (day := _date(year, month, number))}
        return days.pop() if len(days) == 1 else None
    return None


def _date(year: int, month: int, day: int) -> str | None:
    try:
        return date(year, month, day).isoformat()
    except ValueError:
        return None


def _time(words: str) -> str | None:
    plain = re.sub(r"([ap])\.\s?m\.?", r"\1m", words, flags=re.IGNORECASE).upper()
    found = _parse({"NOON": "12:00", "MIDNIGHT": "00:00"}.get(plain, plain), _TIMES)
    if found is None:
        return None
    return f"{found:%H:%M:%S}" if found.second else f"{found:%H:%M}"


def _moment(words: str) -> str | None:
    """Every way to cut the words into a day and a time."""
    for match in re.finditer(r"T|, | at | ", words):
        day, time = _day(words[: match.start()].rstrip(",")), _time(words[match.end() :].strip())
        if day and time:
            return f"{day}T{time}"
    return None


def _week(words: str) -> str | None:
    if match := re.fullmatch(r"(\d{4})-?W(\d{1,2})", words, re.IGNORECASE):
        return f"{match[1]}-W{int(match[2]):02}"
    if match := re.fullmatch(r"week (\d{1,2})(?: of|,)? (\d{4})", words, re.IGNORECASE):
        return f"{match[2]}-W{int(match[1]):02}"
    return None


def _color(words: str) -> str | None:
    plain = words.lower()
    if match := re.fullmatch(r"#?([0-9a-f]{6})", plain):
        return f"#{match[1]}"
    if match := re.fullmatch(r"#([0-9a-f])([0-9a-f])([0-9a-f])", plain):
        return "#" + "".join(digit * 2 for digit in match.groups())
    if match := re.fullmatch(r"rgb\(\s*(\d{1,3})\s*,\s*(\d{1,3})\s*,\s*(\d{1,3})\s*\)", plain):
        parts = [int(part) for part in match.groups()]
        return "#" + "".join(f"{part:02x}" for part in parts) if max(parts) < 256 else None
    return _COLORS.get(plain)


def _number(words: str) -> str | None:
    plain = words.replace(",", "") if re.fullmatch(r"[-+]?\d{1,3}(,\d{3})+(\.\d+)?", words) else words
    return plain if re.fullmatch(r"[-+]?(\d+(\.\d*)?|\.\d+)(e[-+]?\d+)?", plain, re.IGNORECASE) else None
