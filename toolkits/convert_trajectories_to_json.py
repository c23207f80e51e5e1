"""Turn judged trajectories into training samples: one sample per step, as OpenWebVoyager's training JSON.

    python toolkits/convert_trajectories_to_json.py --result_dir results/train --image_dir data/images/il \\
        --save_json_file data/json/il.json --round_id 1 --only_success

A sample is {"id", "images": [names in image_dir], "conversations": [{"from": "human" | "gpt", "value"}]}. Kept are the
trajectories in which the agent answered, with `--keep_unfinished` those too in which it ran out of steps, with
`--only_success` those the judge called a success, with `--only_judged` these and failures; never those that a fault
made invalid. Folders that are broken or unfinished are counted and passed over. Where the server gave them, a sample
also has its reply's `token_ids`, `logprobs` and `weights_version`; log-probabilities are left out where the policy read
another prompt than the sample's. Samples of a success or a failure have its reward (`data/samples/rewarded_step.py`).

With `--corrected` failures are kept, too, where a teacher corrected them (`collection/correct.py`): the steps at which
it would have said something else than the agent did, in its words; what is repeated in a trajectory, once.

Names of samples: `data/samples/turn_samples.py`.
"""

import collections
import contextlib
import dataclasses
import filecmp
import functools
import gc
import os
import shutil
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from runpy import run_path
from typing import Annotated, Any

try:
    from common import cli
except ModuleNotFoundError as missing:  # not the python of the virtual environment
    sys.exit(run_path(str(Path(__file__).resolve().parents[1] / "common" / "not_installed.py"))["say"](missing))

from common.errors import UserError
from common.full_disk import writing_to
from common.options.limits import Checked, at_least
from common.parallel import run_parallel
from common.shown.tables import Table, print_table
from common.spool import Spool
from data import correction as corrections
from data.image_check import check_image
from data.outcome import Verdict
from data.samples.turn_samples import image_name, samples_of
from data.samples.whole_trajectory import join_steps
from data.trajectory import MAX_STEPS, Trajectory, is_complete, list_trajectories, read_trajectory
from toolkits.shards.sample_records import encode_record, write_list
from toolkits.trajectories.tree_tokens import TreeCutter

_CHUNK = 8  # trajectories handed to a worker at a time
_FILES = {
    "trajectory.json",
    "steps.jsonl",
    "interact_messages.json",
    "agent.log",
    "outcome.json",
    "eval_res.json",
    corrections.FILE_NAME,
}


@dataclasses.dataclass(frozen=True)
class Config(Checked):
    """Turn judged trajectories into training samples."""

    result_dir: str
    """Folder of trajectory folders (`task...`), as collection/run.py or exploration_feedback.py leave it."""
    image_dir: str
    """Where the samples' screenshots go (hard links where the disk allows)."""
    save_json_file: str
    """The JSON file to write."""
    round_id: Annotated[int, at_least(0)] = 1
    """Written into the sample ids, so that samples of several rounds can be mixed."""
    last_n: Annotated[int, at_least(0)] = 3
    """Screenshots shown at each step; the collector's `--max_attached_imgs`, 0 for models that read no images."""
    only_success: bool = False
    """Keep only trajectories judged a success."""
    keep_unfinished: bool = False
    """Also keep trajectories in which the agent ran out of steps without an answer: failures, for algorithms that learn
    from those too."""
    only_judged: bool = False
    """Keep only trajectories judged a success or a failure: those that have rewards."""
    whole_trajectories: bool = False
    """One sample for the steps that join (`data/samples/whole_trajectory.py`): those at points whose screenshots all
    stay among the `last_n`. Other steps become a sample each."""
    corrected: bool = False
    """With `--only_success`: also the steps of failures that a teacher corrected, in its words."""
    judges: tuple[str, ...] = ()
    """With `--only_success` or `--only_judged`: whose verdicts count, by name (`oracle`, ...; that of OpenWebVoyager
    is `eval_res.json`). Empty: anybody's."""
    max_tree_tokens: Annotated[int, at_least(0)] = 0
    """Keep only the first lines of each accessibility tree, up to so many tokens of `--tokenizer`; 0: all."""
    tokenizer: str = ""
    """A checkpoint folder (or its tokenizer.json), for `--max_tree_tokens`."""
    num_workers: Annotated[int, at_least(0)] = 0
    """Processes; 0: one per CPU."""

    def check_together(self) -> None:
        if self.corrected and not self.only_success:
            raise UserError("--corrected puts a teacher's words into failures; give it with --only_success")
        if self.judges and not (self.only_success or self.only_judged):
            raise UserError("--judges says whose verdicts count for --only_success or --only_judged; give one of these")


