"""Candidate actions from a server that holds a policy: `python -m tests.gpu.candidates --policy POLICY`.

Asked is as `collection/sample_candidates.py` asks, for the recorded steps of the demonstrations. Weights are random, so
a reply is no action: each counts as an action of its own and is `--max_new_tokens` long, as it seldom ends by itself.
"""

import dataclasses
import itertools
import tempfile
import time
from pathlib import Path

import pyarrow.parquet

from collection import sample_candidates
from collection.config.commands import CandidatesConfig
from common import cli
from common.files import write_json
from data.shards.shard import Sample, read_shard, write_shards
from tests.conftest import ROOT
from tests.gpu import policy
from tests.server.helpers import running_server

_SHARDS = ROOT / "examples" / "quickstart" / "demonstrations" / "shards"


@dataclasses.dataclass(frozen=True)
class Config:
    """Draw candidates."""

    policy: Path = ROOT / "examples" / "quickstart" / "starting_policy" / "weights"
    """Hugging Face folder."""
    make: str = ""
    """A folder of training/memory/shapes: such a policy is written where none is."""
    device: str = "cuda:0"
    """Of the server."""
    num_samples: int = 48
    """Steps that are asked about, all at once."""
    num_candidates: int = 16
    """Of a step, with what was done there."""
    max_new_tokens: int = 75
    """Of a reply."""
    output: Path = Path("candidates.json")
    """Receives the numbers."""


def main(config: Config) -> None:
    """Serve, ask once, measure."""
    if config.make:
        policy.ensure(config.policy, config.make, config.device)
    sample_candidates.actions_of = lambda reply, space, screen: (reply,)
    samples = [sample for path in sorted(_SHARDS.glob("*.tar")) for sample in read_shard(path)][: config.num_samples]
    flags = ["--device", config.device, "--max_batch_size", str(config.num_samples)]
    with tempfile.TemporaryDirectory() as scratch, running_server(config.policy, *flags) as server:
        _draw(config, Path(scratch) / "first", samples[:1], server.url)
        seconds, lengths = _draw(config, Path(scratch) / "all", samples, server.url)
    found = {
        **{"samples": len(samples), "candidates": config.num_candidates, "replies": len(lengths), "seconds": seconds},
        "samples_per_s": len(samples) / seconds,
        "replies_per_s": len(lengths) / seconds,
        "reply_tokens_per_s": sum(lengths) / seconds,
    }
    write_json(config.output, found)
    print(found)


def _draw(config: Config, folder: Path, samples: list[Sample], url: str) -> tuple[float, list[int]]:
    """Seconds, and the tokens of each reply that is another than the ones before."""
    shards, output = folder / "shards", folder / "candidates.parquet"
    shards.mkdir(parents=True)
    write_shards(shards, samples, len(samples), {})
    asked = CandidatesConfig(
        dataset_path=shards,
        output=output,
        api_localhost=(f"{url}/predict",),
        num_candidates=config.num_candidates,
        temperature=1.2,
        max_new_tokens=config.max_new_tokens,
        num_sessions=len(samples),
    )
    begin = time.perf_counter()
    sample_candidates.main(asked)
    seconds = time.perf_counter() - begin
    drawn = pyarrow.parquet.read_table(output, columns=["candidate_token_ids"]).to_pydict()["candidate_token_ids"]
    return seconds, [len(ids) for ids in itertools.chain.from_iterable(drawn)]


if __name__ == "__main__":
    cli.run(Config, main, description=__doc__)
