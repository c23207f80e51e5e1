"""Token reader: the process that answers `tokens.py`: a JSON object on its standard input, one on its output."""

import contextlib
import json
import math
import sys
from pathlib import Path
from typing import Any

from common.errors import UserError
from data.action_spaces import known_space
from data.action_spaces.space import ActionSpace
from data.actions.screen import png_size
from data.conversation import StepText, escape_special
from data.trajectory import split_folder_name
from models.processor import load_processor
from models.registry import family
from models.tokens.encoding import ConversationEncoder
from models.tokens.sampled import SampledReply
from training.options import ModelOptions
from viewer.catalog.heads import as_number, as_text
from viewer.catalog.reading import read
from viewer.trajectory.prompt import num_images, read_asked, read_texts
from viewer.trajectory.thoughts import Thoughts

_MAX_TOKENS = 200_000  # of a trajectory
_SENDERS = {"user": "human", "assistant": "gpt"}


def main() -> None:
    """Answer what stands on the standard input."""
    asked = json.load(sys.stdin)
    with contextlib.redirect_stdout(sys.stderr):
        try:
            told = _told(Path(asked["folder"]), asked["policies"], asked["options"])
        except UserError as error:
            told = {"problem": str(error)}
    print(json.dumps(told))


def _told(folder: Path, policies: dict[str, str], options: dict[str, Any]) -> dict[str, Any]:
    ques, _, provenance, steps = read_asked(folder)
    texts = read_texts(folder, steps)
    read_as = {name: options.get(name, getattr(ModelOptions, name)) for name in ("seq_len", "image_num", "loss")}
    last_n = num_images(provenance)
    for path, name in policies.items():
        encoder = _encoder(Path(path), read_as)
        if _says(encoder, steps):
            reader = _Reader(encoder, folder, ques, texts, steps, last_n, known_space(provenance))
            return {"policy": name, "loss": read_as["loss"], "steps": reader.read()}
    raise UserError(f"what was sampled is of another tokenizer than {', '.join(policies.values())}")


def _encoder(policy: Path, read_as: dict[str, Any]) -> ConversationEncoder:
    """As `training.train` builds it."""
    kind, processor = family(policy), load_processor(policy)
    images = kind.image_encoder(processor, kind.read_config(policy))
    return ConversationEncoder(processor, images, read_as["seq_len"], read_as["image_num"], read_as["loss"])


def _says(encoder: ConversationEncoder, steps: list[dict[str, Any]]) -> bool:
    """Whether the encoder's tokenizer is that of the first sampled tokens; True where none are known."""
    for step in steps:
        if sampled := SampledReply.of(step):
            return sampled.says(encoder.tokenizer, escape_special(as_text(step.get("reply"))), encoder.image_encoder)
    return True


class _Reader:
    """Of one trajectory."""

    def __init__(
        self,
        encoder: ConversationEncoder,
        folder: Path,
        ques: str,
        texts: list[StepText],
        steps: list[dict[str, Any]],
        last_n: int,
        space: ActionSpace,
    ):
        self.encoder, self.folder, self.ques, self.texts, self.steps = encoder, folder, ques, texts, steps
        self.last_n, self.space, self._pieces = last_n, space, {}
        self._columns = Thoughts(folder.parent.parent).lists(*split_folder_name(folder.name), of_texts=False)
        self._num_left = _MAX_TOKENS

    def read(self) -> list[dict[str, Any]]:
        """Each step, or its problem."""
        found = []
        for number in range(1, len(self.steps) + 1):
            try:
                found.append(self._step(number))
            except UserError as error:
                found.append({"problem": str(error)})
        return found

    def _step(self, number: int) -> dict[str, Any]:
        conversation = self.space.conversation(self.ques, self.texts[:number], self.last_n)
        turns = [{"from": _SENDERS[turn.role], "value": turn.text} for turn in conversation.turns]
        sizes = [_size(self.folder, at) for at in conversation.image_steps]
        tokens = self.encoder.encode(f"step {number}", turns, sizes, SampledReply.of(self.steps[number - 1]))
        ids, mask = tokens.ids.tolist(), tokens.loss_mask.tolist()
        self._num_left -= len(ids)
        if self._num_left < 0:
            raise UserError(f"more than {_MAX_TOKENS} tokens up to here")
        known = {} if tokens.behavior_logprobs is None else {"sampled": tokens.behavior_logprobs.tolist()}
        predicted = [at for at in range(1, len(ids)) if mask[at]]
        for name, values in self._columns.get(number, {}).items():
            if len(values) == len(predicted):
                by_place = dict(zip(predicted, values, strict=True))
                known[name] = [by_place.get(at, math.nan) for at in range(len(ids))]
        image = self.encoder.image_encoder.token_id
        starts = [at for at in range(len(ids)) if not (at and ids[at] == ids[at - 1] == image)]
        ends = [*starts[1:], len(ids)]
        return {
            "pieces": [self._piece(ids[at]) for at in starts],
            "ids": [ids[at] for at in starts],
            "repeats": [end - at for at, end in zip(starts, ends, strict=True)],
            "mask": [mask[at] for at in starts],
            "columns": {name: [as_number(values[at]) for at in starts] for name, values in known.items()},
        }

    def _piece(self, token: int) -> str:
        """Its text with the space before it; a part of a character is a question mark."""
        if token not in self._pieces:
            decode = self.encoder.tokenizer.decode
            once, twice = (decode([token] * count, clean_up_tokenization_spaces=False) for count in (1, 2))
            self._pieces[token] = twice[len(once) :]
        return self._pieces[token]


def _size(folder: Path, number: int) -> tuple[int, int]:
    """(height, width) of a step's screenshot."""
    head = read(folder, f"screenshot{number}.png", 24, only_head=True)
    if head is None or not head.startswith(b"\x89PNG") or len(head) < 24:
        raise UserError(f"screenshot{number}.png is missing or no PNG")
    width, height = png_size(head)
    return height, width


if __name__ == "__main__":
    main()
