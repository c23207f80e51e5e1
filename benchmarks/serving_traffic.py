"""What the agents of `benchmarks/serving.py` ask, and what the policy says: recorded episodes of the embedded sites.

The episodes are those of the demonstration data set (15 tasks, 57 steps): trees, screenshots and replies as the
quickstart's policy learns to say them. The replies have 61 to 98 tokens, half of them 71 to 82; those of its whole
imitation round (1,973, `trajectory_lengths.json`) 60 to 103, half of them 70 to 82. A policy that is made to say more
than it has to say repeats itself, which speculative decoding guesses with ease; so every side is given the recorded
reply, token by token, and computes all of it (`Recorded`).

No two agents see the same page: names that occur in one episode only are spelled anew for every agent, in its task,
pages and replies alike, and screenshots differ by a pixel. Pages are as long as the prompts that are wanted: cut, or
filled up with lines of other pages.
"""

import base64
import dataclasses
import functools
import io
import random
import re
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path

from PIL import Image

from data.conversation import IMAGE, StepText, build_conversation, split_marks
from data.shards.shard import read_shard, task_of
from server.engine.model.vision_language_model import VisionLanguageModel
from server.engine.model.wire_images import from_predict

SHARDS = Path(__file__).resolve().parent.parent / "examples" / "quickstart" / "demonstrations" / "shards"
_NAME = re.compile(r"\b[A-Z][a-z]{3,}\b")
_VOWELS, _CONSONANTS = "aeiou", "bcdfghjklmnprstvwz"


@dataclasses.dataclass(frozen=True)
class Episode:
    """A task with the trees, screenshots (encoded) and replies of its steps."""

    ques: str
    trees: list[str]
    shots: list[bytes]
    replies: list[str]


@dataclasses.dataclass(frozen=True)
class Request:
    """One `/predict` body, the reply it gets with its tokens, and whether it is the episode's last."""

    session: str
    turns: list[dict[str, str]]
    images: list[str]
    reply: str
    reply_ids: tuple[int, ...]
    last: bool


@dataclasses.dataclass
class Recorded:
    """A reply to be given: what the model would have said itself at each of its places is noted in `choices`."""

    reply_ids: tuple[int, ...]
    choices: dict[int, int] = dataclasses.field(default_factory=dict)

    def say(self, number: int, choice: int) -> int:
        """The reply's token of this number; behind its end, which a draft may reach beyond, the last one."""
        self.choices[number] = choice
        return self.reply_ids[min(number, len(self.reply_ids) - 1)]

    @property
    def own(self) -> list[int]:
        return [self.choices[number] for number in range(len(self.reply_ids))]


@functools.cache
def episodes() -> list[Episode]:
    """Those that are recorded."""
    steps = defaultdict(list)
    for path in sorted(SHARDS.glob("*.tar")):
        for sample in read_shard(path):
            steps[task_of(sample.id)].append(sample)
    found = []
    for samples in (sorted(steps[task], key=lambda sample: sample.id) for task in sorted(steps)):
        ques = samples[0].conversations[0]["value"].partition("\nOBSERVATION")[0]
        trees = [sample.conversations[-2]["value"].partition(f"{IMAGE}\n")[2] for sample in samples]
        shots = [sample.images[-1] for sample in samples]
        found.append(Episode(ques, trees, shots, [sample.conversations[-1]["value"] for sample in samples]))
    return found


def agent(number: int, num_requests: int, prompt_tokens: int, model: VisionLanguageModel, last_n: int) -> list[Request]:
    """The requests of one agent: met somewhere in an episode, it goes on from there and, where that ends, with
    another. Prompts have about `prompt_tokens` tokens."""
    rng, requests = random.Random(number), []
    for nth in range(num_requests):  # more episodes than are needed
        episode = _spelled_anew(episodes()[(number + nth * 7) % len(episodes())], rng)
        first = rng.randrange(len(episode.trees)) if nth == 0 else 0
        requests += _requests(f"{number}-{nth}", episode, prompt_tokens, model, last_n, rng)[first:]
        if len(requests) >= num_requests:
            break
    return requests[:num_requests]


