"""What hf2mg writes about images: OpenWebVoyager's values into a release, nothing into what was trained already."""

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from common.errors import UserError
from models.idefics2.chat_template import CHAT_TEMPLATE
from models.processor import describe, load_processor, splitting_remark
from tests import tiny
from tests.conftest import ROOT
from tests.tiny import llava
from tests.toolkits import checkpoints
from toolkits.model_checkpoints_convertor.convert import Config, main

OWN = "longest edge 112, shortest edge 43"


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Its processor does not split images."""
    return tiny.build_policy(tmp_path_factory.mktemp("recipe") / "trained", layers=1)


@pytest.fixture(scope="module")
def released(trained: Path) -> Path:
    """Its processor splits images, and has no chat template."""
    folder = shutil.copytree(trained, trained.with_name("released"))
    fields = json.loads((folder / "processor_config.json").read_text())
    fields["image_processor"]["do_image_splitting"] = True
    (folder / "processor_config.json").write_text(json.dumps(fields))
    (folder / "chat_template.jinja").unlink()
    return folder


def convert(source: Path, target: Path, direction: str = "hf2mg", **flags: Any) -> str:
    """What the processor in `target` says after it."""
    main(Config(direction=direction, load_path=source, save_path=target, **flags))  # type: ignore[arg-type]
    return describe(target, load_processor(target))


@pytest.mark.parametrize(
    ("flags", "seen"),
    [
        ({}, "longest edge 980, shortest edge 980, not split"),
        ({"image_size": 490}, "longest edge 490, shortest edge 490, not split"),
        ({"do_image_splitting": True}, "longest edge 980, shortest edge 980, split into 5"),
        ({"image_recipe": "keep"}, f"{OWN}, split into 5"),
        ({"image_recipe": "keep", "do_image_splitting": False}, f"{OWN}, not split"),
    ],
)
def test_a_release_gets_what_was_published_or_asked(
    released: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], flags: dict[str, Any], seen: str
) -> None:
    assert convert(released, tmp_path / "mg", **flags) == seen
    assert (tmp_path / "mg" / "chat_template.jinja").read_text() == CHAT_TEMPLATE
    said = capsys.readouterr().out.splitlines()
    assert len(said) == 1 + (seen != f"{OWN}, split into 5")
    assert said[-1] == f"{tmp_path}/mg: a Megatron checkpoint; training takes it as PRETRAIN_CHECKPOINT_PATH"
    if "image_recipe" not in flags:
        assert "--image_recipe keep" in said[0]
    assert convert(tmp_path / "mg", tmp_path / "hf", "mg2hf") == seen
    assert "images:" not in capsys.readouterr().out


def test_what_was_trained_is_kept(trained: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert convert(trained, tmp_path / "mg") == f"{OWN}, not split"
    for name in ("processor_config.json", "chat_template.jinja"):
        assert (tmp_path / "mg" / name).read_bytes() == (trained / name).read_bytes()
    assert "images:" not in capsys.readouterr().out
    assert convert(trained, tmp_path / "asked", image_size=56) == "longest edge 56, shortest edge 56, not split"


def test_what_was_trained_split_stays_split(released: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Around again, as every round of a run goes, without telling each conversion; nothing remarks on it either."""
    convert(released, tmp_path / "mg", image_recipe="keep")
    assert convert(tmp_path / "mg", tmp_path / "hf", "mg2hf") == f"{OWN}, split into 5"
    assert convert(tmp_path / "hf", tmp_path / "again") == f"{OWN}, split into 5"
    assert "images:" not in capsys.readouterr().out
    assert splitting_remark(released, load_processor(released))
    assert splitting_remark(tmp_path / "hf", load_processor(tmp_path / "hf")) is None


@pytest.mark.parametrize("direction", ["hf2mg", "mg2hf"])
def test_an_unmarked_megatron_checkpoint_gets_what_it_was_trained_with(
    released: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], direction: str
) -> None:
    """Before there were marks, training never split, whatever the files said."""
    convert(released, tmp_path / "mg", image_recipe="keep")
    (tmp_path / "mg" / "elcano.json").unlink()
    assert convert(tmp_path / "mg", tmp_path / "out", direction) == "longest edge 980, shortest edge 980, not split"
    assert "images: wrote --image_size 980" in capsys.readouterr().out


def test_llava_is_kept_and_has_nothing_to_set(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = llava.build_policy(tmp_path / "llava", is_next=False)
    before = describe(folder, load_processor(folder))
    assert convert(folder, tmp_path / "mg") == before
    assert "images:" not in capsys.readouterr().out
    with pytest.raises(UserError, match="--image_size"):
        convert(folder, tmp_path / "other", image_size=490)
    assert not (tmp_path / "other").exists()


def test_the_way_back_only_copies(released: Path, tmp_path: Path) -> None:
    convert(released, tmp_path / "mg")
    with pytest.raises(UserError, match="--image_size 490: what a trained model sees"):
        convert(tmp_path / "mg", tmp_path / "hf", "mg2hf", image_size=490)


def test_openwebvoyagers_own_checkpoints_get_what_they_were_trained_with(released: Path, tmp_path: Path) -> None:
    """Their folders still say what the release said, on whichever way they go."""
    legacy = {"format": "legacy", "target_tensor_model_parallel_size": 1, "image_recipe": "keep"}
    assert convert(released, tmp_path / "theirs", **legacy) == f"{OWN}, split into 5"
    assert convert(tmp_path / "theirs", tmp_path / "hf", "mg2hf") == "longest edge 980, shortest edge 980, not split"


@pytest.mark.slow
def test_megatron_says_what_hugging_face_says_of_whole_images(released: Path, tmp_path: Path) -> None:
    """Logits of two images of 980 x 980, by the script."""
    script = ROOT / "toolkits" / "model_checkpoints_convertor" / "idefics2" / "hf2mg.sh"
    flags = ["--load_path", released, "--save_path", tmp_path / "mg", "--image_recipe", "published", "--verify"]
    done = subprocess.run(["bash", script, *flags], env=tiny.environment(), capture_output=True, text=True, timeout=250)
    assert done.returncode == 0, done.stderr
    assert "with 2 images agree" in done.stdout and "wrote --image_size 980" in done.stdout


def test_megatron_says_what_hugging_face_says_of_images_in_five_units(
    released: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    checkpoints.convert("hf2mg", released, tmp_path / "mg", image_recipe="keep", verify=True)
    said = capsys.readouterr().out
    assert "with 2 images agree" in said and "wrote --image_size 980" not in said
