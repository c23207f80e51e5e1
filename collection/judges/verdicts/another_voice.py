"""Signs that a judge's reply is not, or not to its end, in the judge's own voice.

A quotation that is not closed, thoughts that did not end, the turn of somebody else.
"""

import re

_TURN = re.compile(
    r"<\|[^|\n]{0,40}\|?>|</?s>|\[/?INST\]|<(?:start|end)_of_\w+>"
    r"|^\W*(?:system|user|assistant|human|developer)\b\W*(?::|$)",
    re.IGNORECASE | re.MULTILINE,
)
_TAG = re.compile(r"<(/?)([a-z][\w-]*)(?: [^<>\n]*)?>", re.IGNORECASE)
_FENCE = re.compile(r"^\s*(?:```|~~~)", re.MULTILINE)
_PAIRS = ("“”", "«»", "「」", "『』", "‹›")
_SPEECH = (
    r"says?|said|claim|wr[io]t|reads?|answer|repl|report|stat|respon|message|quot|ends?|ended|conclu|output|t[eo]l[dl]"
)
_SPEAKERS = "agent|assistant|student|user|page|site|banner|text"
_INTRODUCED = re.compile(
    rf"\b(?:{_SPEECH}|{_SPEAKERS})\w*[^\n:]{{0,30}}:[*_]*(?:[ \t]+(?![\"'“«‘`])|[ \t]*\n(?!\s*(?:[-*•]|\d+[.)])\s))",
    re.IGNORECASE,
)
_SINGLE_OPENED = re.compile(r"(?<![\w'])'(?=\w)|‘")
_SINGLE_CLOSED = re.compile(r"(?<=[^\s'])'(?!\w)|’(?!\w)")


def spoken(text: str) -> str | None:
    """A reply without the thoughts before it, `<think>...</think>`; None when they do not end, or begin again."""
    text = text.replace("\r\n", "\n").strip(" \t\n")
    if "<think>" in text[1:] or text.count("</think>") > 1:
        return None
    thoughts, ended, said = text.partition("</think>")
    if text.startswith("<think>") and not ended:
        return None
    return (said if ended else thoughts).strip(" \t\n")


def is_open(text: str) -> bool:
    """Whether a quotation, a block of code or a tag is still open at the end, or another turn has begun before it."""
    if _TURN.search(text) or text.count('"') % 2 or len(_FENCE.findall(text)) % 2:
        return True
    if any(text.count(opened) > text.count(closed) for opened, closed in _PAIRS):
        return True
    if len(_SINGLE_OPENED.findall(text)) > len(_SINGLE_CLOSED.findall(text)):
        return True
    tags = [(name.lower(), bool(closing)) for closing, name in _TAG.findall(text)]
    return any(tags.count((name, False)) > tags.count((name, True)) for name in {name for name, _ in tags})


def introduces_words(text: str) -> bool:
    """Whether a colon in it introduces words of somebody that no quotation marks enclose, so that nobody knows where
    they end."""
    return _INTRODUCED.search(text) is not None
