"""Signs that a judge's reply is not, or not to its end, in the judge's own voice.

A quotation that is not closed, thoughts that did not end, the turn of somebody else, letters that are not what they
look like. Who is in doubt asks again, which costs one request.
"""

import re
import unicodedata
from collections import Counter

from collection.judges.verdicts.fence import UNSEEN

_TURN = re.compile(
    r"<\|[^|\n]{0,40}\|?>|</?s>|\[/?(?:INST|THINK)\]|<<SYS>>|◁/?think▷|<(?:start|end)_of_\w+>"
    r"|^\W*(?:system|user|assistant|human|developer|tool|analysis|thinking|instruction)\b(?:\]|\W*(?::|$))",
    re.IGNORECASE | re.MULTILINE,
)
_TAG = re.compile(r"<(/?)([a-z][\w:-]*)(?: [^<>\n]*)?>", re.IGNORECASE)
_FENCE = re.compile(r"^\s*(?:```|~~~)", re.MULTILINE)
_MARKS = re.compile(r"`+|''+|~~+|\$\$|\*\*+")
_PAIRS = ("“”", "«»", "‹›", "「」", "『』", "()", "[]", "{}", "【】", ("<!--", "-->"), ("\\begin{", "\\end{"))
_EVEN = ("＂", "″", "„“”‟", "〝〞〟", "«»", "‹›")  # some languages have them the other way round
_LAZY = re.compile(r"\s*[>|]")  # a quotation goes on in the next line in Markdown, with or without its mark
_SPEECH = (
    r"says?|said|claim|wr[io]t|reads?|answer|repl|report|stat|respon|message|quot|ends?|ended|conclu|output|t[eo]l[dl]"
)
_SPEAKERS = "agent|assistant|student|user|page|site|banner|text"
_OF_OTHERS = rf"\b(?:{_SPEECH}|{_SPEAKERS})\w*"
_INTRODUCED = re.compile(
    rf"(?:{_OF_OTHERS}[^\n:]{{0,30}}:|[^\x00-\x7f][^\n:]{{0,30}}:|：)[*_]*"
    r"(?:[ \t]*(?![ \t\"'“«‘`\n])|[ \t]*\n(?!\s*(?:[-*•]|\d+[.)])\s))",
    re.IGNORECASE,
)
_HEADING = re.compile(rf"^(?!\s*(?:[-*•|]|\d+[.)])\s)[^\n]*{_OF_OTHERS}[^\n.!?]*$", re.IGNORECASE | re.MULTILINE)
_ANNOUNCED = re.compile(
    r"\b(?:below|verbatim|the following|follows)\b|\b(?:quote|(?:this|these|last|final) (?:line|word)s?)\b[^.!?]*\W*\Z",
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


def may_quote(reasons: str) -> bool:
    """Whether what comes after these reasons may be words of somebody else, or the reasons other than they look."""
    last_line = reasons.rpartition("\n")[2]
    return (
        any(mark.search(reasons) for mark in (UNSEEN, _INTRODUCED, _HEADING, _ANNOUNCED))
        or _LAZY.match(last_line) is not None
        or any(count % 2 for count in Counter(_MARKS.findall(reasons)).values())
        or any(sum(map(reasons.count, group)) % 2 for group in _EVEN)
        or any(len(_alphabets(word)) > 1 for word in re.findall(r"[^\W\d_]+", reasons))
    )


def _alphabets(word: str) -> set[str]:
    """Which of the alphabets with letters that look alike a word is written in."""
    return {unicodedata.name(letter, "").partition(" ")[0] for letter in word} & {"LATIN", "CYRILLIC", "GREEK"}
