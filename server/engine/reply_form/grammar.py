"""Grammar: what a reply may be, kept token by token. llguidance computes which tokens may come next.

A grammar is compiled away from the engine's thread, within bounds that make no schema cost more than a second, and is
then copied for each reply that it binds.
"""

import collections
import functools
import importlib.util
import json
import threading
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from server.engine.reply_form.request_error import RequestError
from server.engine.reply_form.token_text import vocabulary

_MAX_CHARACTERS = 2**18
_KEPT = 32  # compiled grammars; an agent asks with the same one at each step
_MIB = 2**20
_MAX_KEPT_CHARACTERS = 2 * _MIB


# Between the marks of JSON: nothing, a space, or a new line that is set in, as programs write it. Without a bound a
# model that likes white space would never end.
_BETWEEN = r"[ ]?|\n[ ]{0,32}"


def json_rule(schema: dict[str, Any], lenient: bool = False) -> str:
    """A rule for the JSON values of a schema; a `lenient` one leaves out words of it that cannot be kept to."""
    ours = {"whitespace_pattern": _BETWEEN, "lenient": lenient, "coerce_one_of": lenient}
    return "%json " + json.dumps({**schema, "x-guidance": ours})


def text_rule(text: str, special: Sequence[tuple[str, int]]) -> str:
    """A rule for exactly this text, in which the `special` tokens stand for themselves."""
    for token, token_id in special:
        before, found, after = text.partition(token)
        if found:
            return " ".join(filter(None, (text_rule(before, special), f"<[{token_id}]>", text_rule(after, special))))
    return json.dumps(text, ensure_ascii=False) if text else ""


def regex_rule(pattern: str) -> str:
    """A rule for the texts that a regular expression matches as a whole."""
    from llguidance import regex_to_lark

    return f"/{regex_to_lark(pattern)}/"


class GrammarError(RequestError):
    """A reply cannot be kept to its grammar."""


class Constraint:
    """What one reply may still say. Belongs to the engine's thread; nothing but `consume` changes it."""

    def __init__(self, matcher: Any, end_ids: frozenset[int], width: int, param: str):
        self._matcher, self._end_ids, self._width, self._param = matcher, end_ids, width, param

    def copy(self) -> "Constraint":
        """The same for another reply."""
        return Constraint(self._matcher.deep_copy(), self._end_ids, self._width, self._param)

    def forced(self) -> list[int]:
        """The tokens that most likely come next, because the grammar leaves nothing else to say; often none."""
        return self.allowed(self._matcher.compute_ff_tokens())

    def allowed(self, draft: Sequence[int]) -> list[int]:
        """The beginning of `draft` that the grammar takes, before an end token."""
        length = next((i for i, token in enumerate(draft) if token in self._end_ids), len(draft))
        return list(draft[: self._matcher.validate_tokens(list(draft[:length]))]) if length else []

    def masks(self, draft: Sequence[int]) -> np.ndarray:
        """[1 + len(draft), width] bool: which tokens may come next, and after each of the allowed `draft`. What has no
        next token leaves all of them, and fails as one of them is consumed."""
        rows = [self._mask()]
        for token in draft:
            self._matcher.consume_token(token)
            rows.append(self._mask())
        if draft:
            self._matcher.rollback(len(draft))
        return np.stack(rows)

    def consume(self, token_id: int) -> None:
        """The reply goes on with this token.

        Raises:
            GrammarError: the grammar knows no way on, since the vocabulary cannot spell it or the search is too large.
        """
        if token_id not in self._end_ids and not self._matcher.consume_token(token_id):
            reason = _first_line(self._matcher)
            raise GrammarError(f"{self._param}: the reply cannot go on in this form ({reason})", self._param)

    @property
    def complete(self) -> bool:
        """Whether nothing may be added."""
        return bool(self._matcher.is_stopped())

    def _mask(self) -> np.ndarray:
        bits = np.frombuffer(self._matcher.compute_bitmask(), dtype=np.uint8)
        mask = np.unpackbits(bits, count=self._width, bitorder="little").view(bool)
        return mask if mask.any() else ~mask


