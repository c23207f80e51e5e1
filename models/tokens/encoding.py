"""A conversation as tokens and their loss mask, through the checkpoint's own chat template and tokenizer."""

import dataclasses
from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
import torch

from common.errors import UserError
from data.conversation import IMAGE, split_marks
from data.samples.changed_screen import QUESTION, with_question
from data.samples.reward_model import NO
from models.images import ImageEncoder
from models.text import Tokenized, check_template, end_of_reply, escape_around_marks, render, special_tokens, tokenize
from models.tokens.reply_spans import Span, mask_of, reply_span
from models.tokens.sampled import SampledReply

Turns = list[tuple[str, str]]
"""(role, text) of a conversation; roles are those of chat templates."""
Sizes = Sequence[tuple[int, int]]
"""(height, width) in pixels of its images."""

Reads = Literal["answer", "all_answers", "all", "state", "state_and_action", "state_and_change"]
"""What is marked in `Tokens.loss_mask`: tokens to be predicted (the last reply, every reply, everything but images), or
for critics the positions before marks are read: the end of the prompt, the ends of prompt and last reply, or the
end of the prompt and where it is to be said whether the reply changed the screen."""

_ROLES = {"human": "user", "gpt": "assistant"}
_OBSERVATION = "OBSERVATION:"
_NOTHING = {"type": "text", "text": ""}
"""A turn without words: Idefics' templates ask for the kind of its first part."""


@dataclasses.dataclass(frozen=True)
class Tokens:
    """`ids` [s] and `loss_mask` [s] bool: whether a token is to be predicted.

    `behavior_logprobs` [s]: of sampled tokens, under the distributions that they were drawn from; NaN elsewhere. None:
    none is known.
    """

    ids: torch.Tensor
    loss_mask: torch.Tensor
    behavior_logprobs: torch.Tensor | None = None


