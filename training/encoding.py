"""A conversation as tokens and the tokens to learn, through the checkpoint's own Hugging Face processor."""

import dataclasses
import re
from typing import Any, Literal

import torch

from data.conversation import IMAGE
from data.errors import UserError

_ROLES = {"human": "user", "gpt": "assistant"}
_TREE_MARKS = re.compile(rf"{IMAGE}|OBSERVATION:")
_END = "<end_of_utterance>"


@dataclasses.dataclass(frozen=True)
class Tokens:
    """`ids` [s] and `learn` [s] bool: whether a token is to be predicted."""

    ids: torch.Tensor
    learn: torch.Tensor


class ConversationEncoder:
    """Turns the `conversations` of a shard's sample into `Tokens`."""

    def __init__(
        self, processor: Any, seq_len: int, image_num: int, loss: Literal["answer", "all_answers", "all"]
    ) -> None:
        self.processor = processor
        self.seq_len, self.image_num, self.loss = seq_len, image_num, loss
        if _END not in str(processor.chat_template):
            raise UserError(f"the chat template ends no turn with {_END}: only idefics2's is known here")
        self.end_id = processor.tokenizer.convert_tokens_to_ids(_END)
        self.image_id = processor.tokenizer.convert_tokens_to_ids(IMAGE)

    def encode(self, sample_id: str, conversations: list[dict[str, str]], num_images: int) -> Tokens:
        """
        Raises:
            UserError: roles do not alternate or no reply ends the sample, images and `<image>` marks disagree, or the
                sample is longer than `seq_len` even without its newest tree.
        """
        try:
            turns = [(_ROLES[turn["from"]], turn["value"]) for turn in conversations]
            self._check(turns, num_images)
            return self._encode_within_limit(turns)
        except KeyError as error:
            raise UserError(f"sample {sample_id}: a turn has no or an unknown {error}") from None
        except UserError as error:
            raise UserError(f"sample {sample_id}: {error}") from None

    def _check(self, turns: list[tuple[str, str]], num_images: int) -> None:
        if not turns or [role for role, _ in turns] != ["user", "assistant"] * (len(turns) // 2):
            raise UserError("turns must alternate human, gpt and end with gpt")
        marks = sum(text.count(IMAGE) for _, text in turns)
        if marks != num_images:
            raise UserError(f"{marks} {IMAGE} marks but {num_images} images")
        if num_images > self.image_num:
            raise UserError(f"{num_images} images, more than IMAGE_NUM={self.image_num}")

    def _encode_within_limit(self, turns: list[tuple[str, str]]) -> Tokens:
        """Encode, cutting the newest observation's tree at its end until `seq_len` holds."""
        while True:
            ids, starts, ends = self._tokenize(turns)
            excess = len(ids) - self.seq_len
            if excess <= 0:
                return Tokens(torch.tensor(ids), torch.tensor(self._learn(turns, ids, starts, ends)))
            turns = _shorten_tree(turns, self._num_characters_of_tail(turns, ids, starts, excess), self.seq_len)

    def _tokenize(self, turns: list[tuple[str, str]]) -> tuple[list[int], list[int], list[int]]:
        """(ids, first character, end character) of every token up to the last `<end_of_utterance>`.

        Characters count in the processor's own text, in which each `<image>` stands repeated.
        """
        encoded = self.processor(text=self._render(turns), return_offsets_mapping=True)
        ids, offsets = encoded["input_ids"][0], encoded["offset_mapping"][0]
        if ids.count(self.end_id) != len(turns):
            raise UserError(f"a text contains {_END}")
        length = len(ids) - ids[::-1].index(self.end_id)
        return ids[:length], [start for start, _ in offsets[:length]], [end for _, end in offsets[:length]]

    def _render(self, turns: list[tuple[str, str]], prompt: bool = False) -> str:
        messages = [{"role": role, "content": _content(text)} for role, text in turns]
        return self.processor.apply_chat_template(messages, add_generation_prompt=prompt)

    def _learn(self, turns: list[tuple[str, str]], ids: list[int], starts: list[int], ends: list[int]) -> list[bool]:
        if self.loss == "all":
            return [token != self.image_id for token in ids]
        learn = [False] * len(ids)
        turn_ends = [index for index, token in enumerate(ids) if token == self.end_id]
        replies = range(1, len(turns), 2) if self.loss == "all_answers" else [len(turns) - 1]
        for turn in replies:
            # No image stands between a prompt's end and its reply's: the reply's length in characters finds its start.
            whole, prompt = self._render(turns[: turn + 1]), self._render(turns[:turn], prompt=True)
            first = ends[turn_ends[turn]] - (whole.rindex(_END) + len(_END) - len(prompt))
            for index in range(turn_ends[turn - 1] + 1, turn_ends[turn] + 1):
                learn[index] = starts[index] >= first
        return learn

    def _num_characters_of_tail(
        self, turns: list[tuple[str, str]], ids: list[int], starts: list[int], num_tokens: int
    ) -> int:
        """How many characters the last `num_tokens` tokens of the newest user turn cover."""
        turn_end = [index for index, token in enumerate(ids) if token == self.end_id][-2]
        return starts[turn_end] - starts[max(0, turn_end - num_tokens)]


def _content(text: str) -> list[dict[str, str]]:
    """`text` cut at its `<image>` marks, as chat templates take it."""
    parts = [part for part in re.split(f"({IMAGE})", text) if part]
    return [{"type": "image"} if part == IMAGE else {"type": "text", "text": part} for part in parts]


def _shorten_tree(turns: list[tuple[str, str]], num_characters: int, seq_len: int) -> list[tuple[str, str]]:
    """Drop the last characters of the newest observation, which follow its screenshot or its "OBSERVATION:"."""
    role, text = turns[-2]
    marks = [match.end() for match in _TREE_MARKS.finditer(text)]
    tree_start = marks[-1] if marks else 0
    if tree_start + num_characters > len(text):
        raise UserError(f"longer than SEQ_LEN={seq_len} tokens even without its newest accessibility tree")
    return [*turns[:-2], (role, text[: len(text) - num_characters]), turns[-1]]