class Grammars:
    """Compiles grammars for one model's vocabulary; the methods may run in any thread.

    Args:
        width: logits of a row.
        never: tokens that no reply may hold, whatever they say.
    """

    def __init__(self, tokenizer: Any, width: int, end_ids: Iterable[int], never: Iterable[int]):
        self._tokenizer, self._width = tokenizer, width
        self._end_ids, self._never = frozenset(end_ids), frozenset(never)
        self._kept: collections.OrderedDict[str, Constraint] = collections.OrderedDict()
        self._lock, self._reading = threading.Lock(), threading.Lock()

    def constraint(self, grammar: str, param: str) -> Constraint:
        """That of `grammar`, in llguidance's form of Lark, for one reply; `param` is the field that asked for it.

        Raises:
            RequestError: it is too large, or not one that can be kept.
        """
        with self._lock:
            found = self._kept.get(grammar)
            if found is not None:
                self._kept.move_to_end(grammar)
        if found is None:
            found = self._compile(grammar, param)
            with self._lock:
                self._kept[grammar] = found
                while len(self._kept) > _KEPT or sum(map(len, self._kept)) > _MAX_KEPT_CHARACTERS:
                    self._kept.popitem(last=False)
        return found.copy()

    def _compile(self, grammar: str, param: str) -> Constraint:
        if len(grammar) > _MAX_CHARACTERS:
            raise RequestError(f"{param} has {len(grammar)} characters; give at most {_MAX_CHARACTERS}", param)
        if importlib.util.find_spec("llguidance") is None:
            raise RequestError(f"{param} is not served here: the server lacks the package llguidance", param)
        from llguidance import LLMatcher, LLParserLimits

        limits = LLParserLimits(verbose_errors=False, step_max_items=20_000)
        with self._reading:
            vocabulary = self._vocabulary
        matcher = LLMatcher(vocabulary, grammar, log_level=0, limits=limits)
        if not matcher.is_error():
            matcher.compute_bitmask()  # what is too large for a first token is refused before it is queued
        if matcher.is_error():
            raise RequestError(f"{param} cannot be kept to: {_first_line(matcher)}", param)
        return Constraint(matcher, self._end_ids, self._width, param)

    @functools.cached_property
    def _vocabulary(self) -> Any:
        from llguidance import LLTokenizer

        read = _Vocabulary(self._tokenizer, self._width, self._end_ids, self._never)
        # It asks for the attributes of its TokenizerWrapper, not for the class.
        return LLTokenizer(read, eos_token=sorted(self._end_ids))  # pyright: ignore[reportArgumentType]


class _Vocabulary:
    """A tokenizer as llguidance reads one: its attributes and its call are that package's."""

    is_tokenizer_wrapper = True
    bos_token_id = None

    def __init__(self, tokenizer: Any, width: int, end_ids: frozenset[int], never: frozenset[int]):
        self._tokenizer = tokenizer
        self.tokens = vocabulary(tokenizer, width)
        special = {token_id for token_id, token in tokenizer.added_tokens_decoder.items() if token.special}
        unspelled = {token_id for token_id, said in enumerate(self.tokens) if not said}
        self.special_token_ids = sorted(one for one in special | unspelled | never | end_ids if one < width)
        self.tokens = [said or f"<|{token_id}|>".encode() for token_id, said in enumerate(self.tokens)]
        self.eos_token_id = min(end_ids)

    def __call__(self, text: bytes | str) -> list[int]:
        """Tokens that say exactly `text`: the tokenizer's own where they do, which put no space before it."""
        said = text if isinstance(text, bytes) else text.encode()
        for before in ("", "\n"):  # behind a line's end a SentencePiece adds no space
            ids = self._tokenizer(before + said.decode(errors="replace"), add_special_tokens=False).input_ids
            for start in range(min(len(ids), 3)):
                if b"".join(self.tokens[token_id] for token_id in ids[start:]) == said:
                    return list(ids[start:])
        return self._longest(said)

    def _longest(self, said: bytes) -> list[int]:
        """The longest token at each place; what no token says is left out."""
        ids: list[int] = []
        while said:
            length = next((n for n in range(min(len(said), 16), 0, -1) if said[:n] in self._ids), 0)
            ids += [self._ids[said[:length]]] if length else []
            said = said[length or 1 :]
        return ids

    @functools.cached_property
    def _ids(self) -> dict[bytes, int]:
        special = set(self.special_token_ids)
        return {said: token_id for token_id, said in enumerate(self.tokens) if token_id not in special}


def _first_line(matcher: Any) -> str:
    lines = matcher.get_error().replace("<non-verbose/>", "").strip().splitlines() or [matcher.stop_reason()]
    if lines[0].startswith("NoExtension"):
        return "nothing that this model can say fits"
    return str(lines[0]).partition("; consider")[0][:200]