class ConversationEncoder:
    """Turns the `conversations` of a shard's sample into `Tokens`."""

    def __init__(
        self,
        processor: Any,
        image_encoder: ImageEncoder,
        seq_len: int,
        image_num: int,
        loss: Reads,
    ) -> None:
        """`UserError` when the processor has no chat template, or nothing says where a reply ends."""
        self.processor, self.image_encoder, self.tokenizer = processor, image_encoder, processor.tokenizer
        self.image_num, self.loss = image_num, loss
        self.seq_len = seq_len - 1 if loss == "state_and_action" else seq_len  # it puts a mark behind the last token
        check_template(processor)
        self.end = self._end_of_reply()
        self.num_shortened = 0
        """Samples so far that lost the end of their newest observation."""

    def encode(
        self,
        sample_id: str,
        conversations: list[dict[str, str]],
        image_sizes: Sizes,
        sampled: SampledReply | None = None,
    ) -> Tokens:
        """
        Args:
            image_sizes: (height, width) in pixels of every image.
            sampled: the last reply's very tokens, which stand behind the prompt as the server reads it. They are left
                out, and the text is tokenized, when under this tokenizer they do not say it (`training.launch.survey`
                counts).

        Raises:
            UserError: roles do not alternate or no reply ends the sample, images and `<image>` marks disagree, the
                chat template fails on it or does not write a reply as it is, or the sample is longer than `seq_len`
                even without its newest tree.
        """
        if self.loss == "state_and_change":
            conversations, sampled = with_question(conversations, NO), None
        try:
            turns = [
                (_ROLES[turn["from"]], escape_around_marks(self.tokenizer, turn["value"])) for turn in conversations
            ]
            self._check(turns, len(image_sizes))
            if sampled and not sampled.says(self.tokenizer, turns[-1][1], self.image_encoder):
                sampled = None
            return self._encode_within_limit(turns, image_sizes, sampled)
        except KeyError as error:
            raise UserError(f"sample {sample_id}: a turn has no or an unknown {error}") from None
        except UserError as error:
            raise UserError(f"sample {sample_id}: {error}") from None

    def _check(self, turns: Turns, num_images: int) -> None:
        if not turns or [role for role, _ in turns] != ["user", "assistant"] * (len(turns) // 2):
            raise UserError("turns must alternate human, gpt and end with gpt")
        if any(self.end in text for _, text in turns):
            raise UserError(f"a text contains {self.end}")
        if any(IMAGE in text for role, text in turns if role == "assistant"):
            raise UserError(f"a reply says {IMAGE}, which marks an image")
        marks = sum(text.count(IMAGE) for _, text in turns)
        if marks != num_images:
            raise UserError(f"{marks} {IMAGE} marks but {num_images} images")
        if num_images > self.image_num:
            raise UserError(f"{num_images} images, more than IMAGE_NUM={self.image_num}")

    def _encode_within_limit(self, turns: Turns, sizes: Sizes, sampled: SampledReply | None) -> Tokens:
        """Encode, cutting the newest observation's tree at its end until `seq_len` holds."""
        reply, whole = sampled.token_ids if sampled else [], turns
        while True:
            text = self._prompt(turns, sizes) if sampled else self._until_last_reply(turns, sizes)
            rendered = tokenize(self.processor, text)
            excess = len(rendered.ids) + len(reply) - self.seq_len
            if excess <= 0:
                loss_mask = self._loss_mask(turns, sizes, rendered, reads_last=not sampled) + [True] * len(reply)
                ids = torch.from_numpy(np.array(rendered.ids + reply))  # a third of `torch.tensor`'s time
                self.num_shortened += turns is not whole
                known = sampled if turns is whole else None  # another prompt than the policy read: others there
                return self._read(
                    Tokens(ids, torch.from_numpy(np.array(loss_mask)), _behavior_logprobs(len(ids), known))
                )
            turns = _shorten_tree(turns, self._num_characters_of_tail(turns, sizes, rendered, excess), self.seq_len)

    def _read(self, tokens: Tokens) -> Tokens:
        """Of what a critic reads, no more than that: where it reads, the very next token is marked."""
        if self.loss not in ("state", "state_and_action", "state_and_change"):
            return tokens
        if self.loss == "state_and_change":
            begins = tokens.loss_mask & ~tokens.loss_mask.roll(1)
            length = int(begins.nonzero()[-1]) + 1
            return Tokens(tokens.ids[:length], begins[:length])
        reply = int(tokens.loss_mask.int().argmax())
        ends = [reply] if self.loss == "state" else [reply, len(tokens.ids)]
        ids = torch.cat([tokens.ids, tokens.ids[-1:]])[: ends[-1] + 1]
        loss_mask = torch.zeros(len(ids), dtype=torch.bool)
        loss_mask[ends] = True
        return Tokens(ids, loss_mask)

    def _end_of_reply(self) -> str:
        """A template's middle replies stay as it writes them: so they are served. The last one must teach to stop."""
        end = end_of_reply(self.processor, self.image_encoder)
        if not end:
            raise UserError("the chat template writes no end of a reply, and the tokenizer has no eos_token")
        return end

    def _render(self, turns: Turns, sizes: Sizes, prompt: bool = False) -> str:
        """Turns as text, in which each `<image>` stands as often as the image has features."""
        messages = [{"role": role, "content": split_marks(text) or [_NOTHING]} for role, text in turns]
        return render(self.processor, self.image_encoder, messages, sizes, prompt)

    def _prompt(self, turns: Turns, sizes: Sizes) -> str:
        """All but the last of `turns`, a reply, up to where it begins."""
        return self._render(turns[:-1], sizes, prompt=True)

    def _until_last_reply(self, turns: Turns, sizes: Sizes) -> str:
        """All turns as text, ended by the last reply's end."""
        text = self._render(turns, sizes)
        return text if text.endswith(self.end) else text + self.end

    def _loss_mask(self, turns: Turns, sizes: Sizes, rendered: Tokenized, reads_last: bool) -> list[bool]:
        """Which of the rendered tokens to predict; the last reply is among them when `reads_last`."""
        if self.loss == "all":
            return [token != self.image_encoder.token_id for token in rendered.ids]
        replies = {"all_answers": [*range(1, len(turns), 2)], "state_and_change": [len(turns) - 3, len(turns) - 1]}.get(
            self.loss, [len(turns) - 1]
        )
        replies = replies if reads_last else [turn for turn in replies if turn < len(turns) - 1]
        spans = [self._span(turns, turn, sizes, rendered.text) for turn in replies]
        return mask_of(self.tokenizer, rendered, spans)

    def _span(self, turns: Turns, reply: int, sizes: Sizes, whole: str) -> Span:
        """The characters of turn `reply` and of what ends it, in the text `whole`."""
        prompt, is_last = self._prompt(turns[: reply + 1], sizes), reply == len(turns) - 1
        try:
            special = special_tokens(self.tokenizer)
            return reply_span(whole, prompt, turns[reply][1], self.end, is_last, special)
        except UserError as error:
            hint = "" if is_last else " (LOSS=answer learns the last reply only)"
            raise UserError(f"reply {reply // 2 + 1} of {len(turns) // 2}: {error}{hint}") from None

    def _num_characters_of_tail(self, turns: Turns, sizes: Sizes, rendered: Tokenized, num_tokens: int) -> int:
        """How many characters the last `num_tokens` tokens of the newest user turn cover."""
        newest = _newest(turns)
        prompt = self._prompt(turns[: newest + 2], sizes)
        tail = turns[newest][1].rpartition(IMAGE)[2].strip()
        if tail not in prompt:
            raise UserError(f"longer than SEQ_LEN={self.seq_len} tokens, in a text that the chat template changes")
        turn_end = prompt.rindex(tail) + len(tail)
        starts = enumerate(rendered.starts)
        after = next((index for index, start in starts if start >= turn_end), len(rendered.starts))
        return turn_end - rendered.starts[max(0, after - num_tokens)]


def _behavior_logprobs(length: int, sampled: SampledReply | None) -> torch.Tensor | None:
    """[length], the known ones at its end."""
    if sampled is None or sampled.logprobs is None:
        return None
    logprobs = torch.full([length], torch.nan)
    logprobs[length - len(sampled.logprobs) :] = torch.tensor(sampled.logprobs)
    return logprobs


def _shorten_tree(turns: Turns, num_characters: int, seq_len: int) -> Turns:
    """Drop the last characters of the newest observation, which follow its screenshot or its "OBSERVATION:"."""
    newest = _newest(turns)
    role, text = turns[newest]
    text = text.rstrip()
    before, mark, tree = text.rpartition(IMAGE) if IMAGE in text else text.partition(_OBSERVATION)
    if num_characters > len(tree if mark else before):
        raise UserError(f"longer than SEQ_LEN={seq_len} tokens even without its newest accessibility tree")
    return [*turns[:newest], (role, text[: len(text) - num_characters]), *turns[newest + 1 :]]


def _newest(turns: Turns) -> int:
    """Which turn has the newest observation: the last but one, or the one before the question about its reply."""
    return len(turns) - (4 if turns[-2][1] == QUESTION else 2)
