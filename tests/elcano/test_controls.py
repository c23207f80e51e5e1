"""A control: the same policy, the same part of D_IL, as many steps, and nothing that exploration brought."""

import dataclasses
from pathlib import Path

from common.files import read_json, write_json
from elcano.executors.executor import Command
from elcano.recipe import load_recipe
from elcano.resources import Resources
from elcano.rounds import Stages, draw_tasks
from elcano.stages.stage import Logbook
from tests.conftest import ROOT


class Noted:
    """An executor that starts nothing."""

    def __init__(self) -> None:
        self.commands: list[Command] = []

    def run(self, command: Command, resources: Resources) -> None:
        self.commands.append(command)


class Untested(Stages):
    """Nothing is trained, so there is nothing to test."""

    def test(self, name: str, policy: Path, hide: str = "nothing") -> None:
        assert (name, policy) == ("optim-1-control", self.run_dir / "optim-1-control" / "policy")


def test_a_control_trains_as_long_on_the_part_of_the_demonstrations_alone(tmp_path):
    recipe = dataclasses.replace(load_recipe(ROOT / "examples" / "quickstart" / "recipe.py"), controls=True)
    demonstrations = tmp_path / "IL" / "samples.json"
    samples = [{"id": f"Shop--{task:05d}--r01--step01"} for task in range(40)]
    demonstrations.parent.mkdir()
    write_json(demonstrations, samples)
    checkpoint = tmp_path / "optim-1" / "training" / "checkpoint" / "optim-1"
    checkpoint.mkdir(parents=True)
    (checkpoint / "latest_checkpointed_iteration.txt").write_text("123")
    (tmp_path / "optim-1-control").mkdir()
    executor = Noted()
    stages = Untested(recipe, tmp_path, Logbook(tmp_path), executor)
    stages.control(recipe.rounds[1], tmp_path / "IL" / "policy", demonstrations)

    _, packed, trained, _, _ = executor.commands  # to Megatron before; then back, and the mean
    files = packed.words[packed.words.index("--json_files") + 1 : packed.words.index("--image_dirs")]
    learned = read_json(draw_tasks(demonstrations, recipe.rounds[1].il_share, "optim-1", tmp_path / "drawn.json"))
    assert 0 < len(learned) < len(samples)
    assert [read_json(Path(file)) for file in files] == [learned]
    assert (trained.variables["TRAIN_ITERS"], trained.variables["TRAIN_EPOCHS"]) == ("123", "0")
    assert trained.variables["PRETRAIN_CHECKPOINT_PATH"] == str(tmp_path / "optim-1-control" / "megatron")


def test_a_round_may_keep_a_share_of_the_weights_before_it(tmp_path):
    recipe = load_recipe(ROOT / "examples" / "quickstart" / "recipe.py")
    (tmp_path / "optim-1").mkdir()
    executor = Noted()
    round = dataclasses.replace(recipe.rounds[1], before_share=0.25)
    before = tmp_path / "IL" / "policy"
    stages = Stages(recipe, tmp_path, Logbook(tmp_path), executor)
    policy = stages.learn(round, before, {"json_files": [], "image_dirs": []})

    assert policy == tmp_path / "optim-1" / "policy"
    *_, converted, averaged = (command.words for command in executor.commands)
    assert converted[converted.index("--save_path") + 1] == str(tmp_path / "optim-1" / "trained")
    begin = averaged.index("--policies")
    assert averaged[begin:] == [
        *("--policies", str(before), str(tmp_path / "optim-1" / "trained")),
        *("--shares", "0.25", "0.75", "--save_path", str(policy)),
    ]
