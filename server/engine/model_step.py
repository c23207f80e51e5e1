"""Model step: what one pass of the model makes of the sequences that the scheduler holds.

Nothing here changes what is known of a sequence: a step that fails, for want of memory most of all, can be taken again.
What is found out on the way (the features of an image, a random number) is kept, and found again by the next try.
"""

import dataclasses
from collections.abc import Sequence as Listed

import torch

from server.engine.batch import DraftedReply, Reading, chunk_features
from server.engine.memory.engine_memory import EngineMemory
from server.engine.memory.release import is_out_of_memory
from server.engine.model.prompt import ImageInput
from server.engine.model.ragged_attention import Chunk
from server.engine.model.vision_language_model import VisionLanguageModel
from server.engine.sampling import DrawnToken, sample
from server.engine.scheduler import Scheduler
from server.engine.sequence import Sequence
from server.engine.speculative_decoding import Drafter
from server.engine.stats import EngineStats

Drawn = Listed[DrawnToken]


@dataclasses.dataclass(frozen=True)
class Computed:
    """What a step has found: the tokens `drawn` for the replies that go on and for those that begin, the `scores` of
    scored tokens by sequence. `failed` sequences cannot be read. `spare` is what moving rows takes."""

    replies: list[DraftedReply]
    readings: list[Reading]
    drawn: list[tuple[DraftedReply, Drawn]]
    scores: dict[Sequence, list[float]]
    failed: list[tuple[Sequence, Exception]]
    spare: torch.Tensor


class ModelStep:
    """Belongs to the engine's thread."""

    def __init__(
        self,
        model: VisionLanguageModel,
        memory: EngineMemory,
        scheduler: Scheduler,
        drafter: Drafter,
        stats: EngineStats,
    ):
        self.model, self.memory, self.stats = model, memory, stats
        self.encoding: Sequence | None = None  # whose image is being encoded
        self._scheduler, self._drafter = scheduler, drafter

    def compute(self, alone: Sequence | None = None) -> Computed:
        """Run the model on the replies that go on, with what may follow them, and on chunks of the prompts; with
        `alone` on nothing but this sequence."""
        self.encoding = None
        replies, (readings, failed) = self._drafted(alone), self._read_on(alone)
        answered, rows, scores = list(replies), list(range(sum(len(reply.new_tokens) for reply in replies))), {}
        drawn: list[Drawn] = []
        if replies or readings:
            logits, begin = self._forward(replies, readings, together=alone is None), len(rows)
            for reading in readings:
                end = begin + len(reading.wanted)
                if reading.sequence.options.num_scored:
                    scores[reading.sequence] = _score(reading, logits[begin:end])
                elif reading.wanted:
                    answered.append(DraftedReply(reading.sequence))
                    rows.append(begin)
                begin = end
            drawn = self._draw(answered, logits[rows]) if answered else []
        spare = self._scheduler.spare(reading.sequence for reading in readings if reading.complete)
        return Computed(replies, readings, list(zip(answered, drawn, strict=True)), scores, failed, spare)

    def _drafted(self, alone: Sequence | None) -> list[DraftedReply]:
        """All decoding sequences, with drafts as long as there is room for them in a step."""
        replies, room = [], self._scheduler.prefill_chunk
        for sequence in self._scheduler.decoding:
            if alone not in (None, sequence):
                continue
            replies.append(DraftedReply(sequence, self._drafter.draft(sequence, room)))
            room -= len(replies[-1].draft)
        return replies

    def _read_on(self, alone: Sequence | None) -> tuple[list[Reading], list[tuple[Sequence, Exception]]]:
        """The chunks of this step. At most one image is encoded, so that decoding sequences never wait for several."""
        readings, failed, may_encode = [], [], True
        for sequence, length in self._scheduler.next_chunks(alone):
            try:
                end, may_encode = self._encode_images(sequence, sequence.num_read + length, may_encode)
                if end > sequence.num_read:
                    positions = sequence.prompt.positions(sequence.num_read, end)
                    chunk = Chunk(sequence.row, sequence.num_read, end - sequence.num_read, positions)
                    readings.append(Reading(sequence, chunk, chunk_features(sequence, chunk)))
            except Exception as error:
                if is_out_of_memory(error):
                    raise
                failed.append((sequence, error))
        return readings, failed

    def _encode_images(self, sequence: Sequence, end: int, may_encode: bool) -> tuple[int, bool]:
        """Have the features of the images before `end`, or move `end` before the first one that must still wait."""
        prompt = sequence.prompt
        for number, image in enumerate(prompt.images):
            owned = prompt.image_positions[prompt.image_bounds[number] : prompt.image_bounds[number + 1]]
            if image.key in sequence.features or owned[-1] < sequence.num_read:
                continue
            if owned[0] >= end:
                break
            features = self.memory.features.get(image.key)
            if features is None and not may_encode:
                return int(owned[0]), may_encode
            if features is None:
                self.encoding = sequence
                features, may_encode = self._encode(image), False
                self.encoding = None
            else:
                self.stats.image_hits += 1
            sequence.features[image.key] = features
        return end, may_encode

    def _encode(self, image: ImageInput) -> torch.Tensor:
        features = self.model.encode_image(image.pixels if image.pixels is not None else image.load())
        if len(features) != image.num_tokens:  # would break the step for all
            raise ValueError(f"an image has {len(features)} features for {image.num_tokens} tokens")
        self.stats.image_misses += 1
        self.memory.keep_features(image.key, features)
        return features

    def _forward(self, replies: Listed[DraftedReply], readings: Listed[Reading], together: bool) -> torch.Tensor:
        """Logits behind the new tokens of the replies, then those that the chunks want. Replies are only read
        `together` where all that decode are among them."""
        token_ids = [token for reply in replies for token in reply.new_tokens]
        wanted = list(range(len(token_ids)))
        adapters = [reply.sequence.prompt.adapter for reply in replies for _ in reply.new_tokens]
        for reading in readings:
            wanted += [len(token_ids) + index for index in reading.wanted]
            token_ids += reading.sequence.prompt.token_ids[reading.chunk.start : reading.chunk.end]
            adapters += [reading.sequence.prompt.adapter] * reading.chunk.length
        decoding, chunks = [reply.chunk for reply in replies], [reading.asking for reading in readings]
        if not together:
            decoding, chunks = [], decoding + chunks
        step = self.model.new_step(self._scheduler.slots, decoding, chunks)
        features = [feature for reading in readings for feature in reading.features]
        with self.model.adapters.routed(adapters):
            return self.model.forward(token_ids, features, step, wanted)

    def _draw(self, replies: Listed[DraftedReply], logits: torch.Tensor) -> list[Drawn]:
        """A token from each row of `logits`, which are as many for a reply as it has new tokens."""
        own = logits.logsumexp(-1)  # makes the logits the model's own log-probabilities, before anything is forbidden
        likeliest = _likeliest(replies, logits, own)
        logits[:, self.model.banned_ids] = -torch.inf
        _forbid_other_forms(replies, logits)
        params, uniforms = [], []
        for reply in replies:
            sequence = reply.sequence
            for number in range(len(sequence.token_ids), len(sequence.token_ids) + 1 + len(reply.draft)):
                if number < sequence.params.min_new_tokens and sequence.options.constraint is None:
                    logits[len(params), self.model.eos_ids] = -torch.inf
                params.append(sequence.params)
                uniforms.append(sequence.uniform(number) if sequence.params.temperature > 0 else 0.0)
        tokens, sampling_logprobs = sample(logits, params, uniforms)
        logprobs = (logits.gather(1, torch.tensor(tokens, device=logits.device)[:, None])[:, 0] - own).tolist()
        drawn = iter(map(DrawnToken, tokens, logprobs, sampling_logprobs, likeliest))
        return [[next(drawn) for _ in range(1 + len(reply.draft))] for reply in replies]


