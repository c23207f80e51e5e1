"""The forms of verdicts: a JSON object by a schema, or exactly the demanded last line. What is neither is no verdict.

No word is searched for. A judge quotes what it judges, so a `SUCCESS` in its reply may be the agent's. The line counts
when it is the whole last line, the line before it is a finished sentence, and nothing before it is another verdict.
"""

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from collection.judges.verdicts.another_voice import is_open, may_quote, spoken
from data.outcome import Verdict

_LONGEST_LINE = 80
_LONGEST_REPLY = 10_000  # characters; a thousand tokens are asked for
_FEWEST_WORDS = 3
_MARKS = r"[\W_]{0,40}"
_EMPHASIS = re.compile(r"(?<!\w)(\*{1,3})([^*]+)\1(?!\w)")
_HEADING = re.compile(r"^#{1,6} ")
_RULE = re.compile(r"[-*_]{3,}")
_SENTENCE_ENDS = (".", "!", "?", "。", "！", "？", "।", "؟")
_DENIAL = r"not|no|non|never|neither|un\w*|fail\w*|partial\w*|in\w*(?:correct|complete)|wrong|n't"
_DENIES = re.compile(rf"\b(?:{_DENIAL})\b", re.IGNORECASE)
_DENIES_IN_ITS_TONGUE = re.compile(
    r"\b(?:not|no|never|cannot|wrong|unable|half\w*|partial\w*|fail\w*|in(?:correct|complete)\w*|un(?:done|met|solved)"
    r"|nicht|kein\w*|pas|jamais|não|nunca|non|niet|geen|nie|не|нет|لم|لا)\b|n['’]t\b|[不未没沒]|ない|ません|않|아니",
    re.IGNORECASE,
)
_ENDS_IN_DENIAL = re.compile(
    r"(?:\b(?:not|no|non|never|neither|un|an?|the|any|of|from|without)|n['’]t)\W*$", re.IGNORECASE
)
_NAME = re.compile(r"\s(?=[\"'])")  # of an element of a page, behind its role
_TAIL = 100
_WORD = re.compile(r"[^\W\d_]{2,}")
_WORD_WITHOUT_SPACES = re.compile(r"[\u0e00-\u0eff\u3040-\u9fff]")


