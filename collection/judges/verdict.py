"""Reading what a judge wrote. Strict: a reply that does not say one thing clearly gives None, and is asked for again.

The published parsers look for the substrings "NOT SUCCESS" and "SUCCESS", so "UNSUCCESSFUL", "NOT A SUCCESS" and "a
SUCCESS only if" all count as success, and an empty reply as failure. `tests/collection/test_verdict.py` is the table.
"""

import re
from collections.abc import Iterator

from data.outcome import Verdict

_MARKUP = re.compile(r"[*`#>~\"“”«»{}\[\]()]|(?<=\w)[_](?=\w)")
_QUOTED = re.compile(r"[\"“«](?:[^\"“”«»\s]+\s+){2,}[^\"“”«»\s]+[\"”»]")  # three words or more: somebody else's
_SENTENCE_END = re.compile(r"[.!?;](?=\s|$)|\n")
_NEGATION = r"not|n't|n’t|cannot|never|no|non|neither|without|nor|far from|short of|lacks?|fails? to be|failed to be"
_NEGATED = re.compile(rf"(?:\b|(?<=\w))(?:{_NEGATION})\b(?:[\s-]+[\w'’-]+){{0,4}}[\s-]*$", re.IGNORECASE)
_HYPOTHETICAL = re.compile(
    r"\b(?:if|would|could|should|unless|whether|might|may|when|until|once|had)\b|\bonly\b|\bcriteri|\?\s*$"
    r"|\brate of\b|\bsuccess\s+(?:rate|page|message|notice|banner|story|stories|toast|screen|status)\b",
    re.IGNORECASE,
)
_VALUE = re.compile(r"\s*[:=]\s*(true|yes|1|false|no|0)\b", re.IGNORECASE)
_MENTION = re.compile(r"\b(?P<un>un|non-?|not)?success(?P<ful>ful)?\b|\b(?:fail(?:ure|ed)?)\b", re.IGNORECASE)
_LABEL = (
    r"(?:(?:my|the|your|final|overall|definite)\s+)*(?:verdict|status|result|conclusion|judge?ment|evaluation|answer)"
)
_BARE = re.compile(
    rf"(?:{_LABEL}\s*(?:is|:|-|=|–|—)+\s*)?(?P<not>(?:not|non|un|no)(?:\s+an?)?[\s-]*)?(?P<word>success(?:ful)?|fail(?:ure|ed)?)",
    re.IGNORECASE,
)


def parse_verdict(text: str) -> Verdict | None:
    """SUCCESS or FAILURE as a verdict judge was told to end with (`SUCCESS` / `NOT SUCCESS`); None when it did not.

    The last line decides when it is a verdict and nothing else. Otherwise every definite mention must agree: capitals
    anywhere, any letters in the last sentence; what is only supposed ("would be a SUCCESS if") is no mention.
    """
    text = _MARKUP.sub(lambda match: " " if match[0] == "_" else "", _QUOTED.sub("", text))
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    if not lines:
        return None
    if match := _BARE.fullmatch(lines[-1].rstrip(".!: ")):
        failed = match["word"].lower().startswith("fail") is not bool(match["not"])
        return Verdict.FAILURE if failed else Verdict.SUCCESS
    said = set(_mentions(text))
    return said.pop() if len(said) == 1 else None


def _mentions(text: str) -> Iterator[Verdict]:
    """What each definite mention of success or failure says."""
    sentences = [sentence for sentence in _SENTENCE_END.split(text) if sentence.strip()]
    for number, sentence in enumerate(sentences):
        is_last = number == len(sentences) - 1
        if _HYPOTHETICAL.search(sentence):
            continue
        for match in _MENTION.finditer(sentence):
            if not (match[0].isupper() or is_last):
                continue
            failed = match["un"] is not None or match[0].lower().startswith("fail")
            negated = _NEGATED.search(sentence[: match.start()]) is not None
            value = _VALUE.match(sentence[match.end() :])
            if value and value[1].lower() in ("false", "no", "0"):
                negated = not negated
            yield Verdict.FAILURE if failed is not negated else Verdict.SUCCESS


def parse_status(text: str) -> Verdict | None:
    """The word after the last `Status:` (DigiRL's judge): `success` or `failure`, in any letters or markup."""
    found = re.findall(r"status\s*:\s*([^\n]*)", _MARKUP.sub("", text), re.IGNORECASE)
    word = found[-1].strip().rstrip(".!").lower() if found else ""
    return {"success": Verdict.SUCCESS, "failure": Verdict.FAILURE}.get(word)


def parse_grade(text: str) -> bool | None:
    """WebArena's fuzzy match: True for `correct`, False for `incorrect` or `partially correct`; the last one counts."""
    found = re.findall(r"\b(partially[\s-]+correct|incorrect|not\s+correct|correct)\b", text.lower())
    return found[-1] == "correct" if found else None


def parse_choice(text: str, yes: str, no: str) -> bool | None:
    """Which of two words stands in the reply, best in brackets (`[YES]`, `[different]`); None for both or neither."""
    for pattern in (r"\[\s*({})\s*\]", r"\b({})\b"):
        words = {word.lower() for word in re.findall(pattern.format(f"{yes}|{no}"), text, re.IGNORECASE)}
        if len(words) == 1:
            return words == {yes.lower()}
        if words:
            return None
    return None