def _forbid_other_forms(replies: Listed[DraftedReply], logits: torch.Tensor) -> None:
    """-inf for what a reply may not say in the form that it is asked to have."""
    row = 0
    for reply in replies:
        constraint, num_rows = reply.sequence.options.constraint, 1 + len(reply.draft)
        if constraint is not None:
            allowed = torch.from_numpy(constraint.masks(reply.draft)).to(logits.device)
            logits[row : row + num_rows].masked_fill_(~allowed, -torch.inf)
        row += num_rows


def _likeliest(
    replies: Listed[DraftedReply], logits: torch.Tensor, own: torch.Tensor
) -> Listed[list[tuple[int, float]]]:
    """For each row of `logits` the likeliest tokens, as many as its reply wants, with the model's log-probabilities."""
    wanted = [reply.sequence.options.num_top for reply in replies for _ in range(1 + len(reply.draft))]
    if not any(wanted):
        return [[]] * len(wanted)
    values, tokens = logits.topk(min(max(wanted), logits.shape[1]), dim=-1)
    rows = zip(tokens.tolist(), (values - own[:, None]).tolist(), wanted, strict=True)
    return [list(zip(ids[:num], logprobs[:num], strict=True)) for ids, logprobs, num in rows]


def _score(reading: Reading, logits: torch.Tensor) -> list[float]:
    """Log-probabilities of the scored tokens in a chunk."""
    sequence, first = reading.sequence, reading.chunk.start + reading.wanted.start + 1
    targets = sequence.prompt.token_ids[first : first + len(reading.wanted)]
    if not targets:
        return []
    return logits.log_softmax(-1).gather(1, torch.tensor(targets, device=logits.device)[:, None])[:, 0].tolist()
