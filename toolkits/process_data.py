"""WebRL's data of one phase: new rollouts with rewards, and the earlier successes that are worth seeing again.

    python toolkits/process_data.py --stage 1 2 --add_reward --rollout_path runs/phase-2/trajectories \\
        --orm_path runs/orm/policy --experience_paths runs/phase-1/data.json \\
        --actor_path runs/phase-1/training/checkpoint/phase-1 --round_id 2 --output_path runs/phase-2/data.json

Stage 1 turns rollouts (our folders, or WebRL's `traces/` with `actions/`) into samples, one a step, with the columns
`task`, `trajectory_reward` (0 or 1), `mc_return`, `weight` and those of `data/samples/rewarded_step.py`. With
--add_reward an outcome reward model decides (P(YES) >= P(NO), kept as `p_yes`), else the verdicts of the rollouts.
Stage 2 asks the actor for the perplexity of one earlier success a task, keeps those in --perplexity_window, at most
--replay_ratio as many steps as stage 1 gave, and writes them with all of stage 1's, shuffled, as `<output_path>` with
`_filter` in its name.
Screenshots go to `images/` beside it; both files go on to convert_to_tar_data.py.

Scoring is training/score.sh with its variables: TP=8 PR=bf16 SEQ_LEN=8192 python toolkits/process_data.py ...
Source: WebRL (arXiv 2411.02337) and its scripts/process_data.py.
"""

import dataclasses
import json
import random
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

from common import cli
from common.errors import UserError
from common.files import read_json, write_atomic
from common.options.limits import Checked, at_least, between
from data.samples.reward_model import NO, YES, probability_of_yes
from data.samples.rewarded_step import discounted_returns, reward_fields
from data.shards.shard import Sample
from toolkits.convert_trajectories_to_json import place_image
from toolkits.readers.logs.webrl import read_webrl
from toolkits.shards.sample_records import check_record, read_samples
from toolkits.trajectories.checkpoint_scores import score_samples
from toolkits.trajectories.replay import in_window, one_success_per_task
from toolkits.trajectories.rollouts import Rollout, read_rollouts

Record = dict[str, Any]


@dataclasses.dataclass(frozen=True)
class Config(Checked):
    """The data of one phase of WebRL."""

    stage: tuple[Literal[1, 2], ...]
    """1: rollouts to samples with rewards. 2: earlier successes are mixed in."""
    output_path: Path
    """The sample file (.json) that stage 1 writes and stage 2 adds to."""
    rollout_path: Path | None = None
    """Folder of the phase's rollouts (stage 1)."""
    add_reward: bool = False
    """Let the reward model of --orm_path decide what succeeded; else the verdicts that are there."""
    orm_path: Path | None = None
    """Checkpoint of an outcome reward model, Hugging Face or Megatron."""
    experience_paths: tuple[str, ...] = ()
    """Earlier phases' sample files of stage 1, or WebRL's own .pt (stage 2)."""
    actor_path: Path | None = None
    """Checkpoint of the last actor, Hugging Face or Megatron (stage 2)."""
    round_id: Annotated[int, at_least(0)] = 1
    """Written into the sample ids; each phase needs its own."""
    last_n: Annotated[int, at_least(0)] = 3
    """Screenshots shown at each step; the collector's `--max_attached_imgs`."""
    gamma: Annotated[float, between(0, 1)] = 0.9
    """Discount of `mc_return`."""
    mode: Literal["paper", "released"] = "paper"
    """`paper`: the last step has the reward. `released`: every step has it, as in WebRL's code."""
    perplexity_window: tuple[float, float] = (1 / 0.95, 1 / 0.5)
    """Perplexities that are replayed: from the first to below the second."""
    replay_ratio: Annotated[float, at_least(0)] = 2.0
    """Steps replayed for each new one, at most."""
    seed: int = 0
    """Seed of what is replayed and of the order."""

    @property
    def image_dir(self) -> Path:
        return self.output_path.with_name("images")

    def check(self) -> None:
        """Raise UserError for flags that don't fit the stages."""
        needs: dict[str, Any] = {}
        if 1 in self.stage:
            needs |= {"rollout_path": self.rollout_path}
            needs |= {"orm_path": self.orm_path} if self.add_reward else {}
        if 2 in self.stage:
            needs |= {"experience_paths": self.experience_paths, "actor_path": self.actor_path}
        for name, value in needs.items():
            if not value:
                raise UserError(f"--stage {' '.join(map(str, self.stage))} needs --{name}")
        if self.output_path.suffix != ".json":
            raise UserError(f"--output_path {self.output_path}: samples are written as JSON, so name it .json")
        if not 0 < self.gamma <= 1 or self.replay_ratio < 0 or not self.stage:
            raise UserError("--gamma must be above 0 and at most 1, --replay_ratio not negative, --stage 1, 2 or both")


def main(config: Config) -> None:
    """Run the stages asked for."""
    config.check()
    config.output_path.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".process_data-", dir=config.output_path.parent) as work_dir:
        if 1 in config.stage:
            label_rollouts(config, Path(work_dir) / "orm")
        if 2 in config.stage:
            mix_in_experience(config, Path(work_dir) / "actor")


