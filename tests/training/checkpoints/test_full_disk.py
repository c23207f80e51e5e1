"""A disk that fills up while a checkpoint is written: one line, with the folder and the checkpoint that is kept."""

from pathlib import Path

import pytest

from tests.small_disk import small_disk
from tests.training.script import Run

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("in_background", [False, True])
@pytest.mark.parametrize("num_kilobytes", [300, 20_000])
def test_a_full_disk_is_one_line_and_the_run_goes_on_where_there_is_room(
    shards: Path, megatron: Path, tmp_path: Path, num_kilobytes: int, in_background: bool
) -> None:
    options = {"save_interval": 1, "train_iters": 40, "async_save": str(in_background).lower()}
    with small_disk(tmp_path / "disk", num_kilobytes) as disk:
        run = Run(shards, megatron, disk, **options)
        output = run.finish(exit_code=2)
        complete = sorted(run.checkpoints.glob("iter_*"))
    assert "Traceback" not in output
    [line] = [line for line in output.splitlines() if line.startswith("error:")]
    assert f"{run.checkpoints}: no space left on device" in line
    assert (f"{complete[-1].name} is kept" if complete else "no earlier one") in line
