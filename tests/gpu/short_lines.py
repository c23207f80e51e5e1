"""The lines of `tests/gpu/short.py`, in their order: what each runs, for how long at most, and how its figures read."""

import argparse
import dataclasses
import shutil
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from common.errors import UserError
from tests.gpu import summaries
from tests.gpu.missing import lacking

POLICIES_GB = 50
"""Of weights that lie side by side: 4B and 8B policies, and two versions of an 8B that is published."""


def place_for_weights(*folders: Path) -> Path:
    """The first folder with space enough (memory's may be of 64 MB in a container), else that with most."""
    free = {folder: shutil.disk_usage(folder).free for folder in folders if folder.is_dir()}
    enough = [folder for folder, space in free.items() if space >= POLICIES_GB * 1e9]
    return enough[0] if enough else max(free, key=lambda folder: free[folder], default=Path.cwd())


@dataclasses.dataclass(frozen=True)
class Config:
    """Measure what one GPU can prove."""

    cpu: bool = False
    """Small forms on two cores: proves the lines, not the machine."""
    budget_s: float = 540.0
    """All lines together."""
    only: tuple[str, ...] = ()
    """Only these lines, or rows of them as `line.row`. None: all."""
    output_dir: Path = Path("runs/gpu")
    """Receives gpu.json, logs and what the lines write."""
    scratch: Path = dataclasses.field(default_factory=lambda: place_for_weights(Path("/dev/shm"), Path.cwd()))
    """Receives policies of 4B and 8B (9 and 18 GB)."""

    def policy(self, shape: str) -> Path:
        """Where the policy of a shape lies."""
        return (self.output_dir.absolute() if self.cpu else self.scratch) / f"elcano-{shape}"


@dataclasses.dataclass(frozen=True)
class Line:
    """`arguments` are those of `python -m module`, which writes figures as JSON to its `--output`, or as gpu.json
    into an `--output_dir` of its own; `summary` makes a line of text of it. With `rows` the module is given some of
    them and writes {row: figures} (`rows.py`)."""

    name: str
    limit_s: float
    module: str
    arguments: Callable[[Config], dict[str, Any]]
    summary: Callable[[Any], str] = str
    rows: tuple[str, ...] = ()
    has_folder: bool = False

    @property
    def figures(self) -> tuple[str, ...]:
        """Names of what it measures, `line` or each `line.row`."""
        return tuple(f"{self.name}.{row}" for row in self.rows) or (self.name,)

    def output(self, config: Config) -> Path:
        folder = config.output_dir.absolute()
        return folder / self.name / "gpu.json" if self.has_folder else folder / f"{self.name}.json"


def lines(config: Config) -> list[Line]:
    """In their order; a rehearsal takes one row of each kind."""
    first = ("qwen3_vl_4b_packed_learned", "transformers_qwen3_vl_4b_learned", "qwen3_vl_8b_packed_learned")
    first += ("idefics2_8b_packed_learned", "transformers_qwen3_vl_4b_learned_compiled")
    serving = ("ours_64", "generate_1", "ours_16", "batched_64", "ours_1", "batched_16")
    serving += ("without_prefix_cache_16", "without_feature_cache_16")
    scoring = ("logprobs_qwen3_vl_8b", "features_qwen3_vl_8b", "critic_qwen3_vl_8b")
    more = ("qwen3_vl_4b_packed_frozen", "qwen3_vl_8b_packed_frozen", "idefics2_8b_packed_frozen")
    more += ("qwen3_vl_4b_padded_learned", "qwen3_vl_8b_padded_learned", "idefics2_8b_padded_learned")
    more += ("qwen3_vl_4b_selective_learned", "qwen3_vl_4b_padded_frozen", "qwen3_vl_8b_padded_frozen")
    more += ("idefics2_8b_padded_frozen", "transformers_qwen3_vl_8b_learned", "transformers_idefics2_8b_learned")
    if config.cpu:
        serving = ("ours_64", "generate_1", "ours_16", "batched_16", *serving[-2:])
        more = ("qwen3_vl_4b_selective_learned", "qwen3_vl_8b_padded_frozen", "idefics2_8b_packed_frozen")
    train, traced = "tests.gpu.training_rows", first[:1]
    return [
        Line("ceilings", 20, "tests.gpu.ceilings", _cpu({}, {}), summaries.ceilings),
        Line("attention", 20, "tests.gpu.attention", _cpu({}, {}), summaries.attention),
        Line("parity", 50, "tests.gpu", _parity, summaries.parity, has_folder=True),
        Line("training", 120, train, _cpu({"traced": traced}, {"traced": traced}), summaries.training, first),
        Line("serving", 125, "tests.gpu.serving_rows", _serving, summaries.serving, serving),
        Line("online_8b", 45, "tests.gpu.online", _online, summaries.online),
        Line("reload", 25, "tests.server.cluster.soak", _soak({}), summaries.soak),
        Line("out_of_memory", 25, "tests.server.cluster.soak", _soak({"starve_every": 40}), summaries.soak),
        Line("scoring", 45, train, _cpu({}, {}), summaries.training, scoring),
        Line("candidates_qwen3_vl_8b", 50, "tests.gpu.candidates", _candidates, summaries.candidates),
        Line("small_critic", 15, "tests.gpu.small_critic", _small_critic, summaries.small_critic),
        Line("training_more", 330, train, _cpu({}, {}), summaries.training, more),
    ]


