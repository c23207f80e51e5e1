"""The quickstart's policy learns the same from its demonstrations by way of another format: the losses of its first 20
steps are equal to the bit."""

import importlib.util
from pathlib import Path

import pytest

from common.defaults import ROOT, STARTING_POLICY
from tests.toolkits.interchange import shards
from tests.training.conftest import converted, train
from toolkits import convert_trajectories_to_json, export_data, import_data

OPTIONS = {
    **{"tp": 1, "image_num": 1, "global_batch_size": 2, "train_iters": 20, "save_interval": 20},
    **{"lr": 7e-4, "min_lr": 1e-5, "adam_beta2": 0.95, "lr_warmup_iters": 10},
}
"""Those of the quickstart's imitation learning."""


@pytest.fixture(scope="module")
def demonstrations(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Its teacher's trajectories, one of each kind of task, collected in the browser."""
    spec = importlib.util.spec_from_file_location(
        "make", ROOT / "examples" / "quickstart" / "demonstrations" / "make.py"
    )
    assert spec and spec.loader
    make = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(make)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(ROOT)
        return make.collect(tmp_path_factory.mktemp("demonstrations"))


@pytest.fixture(scope="module")
def starting_policy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return converted("hf2mg", STARTING_POLICY, tmp_path_factory.mktemp("megatron") / "megatron")


@pytest.fixture(scope="module")
def samples(demonstrations: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    return samples_of(demonstrations, tmp_path_factory.mktemp("samples"))


@pytest.fixture(scope="module")
def expected(
    samples: tuple[Path, Path], starting_policy: Path, tmp_path_factory: pytest.TempPathFactory
) -> tuple[dict[str, bytes], list[float]]:
    """The tars that our own way makes, and the losses on them."""
    folder = tmp_path_factory.mktemp("ours")
    tars = shards(*samples, folder / "shards")
    losses = train("idefics2", folder / "shards", starting_policy, folder / "run", **OPTIONS)
    assert len(losses) == 20 and losses[-1] < losses[0]
    return tars, losses


def samples_of(results: Path, folder: Path) -> tuple[Path, Path]:
    """As the quickstart makes them: (sample file, folder of images)."""
    images, file = folder / "images", folder / "samples.json"
    flags = {"result_dir": str(results), "image_dir": str(images), "save_json_file": str(file), "num_workers": 1}
    convert_trajectories_to_json.main(convert_trajectories_to_json.Config(**flags, last_n=1, only_success=True))
    return file, images


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["atif", "adp", "hf", "webdataset"])
def test_losses_are_equal_to_the_bit(
    kind: str,
    demonstrations: Path,
    samples: tuple[Path, Path],
    starting_policy: Path,
    expected: tuple[dict[str, bytes], list[float]],
    tmp_path: Path,
) -> None:
    out, packed = tmp_path / "out", tmp_path / "shards"
    if kind in ("atif", "adp"):
        export_data.main(export_data.Config(kind, str(out), result_dir=str(demonstrations)))
        back = str(tmp_path / "back")
        import_data.main(import_data.Config(kind, (str(out),), result_dir=back))
        assert shards(*samples_of(Path(back), tmp_path), packed) == expected[0]
    else:
        given = {"json_files": (str(samples[0]),), "image_dirs": (str(samples[1]),)}
        export_data.main(export_data.Config(kind, str(out), **given))
        if kind == "hf":
            images, file = tmp_path / "images", tmp_path / "samples.json"
            import_data.main(import_data.Config(kind, (str(out),), str(images), str(file)))
            assert shards(file, images, packed) == expected[0]
        else:  # these tars train as they are
            packed = out
    assert train("idefics2", packed, starting_policy, tmp_path / "run", **OPTIONS) == expected[1]