@dataclass(frozen=True)
class VerdictForm:
    """`choices` are words and what each means, first the one that says success; `line` is the last line around the
    word, before which `label` and a colon may stand."""

    choices: Mapping[str, Any]
    line: str = "{}"
    label: str = "Verdict"
    any_case: bool = True

    def demand(self, as_json: bool) -> str:
        """The end of the system prompt."""
        if as_json:
            return f"Your whole reply is one JSON object, with your reasons first: {self._object(True)}.\n"
        return f"Then end with a line that is your verdict and nothing else: {self._lines()}.\n"

    def reminder(self, as_json: bool) -> str:
        """What a judge is told whose reply could not be read."""
        said = "That reply is no verdict, as it does not end as you were told. "
        if as_json:
            return f"{said}Give your verdict alone, as one JSON object and nothing else: {self._object(False)}."
        return f"{said}Give your verdict alone, as one line with nothing before or after it: {self._lines()}."

    def schema(self, with_reasons: bool) -> dict[str, Any]:
        """The JSON schema of a reply, in the part of it that OpenAI's strict mode knows."""
        verdict = {"verdict": {"type": "string", "enum": list(self.choices)}}
        properties = {"reasoning": {"type": "string"}, **verdict} if with_reasons else verdict
        return {
            "type": "object",
            "properties": properties,
            "required": list(properties),
            "additionalProperties": False,
        }

    def read_json(self, text: str, with_reasons: bool) -> Any | None:
        """What a reply by `schema` means; None for any other, such as one with a second verdict."""
        try:
            said = text if text.lstrip().startswith("{") else spoken(text) or ""
            found = json.loads(said, object_pairs_hook=_unique)
        except (ValueError, RecursionError):
            return None
        names = {"reasoning", "verdict"} if with_reasons else {"verdict"}
        if (
            not isinstance(found, dict)
            or set(found) != names
            or not all(isinstance(each, str) for each in found.values())
        ):
            return None
        return self.choices.get(found["verdict"])

    def stands_in(self, words: Iterable[str]) -> bool:
        """Whether a line that somebody else wrote, or a name in it, is a verdict, which a judge may quote as it
        stands."""
        return any(self._word(_NAME.split(line)[-1].strip("\"'()“”‘’«»")) for line in words)

    def read(self, text: str, alone: bool = False) -> Any | None:
        """What the demanded last line means; None where it is missing, unclear, quoted or contradicted. With `alone` a
        success must be the whole reply."""
        body = spoken(text)
        if body is None or len(body) > _LONGEST_REPLY or is_open(body):
            return None
        *before, last = [line for line in body.split("\n") if line.strip()] or [""]
        before = [line for line in before if not _RULE.fullmatch(line.strip())]
        if (word := self._word(last)) is None or (before and not self._is_introduction(before[-1])):
            return None
        if self._contradicts(before, word) or (alone and before and word == self._success):
            return None
        return self.choices[word]

    @property
    def _success(self) -> str:
        return next(iter(self.choices))

    def _word(self, line: str) -> str | None:
        """The choice that a line is, and nothing else."""
        indented = line.expandtabs(4)  # four spaces or a tab are a quotation
        if len(line) > _LONGEST_LINE or len(indented) - len(indented.lstrip(" ")) > 3:
            return None
        line = _EMPHASIS.sub(r"\2", _HEADING.sub("", line.strip(" \t"))).strip(" ")
        for word in self.choices:
            case = "i" if self.any_case else "-i"
            pattern = rf"(?:(?:final |overall )?{self.label}: ?)?(?{case}:{re.escape(self.line.format(word))})\.?"
            if re.fullmatch(pattern, line, re.ASCII | re.IGNORECASE):
                return word
        return None

    def _is_introduction(self, line: str) -> bool:
        """Whether a verdict may follow: after a finished sentence or the heading of the verdict. A colon introduces a
        quotation, and a line without an end goes on in the next."""
        line = line.strip()
        if self._is_heading(line):
            return True
        line = line.rstrip(" \t*_`)]\"'”’»」")
        return line.endswith(_SENTENCE_ENDS) and not line.endswith("..")

    def _is_heading(self, line: str) -> bool:
        pattern = rf"[#*\s]*(?:my |the |final |overall )*{self.label}[*\s]*:?[*\s]*"
        return re.fullmatch(pattern, line, re.IGNORECASE) is not None

    def _contradicts(self, before: Sequence[str], word: str) -> bool:
        """Whether what comes before the last line holds another verdict. A success is doubted sooner."""
        others = [other for other in self.choices if self.choices[other] != self.choices[word]]
        if any(self._loosely(other).fullmatch(line) for line in before for other in others):
            return True
        reasons = before[:-1] if before and self._is_heading(before[-1]) else before
        return word == self._success and bool(reasons) and self._is_doubtful(reasons, word, others)

    def _is_doubtful(self, before: Sequence[str], word: str, others: Sequence[str]) -> bool:
        """Whether the reasons for a success may be somebody else's, or speak against it."""
        reasons = "\n".join(before)
        if may_quote(reasons) or _ENDS_IN_DENIAL.search(reasons[-_TAIL:]) or _num_words(before[-1]) < _FEWEST_WORDS:
            return True
        if any(self._loosely(other).search(reasons) for other in others):
            return True
        # Whatever tongue it is in: a judge that denies last what its verdict says is asked again.
        if _DENIES_IN_ITS_TONGUE.search(_last_sentence(reasons)):
            return True
        if self._mentions(reasons, word):
            return True
        short = [line for line in before if len(line.split()) <= 3]
        return any(map(_DENIES.search, short)) or any(self._announces_another(line, word) for line in before)

    def _mentions(self, reasons: str, word: str) -> bool:
        """Whether the reasons speak of the verdict itself, or deny it where its word is one of everyday language."""
        said = re.finditer(rf"\b{re.escape(word)}\b", reasons, re.IGNORECASE if self.any_case else 0)
        return any(not self.any_case or _DENIES.search(reasons[max(0, at.start() - _TAIL) : at.start()]) for at in said)

    def _announces_another(self, line: str, word: str) -> bool:
        """Whether a line such as `Verdict: FAILED` says something else than the last one."""
        found = re.fullmatch(rf"\W*(?:\w+ )?(?:{self.label}|status)\b\W*:\W*(\w.*)", line.strip(), re.IGNORECASE)
        return found is not None and not self._loosely(word).fullmatch(line)

    def _loosely(self, word: str) -> re.Pattern[str]:
        """A choice in whatever letters and marks: what to be on guard against, never a verdict."""
        joined = _MARKS.join(re.findall(r"\w+", self.line.format(word)))
        marks = (rf"\[{_MARKS}", rf"{_MARKS}\]") if self.line.startswith("[") else (r"(?<![^\W_])", r"(?![^\W_])")
        return re.compile(
            rf"(?:{_MARKS}(?:\w+ )?{self.label})?{_MARKS}{marks[0]}{joined}{marks[1]}{_MARKS}", re.IGNORECASE
        )

    def _lines(self) -> str:
        return _either([self.line.format(word) for word in self.choices])

    def _object(self, with_reasons: bool) -> str:
        reasons = '"reasoning": "...", ' if with_reasons else ""
        return f'{{{reasons}"verdict": {_either([json.dumps(word) for word in self.choices])}}}'


VERDICT = VerdictForm({"SUCCESS": Verdict.SUCCESS, "NOT SUCCESS": Verdict.FAILURE}, any_case=False)
STATUS = VerdictForm({"success": Verdict.SUCCESS, "failure": Verdict.FAILURE}, "Status: {}")
GRADE = VerdictForm({"correct": True, "incorrect": False, "partially correct": False}, label="Grade")
REASON = VerdictForm({"same": True, "different": False}, "[{}]")
FEASIBLE = VerdictForm({"YES": True, "NO": False}, "[{}]")

parse_verdict, parse_status, parse_grade = VERDICT.read, STATUS.read, GRADE.read


def _num_words(line: str) -> int:
    """Those of two letters or more; where no spaces stand between words, pairs of letters."""
    return sum(max(1, len(_WORD_WITHOUT_SPACES.findall(word)) // 2) for word in _WORD.findall(line))


def _last_sentence(text: str) -> str:
    sentences = re.split(rf"[{re.escape(''.join(_SENTENCE_ENDS))}\n]", text)
    return next((sentence for sentence in reversed(sentences) if _WORD.search(sentence)), "")


def _either(words: Sequence[str]) -> str:
    return f"{', '.join(words[:-1])} or {words[-1]}"


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object whose names are told once each."""
    if len(dict(pairs)) < len(pairs):
        raise ValueError("a name stands twice in an object")
    return dict(pairs)