@dataclasses.dataclass(frozen=True)
class Converted:
    """What became of a folder: its state before it was read, its fate, why it could not be read, (id, JSON text) of its
    samples, who judged it, how many samples lost their log-probabilities, which belong to another prompt, how many
    steps what was kept has, and whether that was judged a failure."""

    name: str
    state: list[list[Any]]
    fate: str
    why: str
    samples: list[tuple[str, bytes]]
    judge: str = ""
    num_unlike: int = 0
    num_steps: int = 0
    is_failure: bool = False


def main(config: Config) -> None:
    """Convert, then print what happened to each folder."""
    folders = list_trajectories(config.result_dir)
    if not folders:
        raise UserError(f"{config.result_dir}: holds no trajectory folder (task...)")
    cutter = TreeCutter.of(config.max_tree_tokens, config.tokenizer)
    Path(config.image_dir).mkdir(parents=True, exist_ok=True)
    target, results = Path(config.save_json_file), Path(config.result_dir)
    spool = Spool(target.with_name(f".{target.name}.partial"), _depends(config), lambda name: state_of(results / name))
    with writing_to(target):  # what was converted stays for the same command
        try:
            todo = [folder for folder in folders if folder.name not in spool.entries]
            work = functools.partial(convert, config=config, cutter=cutter)
            for done in run_parallel(work, todo, config.num_workers, "trajectories", _CHUNK):
                own = ("fate", "why", "judge", "num_unlike", "num_steps", "is_failure")
                fields = {name: getattr(done, name) for name in own}
                spool.add(done.name, done.state, fields, done.samples)
            _check_judges(config, [spool.entries[folder.name] for folder in folders])
            write_list(target, spool.sorted_records())
        except UserError:
            spool.remove()
            raise
    _print_report(config, folders, spool)
    spool.remove()


def convert(folder: Path, config: Config, cutter: TreeCutter) -> Converted:
    """The samples of one folder; its screenshots are placed in `config.image_dir`."""
    state = state_of(folder)
    fate, trajectory, why = sort_out(
        folder, config.only_success, config.judges, config.keep_unfinished or config.corrected, config.only_judged
    )
    samples, image_dir, num_unlike, num_steps, is_failure = [], Path(config.image_dir), 0, 0, False
    outcome = trajectory.outcome if trajectory else None
    if (
        trajectory
        and (fate == "failed" and config.corrected)
        and (right := corrections.read_corrections(folder, len(trajectory.steps)))
    ):
        fate = "corrected"
        for sample, screenshot in corrected_samples(trajectory, right.replies, config, cutter):
            place_image(screenshot, image_dir / image_name(sample["id"]))
            samples.append((sample["id"], encode_record(sample)))
        num_steps = len(samples)
    if trajectory and fate == "kept":
        num_known = sum(bool(step.logprobs) for step in trajectory.steps)
        pairs, num_steps = samples_of(trajectory, config.round_id, config.last_n, cutter.cut), len(trajectory.steps)
        for sample, screenshot in pairs:
            place_image(screenshot, image_dir / image_name(sample["id"]))
            num_known -= "logprobs" in sample
        num_unlike, turn_samples = num_known, [sample for sample, _ in pairs]
        for sample in join_steps(turn_samples) if config.whole_trajectories else turn_samples:
            samples.append((sample["id"], encode_record(sample)))
        is_failure = outcome is not None and outcome.verdict is Verdict.FAILURE
    judge = outcome.judge if outcome else ""
    return Converted(folder.name, state, fate, why, samples, judge, num_unlike, num_steps, is_failure)


def sort_out(
    folder: Path,
    only_success: bool,
    judges: Iterable[str] = (),
    keep_unfinished: bool = False,
    only_judged: bool = False,
) -> tuple[str, Trajectory | None, str]:
    """(fate, the trajectory if it could be read, why not)."""
    if not is_complete(folder):
        return "unfinished", None, ""
    try:
        trajectory = read_trajectory(folder)
        for step in trajectory.steps:
            check_image(trajectory.screenshot(step.number))
    except Exception as error:  # a folder from anywhere can be broken in any way, and must not stop the others
        return "broken", None, " ".join(str(error).split()) or type(error).__name__
    outcome = trajectory.outcome
    if outcome is not None and outcome.verdict in (Verdict.INVALID, Verdict.BLOCKED):
        return outcome.verdict.value, trajectory, ""
    is_done = trajectory.finished or (keep_unfinished and trajectory.status == MAX_STEPS)
    if not is_done or not trajectory.steps:
        return "unfinished", trajectory, ""
    if (only_success or only_judged) and (outcome is None or (judges and outcome.judge not in judges)):
        return "unjudged", trajectory, ""
    if only_judged and (outcome is None or outcome.verdict.solved is None):
        return "unjudged", trajectory, ""
    if only_success and (outcome is None or not outcome.success):
        return "failed", trajectory, ""
    return "kept", trajectory, ""


