"""How many ranks start, on hosts with 0, 1, 2, 4 and 8 GPUs; CUDA is pretended."""

import pytest
import torch

from common.errors import UserError
from common.options.flags import flags
from tests.conftest import ROOT
from tests.training.launch.test_config import PATHS
from training.config import parse
from training.launch.devices import Ranks, plan_ranks
from training.launch.launch import check_sizes, ranks_of
from training.layout import Layout


@pytest.fixture
def host(monkeypatch: pytest.MonkeyPatch) -> object:
    def has(gpus: int) -> None:
        monkeypatch.setattr(torch.cuda, "device_count", lambda: gpus)

    return has


@pytest.mark.parametrize(
    ("gpus", "flags", "expected"),
    [
        (8, "", Ranks(1, 8)),  # the published layout: TP=8
        (8, "--tp 4", Ranks(2, 8)),
        (8, "--tp 4 --dp 1", Ranks(1, 4, idle=4)),
        (8, "--tp 2 --pp 2 --cp 2", Ranks(1, 8)),
        (8, "--tp 3", Ranks(2, 6, idle=2)),
        (8, "--tp 2 --global_batch_size 2", Ranks(2, 4, idle=4)),
        (8, "--tp 2 --global_batch_size 6", Ranks(3, 6, idle=2)),
        (8, "--tp 2 --host_gpu_num 4", Ranks(2, 4, idle=4)),
        (8, "--tp 8 --host_num 2", Ranks(2, 8)),
        (8, "--tp 8 --pp 2 --host_num 2", Ranks(1, 8)),
        (4, "--tp 4", Ranks(1, 4)),
        (4, "--tp 1", Ranks(4, 4)),
        (2, "--tp 2", Ranks(1, 2)),
        (1, "--tp 1", Ranks(1, 1)),
        (0, "", Ranks(1, 8)),
        (0, "--tp 2", Ranks(1, 2)),
        (0, "--tp 2 --dp 2", Ranks(2, 4)),
        (0, "--tp 2 --host_gpu_num 4", Ranks(2, 4)),
    ],
)
def test_ranks_follow_the_layout(host: object, gpus: int, flags: str, expected: Ranks) -> None:
    host(gpus)
    config = parse([*PATHS, *flags.split()])
    ranks = ranks_of(config)
    assert ranks == expected
    check_sizes(config, ranks.per_host * config.host_num)
    assert (ranks.note is None) == (not expected.idle)


@pytest.mark.parametrize("gpus", [1, 2, 4, 8])
@pytest.mark.parametrize("tp", [1, 2, 4, 8])
def test_a_layout_runs_on_every_host_that_has_its_devices(host: object, gpus: int, tp: int) -> None:
    host(gpus)
    if tp > gpus:
        with pytest.raises(UserError, match=f"TP={tp} needs {tp} devices, but there are {gpus} GPU"):
            plan_ranks(Layout(tp), 64)
    else:
        assert plan_ranks(Layout(tp), 64) == Ranks(gpus // tp, gpus)


@pytest.mark.parametrize(
    ("gpus", "flags", "message"),
    [
        (2, "--tp 2 --pp 2", r"TP=2 x PP=2 needs 4 devices, but there are 2 GPUs \(see CUDA_VISIBLE_DEVICES"),
        (1, "--tp 1 --dp 2", "TP=1 x DP=2 needs 2 devices, but there are 1 GPU "),
        (2, "--tp 1 --host_gpu_num 8", "HOST_GPU_NUM=8, but CUDA_VISIBLE_DEVICES leaves 2 GPUs"),
        (0, "--tp 4 --host_gpu_num 2", "TP=4 needs 4 devices, HOST_GPU_NUM allows 2"),
        (8, "--tp 1 --dp 3 --host_num 2", "TP=1 x DP=3 = 3 ranks cannot be spread equally over 2 hosts"),
    ],
)
def test_what_does_not_fit_is_refused_in_one_line(host: object, gpus: int, flags: str, message: str) -> None:
    host(gpus)
    with pytest.raises(UserError, match=message):
        ranks_of(parse([*PATHS, *flags.split()]))


def test_what_stays_unused_is_said(host: object) -> None:
    host(8)
    note = plan_ranks(Layout(3), 64).note
    assert note == "6 of this host's 8 GPUs are used, 2 stay unused"


@pytest.mark.parametrize(
    ("visible", "replicas"), [("", "2"), ("-1", "2"), ("0", "1"), ("3", "1"), ("0,1", "2"), ("0,1,2,3", "2")]
)
def test_the_quickstart_fits_every_host(
    host: object, monkeypatch: pytest.MonkeyPatch, visible: str, replicas: str
) -> None:
    from elcano.recipe import load_recipe

    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", visible)
    gpus = 0 if visible in ("", "-1") else len(visible.split(","))
    host(gpus)
    options = load_recipe(ROOT / "examples" / "quickstart" / "recipe.py").training
    assert (options.tp, options.dp) == (1, int(replicas))
    config = parse([*PATHS, *flags(options)])
    assert ranks_of(config) == Ranks(int(replicas), int(replicas), idle=max(0, gpus - int(replicas)))