def label_rollouts(config: Config, work_dir: Path) -> None:
    """Stage 1: write `output_path`, say what became of the rollouts."""
    assert config.rollout_path is not None  # as `Config.check` makes sure
    read = read_rollouts(config.rollout_path, config.image_dir, config.round_id, config.last_n)
    rollouts = [rollout for rollout in read if rollout is not None]
    if config.add_reward:
        assert config.orm_path is not None
        rollouts = ask_reward_model(config.orm_path, rollouts, work_dir)
    records = [record for rollout in rollouts for record in with_rewards(rollout, config.gamma, config.mode)]
    if not records:
        raise UserError(f"{config.rollout_path}: no judged rollout; judge them with auto_eval.py, or give --add_reward")
    write_atomic(config.output_path, json.dumps(records, indent=2))
    verdicts = [rollout.success for rollout in rollouts]
    print(
        f"{config.output_path}: {len(records)} samples of {verdicts.count(True)} successes and "
        f"{verdicts.count(False)} failures; left out {verdicts.count(None)} unjudged and {len(read) - len(rollouts)} "
        "unfinished, broken or ended by a fault"
    )


def ask_reward_model(orm_path: Path, rollouts: Sequence[Rollout], work_dir: Path) -> list[Rollout]:
    """The rollouts with the model's verdicts; who did not answer has failed without being asked about."""
    asked = [rollout for rollout in rollouts if rollout.answered]
    samples = [_case(number, rollout, label) for number, rollout in enumerate(asked) for label in (YES, NO)]
    rows = score_samples(orm_path, samples, work_dir) if samples else {}
    logprobs = [row["logprob"] for row in rows.values()]  # in the order of the samples: YES, NO, YES, NO, ...
    p_yes = map(probability_of_yes, logprobs[::2], logprobs[1::2])
    return [
        dataclasses.replace(rollout, p_yes=(p := next(p_yes)), success=p >= 0.5)
        if rollout.answered
        else dataclasses.replace(rollout, success=False)
        for rollout in rollouts
    ]


def _case(number: int, rollout: Rollout, label: str) -> Sample:
    turns = [{"from": "human", "value": rollout.case}, {"from": "gpt", "value": label}]
    return Sample(f"{number}--{label}", turns, [rollout.case_image] if rollout.case_image else [])


def with_rewards(rollout: Rollout, gamma: float, mode: str) -> list[Record]:
    """The rollout's records with their columns; none when nobody judged it.

    `weight` is 0 for failures, so that training as it is learns from successes only.
    """
    if rollout.success is None:
        return []
    last = len(rollout.samples) - 1
    rewards = [float(rollout.success and (mode == "released" or index == last)) for index in range(last + 1)]
    returns = discounted_returns(rewards, gamma)
    places = reward_fields([sample["id"] for sample in rollout.samples], rollout.success)
    of_all = {"task": rollout.task, "trajectory_reward": int(rollout.success), "weight": float(rollout.success)}
    if rollout.p_yes is not None:
        of_all["p_yes"] = rollout.p_yes
    return [
        {**sample, **places[index], **of_all, "reward": rewards[index], "mc_return": returns[index]}
        for index, sample in enumerate(rollout.samples)
    ]


def mix_in_experience(config: Config, work_dir: Path) -> None:
    """Stage 2: write the `_filter` file, say what is in it."""
    assert config.actor_path is not None  # as `Config.check` makes sure
    rng = random.Random(config.seed)
    current = read_records(config.output_path)
    paths = [Path(path.rstrip(",")) for path in config.experience_paths]  # WebRL's README puts commas behind them
    successes = one_success_per_task(record for path in paths for record in read_experience(path))
    if {record["id"] for record in current} & {record["id"] for record in successes}:
        raise UserError(f"{config.output_path}: shares sample ids with its experience; each phase needs its --round_id")
    folders = [folder for path in paths if (folder := path.with_name("images")).is_dir()]
    scored = with_perplexity(config.actor_path, successes, folders, work_dir) if successes else []
    most = int(config.replay_ratio * len(current))
    replayed = in_window(scored, config.perplexity_window, most, rng)
    for name in {image for record in replayed for image in record["images"]}:
        source = next(folder / name for folder in folders if (folder / name).exists())
        place_image(source, config.image_dir / name)
    mixed = current + replayed
    rng.shuffle(mixed)
    target = config.output_path.with_name(f"{config.output_path.stem}_filter.json")
    write_atomic(target, json.dumps(mixed, indent=2))
    print(
        f"{target}: {len(current)} new samples, {len(replayed)} replayed of {len(successes)} steps of earlier success"
    )


def with_perplexity(actor: Path, records: list[Record], folders: list[Path], work_dir: Path) -> list[Record]:
    """The records with the actor's `perplexity` of their actions."""
    work_dir.mkdir(parents=True)
    candidates = work_dir / "candidates.json"
    write_atomic(candidates, json.dumps(records))
    rows = score_samples(actor, read_samples([candidates], folders), work_dir / "scores")
    return [{**record, "perplexity": rows[record["id"]]["perplexity"]} for record in records]


def read_experience(path: Path) -> list[Record]:
    """An earlier phase's records: what stage 1 wrote, or WebRL's own file."""
    return checked(path, list(read_webrl(path, path.parent, 0))) if path.suffix == ".pt" else read_records(path)


def read_records(path: Path) -> list[Record]:
    """What stage 1 wrote."""
    records = read_json(path)
    if not isinstance(records, list):
        raise UserError(f"{path}: not a list of samples")
    for number, record in enumerate(records, start=1):
        check_record(f"{path}: sample {number}", record)
    return checked(path, records)


def checked(path: Path, records: list[Record]) -> list[Record]:
    """The records; UserError when one lacks the columns that replay goes by."""
    for number, record in enumerate(records, start=1):
        if not isinstance(record.get("task"), str) or not isinstance(record.get("trajectory_reward"), int | float):
            raise UserError(f"{path}: sample {number} lacks task or trajectory_reward; give a file that stage 1 wrote")
    return records


if __name__ == "__main__":
    cli.run(Config, main, description=__doc__)
