"""How long training samples of real pages are: an agent's walk over pages that nobody made for this project.

    python -m benchmarks.page_lengths --urls http://127.0.0.1:7302/ http://127.0.0.1:7303/ --policy idefics2-8b

Visits `num_pages` of each address, link by link in a random order, and observes each as an agent does: at 1024 x 768,
as an accessibility tree in the released form. Every 7 pages (the released data's trajectories have 6.85 steps) are an
episode, whose steps become samples with the replies of the demonstration data set, tokenized by the policy's processor
with its own number of tokens for an image. Lengths go to `benchmarks/page_lengths.json`; `benchmarks/training.py` draws
from them. The numbers there are of three applications by others: Fava 1.30 with beancount's example ledger, Trac 1.6
with its own wiki, and the pages of The Rust Programming Language.
"""

import asyncio
import dataclasses
import random
import tempfile
from pathlib import Path
from urllib.parse import urldefrag, urlsplit

from benchmarks.serving_traffic import episodes
from benchmarks.training_samples import LENGTHS, count_lengths
from common import cli
from common.files import write_json
from data.conversation import StepText, build_conversation
from environments.browser.fleet import Fleet
from environments.browser.observation.observe import observe
from environments.browser.page.page import Page, Viewport
from environments.browser.page.settle import settle
from environments.faults import BrowserError, PageError
from models.idefics2 import published
from models.processor import load_processor
from models.tokens.encoding import ConversationEncoder
from training.batches.collate import TokenizedSample
from training.modules import kernels

_LINKS = "[...document.links].map(link => link.href)"
_STEPS, _LAST_N, _SEQ_LEN = 7, 3, 8192


@dataclasses.dataclass(frozen=True)
class Config:
    """Walk, count, write."""

    urls: tuple[str, ...]
    """Where applications answer."""
    policy: Path
    """Hugging Face folder whose processor counts."""
    num_pages: int = 84
    """Of each address."""
    output: Path = LENGTHS["pages"]
    """A JSON file for the lengths."""


async def walk(url: str, num_pages: int, seed: int = 0) -> list[str]:
    """Trees of the pages of one host, in the order of the walk."""
    rng, trees, known, waiting = random.Random(seed), [], {url}, [url]
    viewport, folder = Viewport(), Path(tempfile.gettempdir())
    async with Fleet(1, headless=True, viewport=viewport) as fleet, fleet.page(0, folder) as page:
        while waiting and len(trees) < num_pages:
            try:
                await page.goto(waiting.pop(rng.randrange(len(waiting))))
                await settle(page)
                tree, links = (await observe(page, "released")).tree, await _links(page)
            except (BrowserError, PageError):
                continue  # a download, or a page that takes too long
            trees.append(tree)
            found = [one for one in links if urlsplit(one).netloc == urlsplit(url).netloc]
            waiting += [one for one in dict.fromkeys(found) if one not in known]
            known.update(found)
    return trees


async def _links(page: Page) -> list[str]:
    answer = await page.send("Runtime.evaluate", {"expression": _LINKS, "returnByValue": True})
    return [urldefrag(link).url for link in answer["result"]["value"]]


def samples(trees: list[str], encoder: ConversationEncoder) -> list[TokenizedSample]:
    """Those that training would see of a walk, without their images."""
    replies = [reply for episode in episodes() for reply in episode.replies]
    found = []
    for number, tree in enumerate(trees):
        first = number - number % _STEPS
        before = [
            StepText(one, reply=replies[(first + nth) % len(replies)]) for nth, one in enumerate(trees[first:number])
        ]
        newest = StepText(tree, reply=replies[number % len(replies)])
        conversation = build_conversation(episodes()[first % len(episodes())].ques, [*before, newest], _LAST_N)
        turns = [{"from": "human" if turn.role == "user" else "gpt", "value": turn.text} for turn in conversation.turns]
        viewport = Viewport()
        sizes = [(viewport.height, viewport.width)] * len(conversation.image_steps)
        tokens = encoder.encode(f"page-{number}", turns, sizes)
        found.append(TokenizedSample(f"page-{number}", tokens.ids, tokens.loss_mask, []))
    return found


def main(config: Config) -> None:
    """Say the mean; the pages themselves are not kept."""
    kernels.prepare()
    from models.registry import family

    kind, processor = family(config.policy), load_processor(config.policy, published.IMAGES)
    images = kind.image_encoder(processor, kind.read_config(config.policy))
    encoder = ConversationEncoder(processor, images, _SEQ_LEN, _LAST_N, "answer")
    found = []
    for url in config.urls:
        own = samples(asyncio.run(walk(url, config.num_pages)), encoder)
        lengths = [len(sample.ids) for sample in own]
        print(
            f"{url}: {len(own)} pages, {sum(lengths) / len(own):.0f} tokens on average, {max(lengths)} most", flush=True
        )
        found += own
        counted = {"samples": len(found), "lengths": count_lengths(found)}
        write_json(config.output, counted, indent=None)


if __name__ == "__main__":
    cli.run(Config, main, description=__doc__)