def _cpu(flags: dict[str, Any], small: dict[str, Any]) -> Callable[[Config], dict[str, Any]]:
    return lambda config: {**small, "cpu": True} if config.cpu else flags


def _parity(config: Config) -> dict[str, Any]:
    few: dict[str, Any] = {"only": ["parity_with_our_layers"], "max_ranks": 1}
    return few | ({"cpu": True} if config.cpu else {})


def _serving(config: Config) -> dict[str, Any]:
    small = {"cpu": True, "max_agents": 2, "prompt_tokens": 300, "kv_cache_gib": 1.0} if config.cpu else {}
    return {"policy": config.policy("qwen3-vl-4b"), **small}


def _online(config: Config) -> dict[str, Any]:
    small = {"cpu": True, "repeats": 1} if config.cpu else {}
    folder = config.output_dir.absolute() if config.cpu else config.scratch
    return {"work_dir": folder / "elcano-online", "keep": config.policy("qwen3-vl-8b"), **small}


def _candidates(config: Config) -> dict[str, Any]:
    small: dict[str, Any] = {"num_samples": 4, "num_candidates": 3, "max_new_tokens": 8} if config.cpu else {}
    device = "cpu" if config.cpu else "cuda:0"
    return {"policy": config.policy("qwen3-vl-8b"), "make": "qwen3-vl-8b", "device": device, **small}


def _small_critic(config: Config) -> dict[str, Any]:
    return {"num_samples": 256, "num_features": 64, "train_iters": 100} if config.cpu else {}


def _soak(flags: dict[str, Any]) -> Callable[[Config], dict[str, Any]]:
    def arguments(config: Config) -> dict[str, Any]:
        device = "cpu" if config.cpu else "cuda:0"
        return {"device": device, "duration_s": 12, "num_clients": 4, "reload_every_s": 4, "num_episodes": 2, **flags}

    return arguments


def chosen(config: Config) -> dict[Line, list[str]]:
    """Lines, and which of their figures `--only` names."""
    known = lines(config)
    names = {line.name for line in known} | {name for line in known for name in line.figures}
    if unknown := set(config.only) - names:
        told = ", ".join(line.name for line in known)
        raise UserError(f"--only {' '.join(sorted(unknown))}: the lines are {told}; their rows are line.row")
    found = {
        line: [name for name in line.figures if not config.only or {line.name, name} & set(config.only)]
        for line in known
    }
    return {line: figures for line, figures in found.items() if figures}


def plan(config: Config, undone: dict[Line, list[str]]) -> list[str]:
    """What is missing here, what will be done, and what is not expected to fit into the time."""
    missing, fitting, late, end = lacking(), [], [], 0.0
    for line, figures in undone.items():
        end += line.limit_s
        rows = f"{len(figures)} of {len(line.rows)} rows, " if line.rows else ""
        (fitting if end <= config.budget_s else late).append(f"{line.name} ({rows}by {end:.0f} s)")
    said = [f"missing: {', '.join(missing) or 'nothing'}; our own layers are measured"]
    space = shutil.disk_usage(config.scratch).free / 1e9
    if not config.cpu:
        wanted = "" if space > POLICIES_GB else f", and {POLICIES_GB} are wanted: give another --scratch"
        said.append(f"weights: in {config.scratch}, which has {space:.0f} GB{wanted}")
    said.append(f"lines, each until its second at most: {', '.join(fitting) or 'none'}")
    if late:
        said.append(f"in time that these leave, or when started again: {', '.join(late)}")
    return said


def main(words: Sequence[str]) -> int:
    """Say the plan before torch is loaded, and before the interpreter has what else reads flags."""
    parser = argparse.ArgumentParser(
        add_help=False, allow_abbrev=False, exit_on_error=False, argument_default=argparse.SUPPRESS
    )
    parser.add_argument("--cpu", action="store_true")
    parser.add_argument("--budget_s", type=float)
    parser.add_argument("--only", nargs="+")
    parser.add_argument("--output_dir", type=Path)
    parser.add_argument("--scratch", type=Path)
    try:
        config = Config(**vars(parser.parse_known_args(words)[0]))
        print("\n".join(plan(config, chosen(config))))
    except (argparse.ArgumentError, UserError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
