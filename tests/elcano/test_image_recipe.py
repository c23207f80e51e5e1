"""A starting policy as released is served as it will be trained, from the untrained test on."""

import dataclasses
import json
from pathlib import Path

import pytest

from elcano.executors.local import Executor
from elcano.recipe import load_recipe
from elcano.resources import Resources
from elcano.rounds import Stages
from elcano.stages.services import policy_server
from elcano.stages.stage import Logbook
from server.config import ServerConfig
from tests import tiny
from tests.conftest import ROOT


@pytest.fixture(scope="module")
def released(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Its processor splits images."""
    folder = tiny.build_policy(tmp_path_factory.mktemp("run") / "released", layers=1)
    fields = json.loads((folder / "processor_config.json").read_text())
    fields["image_processor"]["do_image_splitting"] = True
    (folder / "processor_config.json").write_text(json.dumps(fields))
    return folder


@pytest.mark.parametrize(
    ("recipe", "said"),
    [
        ("published", "--image_size 980 --do_image_splitting False differs from"),
        pytest.param("keep", "splits each image into 5", marks=pytest.mark.slow),
    ],
)
def test_the_server_and_the_converter_are_told_the_same(released: Path, tmp_path: Path, recipe: str, said: str) -> None:
    quickstart = load_recipe(ROOT / "examples" / "quickstart" / "recipe.py")
    assert quickstart.image_recipe == "published"
    stages = Stages(dataclasses.replace(quickstart, image_recipe=recipe), tmp_path, Logbook(tmp_path), Executor())
    assert stages.convert("hf2mg", released, tmp_path / "mg")[-2:] == ["--image_recipe", recipe]
    log = tmp_path / "server.log"
    serving = ServerConfig(device="cpu", image_recipe=stages.recipe.image_recipe)
    with policy_server(stages.executor, released, serving, Resources(num_cores=1), log):
        assert said in log.read_text()