def corrected_samples(
    trajectory: Trajectory, replies: list[str], config: Config, cutter: TreeCutter
) -> Iterator[tuple[dict[str, Any], Path]]:
    """Those of `samples_of` at which the teacher says something else than the agent, with its reply; of a page that
    comes again, the first. What the agent drew and earned there is not theirs."""
    pairs, known = samples_of(trajectory, config.round_id, config.last_n, cutter.cut), set()
    for (sample, screenshot), step, tree, reply in zip(pairs, trajectory.steps, trajectory.trees, replies, strict=True):
        if reply and (tree, reply) not in known and reply != step.reply:
            known.add((tree, reply))
            *asked, taken = sample["conversations"]
            said = {**sample, "conversations": [*asked, {**taken, "value": reply}]}
            yield {name: said[name] for name in ("id", "images", "conversations")}, screenshot


def place_image(source: Path, target: Path) -> None:
    """Hard-link or copy `source` to `target`; a killed copy leaves no target.

    Raises:
        UserError: `target` holds another picture, to which samples that were written before may refer.
    """
    with contextlib.suppress(OSError):  # its folder is missing, it is there already, or must be copied: see below
        os.link(source, target)
        return
    target.parent.mkdir(parents=True, exist_ok=True)
    if target.exists():
        if target.samefile(source) or filecmp.cmp(source, target, shallow=False):
            return
        raise UserError(
            f"{target}: holds another picture than {source}, of another trajectory with this sample id; keep one of "
            "the two, or give this conversion its own folder of images"
        )
    temporary = target.with_name(f".{target.name}.{os.getpid()}.tmp")
    temporary.unlink(missing_ok=True)
    try:
        os.link(source, temporary)
    except OSError:  # another file system, or one without hard links
        try:
            shutil.copyfile(source, temporary)
        except OSError:
            temporary.unlink(missing_ok=True)
            raise
    temporary.replace(target)


def _depends(config: Config) -> dict[str, Any]:
    """What all samples depend on, beside their folders."""
    return {name: value for name, value in dataclasses.asdict(config).items() if name != "num_workers"} | {
        "judges": list(config.judges)
    }


def state_of(folder: Path) -> list[list[Any]]:
    """Name, size and time of each file that the samples of `folder` depend on."""
    files = []
    with contextlib.suppress(OSError):  # gone, or a link to nothing
        for entry in os.scandir(folder):
            if entry.name in _FILES:
                stat = entry.stat()
                files.append([entry.name, stat.st_size, stat.st_mtime_ns])
    return sorted(files)


def _check_judges(config: Config, entries: Iterable[dict[str, Any]]) -> None:
    """`UserError` for a judge that judged nothing here."""
    known = collections.Counter(entry["judge"] for entry in entries if entry.get("judge"))
    for judge in config.judges:
        if judge not in known:
            found = ", ".join(f"{name} ({count})" for name, count in known.items()) or "nobody"
            raise UserError(
                f"--judges {judge}: judged no trajectory of {config.result_dir}; those were judged by {found}"
            )


def _print_report(config: Config, folders: list[Path], spool: Spool) -> None:
    fates = [
        "kept",
        *(["corrected"] if config.corrected else []),
        "unfinished",
        "failed",
        "unjudged",
        "blocked",
        "invalid",
        "broken",
    ]
    entries = {folder.name: spool.entries[folder.name] for folder in folders}
    counts = collections.Counter(entry["fate"] for entry in entries.values())
    for name, entry in entries.items():
        if entry["why"]:
            print(f"{entry['fate']} {name}: {entry['why']}")
    table = Table([], ["read", *fates, "samples"])
    table.add(str(len(folders)), *(str(counts[fate]) for fate in fates), str(len(spool.names)))
    print_table(table)
    if num_unlike := sum(entry.get("num_unlike", 0) for entry in entries.values()):
        print(
            f"{num_unlike} samples without log-probabilities: the policy read another prompt; give --last_n "
            "what the collector had as --max_attached_imgs, 0 after --text_only"
        )
    if config.whole_trajectories:
        num_steps = sum(entry.get("num_steps", 0) for entry in entries.values())
        print(
            f"{num_steps} steps in {len(spool.names)} samples; a step has one of its own where the next one is not "
            "shown all that it was: trees are omitted once they are old, screenshots beyond --last_n"
        )
    num_failures = sum(entry.get("is_failure", False) for entry in entries.values())
    if num_failures and not config.only_judged:
        print(f"{num_failures} of those kept were judged a failure; --only_success leaves them out")
    if not counts["kept"] + counts["corrected"]:
        print("no trajectory was kept, so there is no sample:", end=" ")
    print(config.save_json_file)


if __name__ == "__main__":
    gc.disable()  # nothing here refers to itself, and looking for what does costs a few percent
    cli.run(Config, main, description=__doc__)