def _requests(
    session: str, episode: Episode, prompt_tokens: int, model: VisionLanguageModel, last_n: int, rng: random.Random
) -> list[Request]:
    shots = [_screenshot(shot, rng) for shot in episode.shots]
    steps: list[StepText] = []
    requests = []
    for number, (tree, reply) in enumerate(zip(episode.trees, episode.replies, strict=True), start=1):

        def ask(shown: str, steps: list[StepText] = steps) -> tuple[list[dict[str, str]], list[str]]:
            conversation = build_conversation(episode.ques, [*steps, StepText(shown)], last_n)
            turns = [{"role": turn.role, "content": turn.text} for turn in conversation.turns]
            return turns, [shots[step - 1] for step in conversation.image_steps]

        turns, images = ask(tree)
        turns, images = ask(_fit(tree, prompt_tokens - num_tokens(turns, images, model), model, rng))
        ids = (*model.processor.tokenizer(f" {reply}", add_special_tokens=False).input_ids, model.eos_ids[-1])
        requests.append(Request(session, turns, images, reply, ids, number == len(episode.trees)))
        steps.append(StepText(tree, reply=reply))
    return requests


def num_tokens(turns: list[dict[str, str]], images: list[str], model: VisionLanguageModel) -> int:
    """Of a prompt."""
    messages = [{"role": turn["role"], "content": split_marks(turn["content"])} for turn in turns]
    return len(model.prompt_ids(messages, [image.size for image in from_predict(images)]))


def _fit(tree: str, missing: int, model: VisionLanguageModel, rng: random.Random) -> str:
    """The page without its last lines, or with lines of other pages, numbered on: about `missing` tokens longer."""

    def length(line: str) -> int:
        return len(model.processor.tokenizer(f"\n{line}", add_special_tokens=False).input_ids)

    lines, others = tree.split("\n"), _shuffled_lines(rng)
    while missing < 0 and len(lines) > 1:
        missing += length(lines.pop())
    while missing > 0:
        lines.append(re.sub(r"\[\d+\]", f"[{len(lines) + 1}]", next(others), count=1))
        missing -= length(lines[-1])
    return "\n".join(lines)


def _shuffled_lines(rng: random.Random) -> Iterator[str]:
    """Page after page, in an order of its own, without end."""
    while True:
        episode = _spelled_anew(rng.choice(episodes()), rng)
        yield from rng.choice(episode.trees).split("\n")[1:]


@functools.cache
def _own_names() -> list[set[str]]:
    """By episode: the names that occur in no other."""
    found = [set(_NAME.findall("\n".join([one.ques, *one.trees, *one.replies]))) for one in episodes()]
    count = Counter(name for names in found for name in names)
    return [{name for name in names if count[name] == 1} for names in found]


def _spelled_anew(episode: Episode, rng: random.Random) -> Episode:
    names = _own_names()[episodes().index(episode)]
    spelled = {name: "".join(_other_letter(letter, rng) for letter in name) for name in sorted(names)}

    def anew(text: str) -> str:
        return _NAME.sub(lambda match: spelled.get(match[0], match[0]), text)

    texts = [[anew(text) for text in part] for part in (episode.trees, episode.replies)]
    return dataclasses.replace(episode, ques=anew(episode.ques), trees=texts[0], replies=texts[1])


def _other_letter(letter: str, rng: random.Random) -> str:
    other = rng.choice(_VOWELS if letter.lower() in _VOWELS else _CONSONANTS)
    return other.upper() if letter.isupper() else other


def _screenshot(encoded: bytes, rng: random.Random) -> str:
    image = Image.open(io.BytesIO(encoded)).convert("RGB")
    image.putpixel((0, 0), tuple(rng.randrange(256) for _ in range(3)))
    buffer = io.BytesIO()
    image.save(buffer, "PNG", compress_level=1)
    return base64.b64encode(buffer.getvalue()).decode()
