"""The way by another format changes no byte of the shards, so no loss: what is trained on is the same."""

from pathlib import Path

import pytest

from tests.conftest import ROOT
from tests.toolkits.interchange import samples_of, shards
from tests.toolkits.readers.test_atif import exported, imported, whole
from tests.toolkits.trajectories import write_trajectory

RELEASED = ROOT / "tests" / "fixtures" / "openwebvoyager" / "trajectories"


@pytest.mark.parametrize("kind", ["atif", "adp"])
def test_trajectories(tmp_path: Path, kind: str) -> None:
    whole(tmp_path / "ours")
    write_trajectory(tmp_path / "ours", "Cafe--7", num_steps=6)
    direct = shards(*samples_of(tmp_path / "ours", tmp_path / "direct"), tmp_path / "direct" / "shards")
    back = imported(tmp_path, exported(tmp_path, tmp_path / "ours", kind), kind=kind)
    assert shards(*samples_of(back, tmp_path / "by"), tmp_path / "by" / "shards") == direct


@pytest.mark.parametrize("kind", ["atif", "adp"])
def test_trajectories_that_openwebvoyager_released(tmp_path: Path, kind: str) -> None:
    """They have no addresses, and end as their log says."""
    direct = shards(*samples_of(RELEASED, tmp_path / "direct"), tmp_path / "direct" / "shards")
    back = imported(tmp_path, exported(tmp_path, RELEASED, kind), kind=kind)
    assert shards(*samples_of(back, tmp_path / "by"), tmp_path / "by" / "shards") == direct
