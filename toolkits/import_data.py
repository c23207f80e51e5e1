"""Read other projects' data into ours, without running what their files say.

    python toolkits/import_data.py --format atif --input_files jobs/run1 --result_dir runs/a
    python toolkits/import_data.py --format hf --input_files dataset --image_dir images --save_json_file samples.json
    python toolkits/import_data.py --format auto --input_files a.jsonl --image_dir data --save_json_file samples.json
    python toolkits/import_data.py --format digiq --input_files webshop.pt --image_dir images --save_json_file web.json
    python toolkits/import_data.py --format pae --input_files train_trajectories.pt --image_dir pae --result_dir runs/a
    python toolkits/import_data.py --format digiq --input_files webshop.pt --image_dir images --result_dir runs/b
    python toolkits/import_data.py --format digiq --input_files webshop.pt --image_dir images \\
        --save_json_file web.json --features features.parquet --candidates candidates.parquet

The formats are those of toolkits/readers/formats.py; `--help` shows their table. What samples or trajectories cannot
hold is counted by kind and told in a line.

Trajectories of WebVoyager and OpenWebVoyager and sample JSON need no import: they are ours. Samples go on to
convert_to_tar_data.py, with `--image_dirs` as `--image_dir` here; rewards and returns travel with them. Trajectories go
on to auto_eval.py where nobody judged them, to convert_trajectories_to_json.py, and open in `elcano view`. Samples and
trajectories appear only when all input was good; images that were written before are removed again. What Digi-Q's files
keep of features and other actions goes into files of its own: readers/logs/features.py.
"""

import contextlib
import dataclasses
import functools
import shutil
import sys
from collections.abc import Generator, Iterator
from pathlib import Path
from runpy import run_path
from typing import Annotated, Any, Literal

try:
    from common import cli
except ModuleNotFoundError as missing:  # not the python of the virtual environment
    sys.exit(run_path(str(Path(__file__).resolve().parents[1] / "common" / "not_installed.py"))["say"](missing))

from common.errors import UserError
from common.inputs import keep_inputs
from common.options.limits import Checked, at_least
from data.action_spaces import action_space
from toolkits.readers.detect import detect
from toolkits.readers.formats import FORMATS, OF_ONE, OF_OTHERS, OF_TARS, table
from toolkits.readers.logs.digirl import read_digirl
from toolkits.readers.logs.features import Kept, check_kept, write_candidates, write_features
from toolkits.readers.reading.addresses import is_address
from toolkits.readers.reading.ends_of_paths import ends_told
from toolkits.readers.reading.folders import Tries, counted
from toolkits.readers.reading.ids import Ids
from toolkits.readers.reading.left_out import LeftOut
from toolkits.readers.reading.references import nothing_of_what_is_refused
from toolkits.readers.reading.steps import NoImageError, with_image_dir
from toolkits.readers.research.episode_folders import Losses, write_episode
from toolkits.readers.research.episode_samples import episode_samples
from toolkits.readers.research.research_sets import SETS
from toolkits.shards.sample_records import encode_once, write_list


@dataclasses.dataclass(frozen=True)
class Config(Checked):
    """Read other projects' data into ours."""

    format: Literal["auto", *FORMATS]  # pyright: ignore[reportInvalidTypeForm]  # the flag's values are the table's names
    """What the files are; see the table above. `auto` looks at them."""
    input_files: tuple[str, ...]
    """Files of that format, or folders where the table says so."""
    image_dir: str = "."
    """The folder that holds their images. Images within the files (tars, Parquet, data URLs) become files there."""
    save_json_file: str = ""
    """The sample file to write."""
    result_dir: str = ""
    """The folder of trajectory folders to make; for `digirl` and `digiq` in place of a sample file."""
    features: str = ""
    """The Parquet file to write of the features that samples of `digirl` and `digiq` have; none: they are left out."""
    candidates: str = ""
    """The Parquet file to write of the other actions that samples of `digiq` have; none: they stay in `action_list`."""
    round_id: int = 1
    """Written into the ids of samples that have none."""
    action_space: str = ""
    """How the actions of demonstrations are said; empty: by numbers where a set numbers its elements, as `androidworld`
    has them where a set says them in its words, else as `qwen_computer_use` has them."""
    num_workers: Annotated[int, at_least(0)] = 0
    """Processes that read the tars of a folder (`webdataset`, `energon`); 0: one per CPU. The result is the same."""

    @property
    def wanted(self) -> frozenset[str]:
        """`features`, `candidates` or both."""
        return frozenset(name for name in ("features", "candidates") if getattr(self, name))


def main(config: Config) -> None:
    """Import, then say what was read."""
    for file in config.input_files:
        if is_address(file):
            raise UserError(f"--input_files {file}: an address; nothing is fetched here, so fetch it and give the file")
    for flag in ("save_json_file", "features", "candidates"):
        keep_inputs(f"--{flag}", getattr(config, flag), config.input_files)
    config = _with_format(config)
    if config.wanted and (config.format not in ("digirl", "digiq") or config.result_dir):
        flag = f"--{min(config.wanted)}"
        raise UserError(f"{flag} is of the samples of digirl and digiq; give it with --save_json_file and one of these")
    found = FORMATS[config.format]
    if config.action_space and not found.episodes:
        raise UserError(f"--action_space is of {', '.join(SETS)}; convert_action_space.py says other trajectories anew")
    single = found.episodes and found.episodes.has_single_steps and not config.result_dir
    if not single and (not found.samples or (found.trajectories and config.result_dir)):
        make, target, what = to_trajectories, config.result_dir, "trajectories"
    else:
        make, target, what = to_samples, config.save_json_file, "samples"
    try:
        with ends_told():
            count = make(config)
    except NoImageError as error:
        raise with_image_dir(error, [Path(file) for file in config.input_files]) from None
    print(f"{target}: {count} {what}")


def _with_format(config: Config) -> Config:
    if config.format != "auto":
        return config
    found = {detect(Path(file)) for file in config.input_files}
    if len(found) != 1:
        raise UserError(f"--input_files are of several formats ({', '.join(sorted(found))}); import each by itself")
    print(f"read as --format {min(found)}")
    return dataclasses.replace(config, format=min(found))


def to_samples(config: Config) -> int:
    """Write the sample file; returns the number of samples."""
    if not config.save_json_file:
        raise UserError(f"--save_json_file is missing; {config.format} gives samples")
    kept = Kept(config.wanted)
    target = Path(config.save_json_file)
    target.parent.mkdir(parents=True, exist_ok=True)
    with nothing_of_what_is_refused():
        return write_list(target, _records(config, kept))


def _records(config: Config, kept: Kept) -> Iterator[bytes]:
    """All samples, encoded; the files of what is kept beside them are written once the last was good."""
    with contextlib.closing(_read(config, kept)) as read:  # its processes end before what they wrote is removed
        yield from encode_once(", ".join(config.input_files), read)
    _write_kept(config, kept)


def _read(config: Config, kept: Kept) -> Generator[tuple[str, dict[str, Any]], None, None]:
    """(where it stands, a sample) of all files."""
    files, image_dir, found = list(map(Path, config.input_files)), Path(config.image_dir), FORMATS[config.format]
    if found.episodes:
        losses, space = Losses(), action_space(config.action_space or found.episodes.space)
        episodes = found.episodes.episodes(files, image_dir)
        for record in episode_samples(config.format, episodes, space, image_dir, config.round_id, losses):
            yield config.format, record
        losses.tell(config.save_json_file)
    elif found.samples:
        reader = functools.partial(read_digirl, kept=kept) if found.samples is read_digirl else found.samples
        if of_tars := OF_TARS.get(config.format):
            reader = functools.partial(of_tars, num_workers=config.num_workers)
        ids = Ids()
        for file in files:
            records = reader(file, image_dir, config.round_id)
            for record in ids.once(records) if config.format in OF_OTHERS else records:
                yield str(file), record
        ids.left_out.tell(config.save_json_file)


def _write_kept(config: Config, kept: Kept) -> None:
    """The files of features and candidates that are wanted; what else there is, is told."""
    check_kept(kept, config.input_files)
    if config.features:
        count = write_features(Path(config.features), kept.steps, config.input_files)
        print(f"{config.features}: features of {count} samples and candidates")
    if config.candidates:
        count = write_candidates(Path(config.candidates), kept.steps, config.input_files)
        print(f"{config.candidates}: {count} candidates beside the actions of {len(kept.steps)} steps")
    for name in sorted(kept.left_out):
        print(f"the files hold {name}, too; --{name} FILE keeps them")


def to_trajectories(config: Config) -> int:
    """Make the result folder; returns the number of trajectories."""
    target = Path(config.result_dir)
    if not config.result_dir:
        raise UserError(f"--result_dir is missing; {config.format} gives trajectories")
    if target.exists() and (target.is_file() or any(target.iterdir())):
        raise UserError(f"--result_dir {target}: something is there; give another folder")
    temporary = target.with_name(f".{target.name}.tmp")
    shutil.rmtree(temporary, ignore_errors=True)  # what a killed run left
    temporary.mkdir(parents=True)
    try:
        tries = Tries()
        _write_trajectories(config, temporary, tries)
        if not tries.count:
            raise UserError(f"{', '.join(config.input_files)}: no trajectories")
        shutil.rmtree(target, ignore_errors=True)
        temporary.rename(target)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)
    return tries.count


def _write_trajectories(config: Config, out_dir: Path, tries: Tries) -> None:
    files, image_dir, found = list(map(Path, config.input_files)), Path(config.image_dir), FORMATS[config.format]
    if found.episodes:
        losses, space = Losses(), action_space(config.action_space or found.episodes.space)
        for episode in found.episodes.episodes(files, image_dir):
            write_episode(config.format, episode, space, out_dir, tries, losses)
        losses.tell(config.result_dir)
    elif found.trajectories:
        left_out = LeftOut()
        for file in files:
            with counted(left_out, tries) if config.format in OF_ONE else contextlib.nullcontext():
                found.trajectories(file, image_dir, out_dir, tries)
        left_out.give_reason(tries.count)
        left_out.tell(config.result_dir)


if __name__ == "__main__":
    cli.run(Config, main, description=f"{__doc__}\n{table()}")
