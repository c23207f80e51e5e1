"""examples/compare: what it would do, and all of it on three tasks, stopped and begun again."""

import dataclasses
import importlib.util
from pathlib import Path

import pytest

from collection.config.commands import CandidatesConfig
from common.errors import UserError
from common.files import read_json
from data.task import read_tasks, write_tasks
from elcano.executors.executor import Command, load_executor
from elcano.recipe import Recipe, Round
from elcano.resources import Resources
from tests.conftest import ROOT

WEIGHTS = ROOT / "examples" / "quickstart" / "starting_policy" / "weights"


@pytest.fixture
def compare(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("POLICY", str(WEIGHTS))
    spec = importlib.util.spec_from_file_location("compare", ROOT / "examples" / "compare" / "compare.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_algorithms_differ_in_how_they_learn_and_seeds_in_their_rollouts(compare) -> None:
    config = compare.Config()
    plans = {name: compare.plan(config, name, 1) for name in config.algorithms}
    assert len(plans) == 7
    first = plans["sft"]
    for name, recipe in plans.items():
        [round] = recipe.rounds
        assert (round.tasks, recipe.exploration, recipe.testing) == (compare.EXPLORED, first.exploration, first.testing)
        assert recipe.exploration.top_k == 0 and recipe.exploration.max_rerun_times == 3 and not round.buffer
        assert recipe.training_of(round).algorithm == ("filtered_bc" if name == "sft" else name)
    assert plans["digiq"].rounds[0].candidates and plans["webrl"].rounds[0].critic == "monte_carlo"
    other = compare.plan(config, "sft", 2)
    assert other.exploration.seed != first.exploration.seed
    assert other.training_of(other.rounds[0]).seed != first.training_of(first.rounds[0]).seed
    with pytest.raises(UserError, match="--algorithms ppo: there are sft, filtered_bc"):
        compare.plan(config, "ppo", 1)
    for name in ("seeds", "algorithms"):
        with pytest.raises(UserError, match=f"--{name}: give at least one"):
            compare.main(dataclasses.replace(config, **{name: ()}))


def test_on_the_phone_the_same_is_done_there(compare) -> None:
    recipe = compare.plan(compare.Config(world="touch"), "digiq", 1)
    [round] = recipe.rounds
    for browsing in (recipe.exploration, recipe.testing):
        assert (browsing.env, browsing.action_space) == ("touch", "appagent") and not recipe.embedded_sites
    assert {round.training.seq_len, round.representation.seq_len} == {4096}
    tasks, tests = read_tasks(round.tasks[0]), read_tasks(recipe.test_tasks)
    assert (len(tasks), len(tests)) == (200, 104) and not {task.id for task in tasks} & {task.id for task in tests}


def test_ablations_change_one_thing(compare) -> None:
    config = compare.Config()

    def told(name: str) -> dict:
        recipe = compare.plan(config, name, 1)
        return {**recipe.to_json(), "name": ""}

    for name, variant in compare.VARIANTS.items():
        if variant.phases == 1:
            plain, changed = told(variant.of), told(name)
            [before], [after] = plain.pop("rounds"), changed.pop("rounds")
            assert plain == changed
            training = {key for key, value in before.pop("training").items() if value != after["training"][key]}
            different = {key for key, value in before.items() if value != after[key]} | training
            assert different == ({"critic"} if variant.round else {"algorithm_options"}), name
    curriculum, fixed, anything = (told(f"webrl-{arm}")["rounds"] for arm in ("curriculum", "fixed", "no_window"))
    assert [each["name"] for each in curriculum] == ["learned", "second"]
    assert curriculum[0] == fixed[0] == anything[0] == told("webrl")["rounds"][0]
    assert curriculum[1]["proposals"]["num_tasks"] == len(read_tasks(ROOT / fixed[1]["tasks"])) == 75
    assert not fixed[1]["proposals"] and anything[1]["proposals"] == curriculum[1]["proposals"]
    assert anything[1]["training"]["algorithm_options"] == "replay=2,beta=0.1,window_low=0,window_high=1e300"
    assert compare.needed_by("webrl-fixed") == "webrl" and not compare.needed_by("digiq-awr")


def test_an_arm_goes_on_from_its_own_first_phase(compare, tmp_path: Path) -> None:
    first, arm = tmp_path / "webrl", tmp_path / "webrl-fixed"
    for folder in ("stages", "learned/logs", "learned/policy"):
        (first / folder).mkdir(parents=True)
    (first / "recipe.json").write_text("{}")
    (first / "learned" / "logs" / "score.log").write_text("grows")
    (first / "learned" / "policy" / "config.json").write_text("{}")
    with pytest.raises(UserError, match="webrl did not end, from which webrl-fixed goes on"):
        compare.go_on(first, arm)
    for stage in ("train", "test"):
        (first / "stages" / f"learned.{stage}.json").write_text("1")
    for _ in range(2):
        compare.go_on(first, arm)
    assert (arm / "learned" / "policy" / "config.json").samefile(first / "learned" / "policy" / "config.json")
    assert not (arm / "recipe.json").exists() and not (arm / "learned" / "logs").exists()
    (first / "stages" / "learned.train.json").unlink()
    (first / "stages" / "learned.train.json").write_text("2")
    with pytest.raises(UserError, match="webrl-fixed goes on from another webrl; delete that folder to start over"):
        compare.go_on(first, arm)


def test_what_no_algorithm_changes_is_made_once(compare, tmp_path: Path) -> None:
    config = compare.Config()
    recipes = {name: compare.plan(config, name, 1) for name in (*config.algorithms, *compare.VARIANTS)}
    made = ["shards/0.tar", "columns/features.parquet", "columns/values.parquet", "columns/critic.pt"]
    made += ["candidates.parquet", "columns/algorithm.parquet", "columns/logprobs.parquet", "policy/config.json"]

    def arm(name: str) -> tuple[Recipe, Path]:
        run_dir = tmp_path / name
        for path in made if name != "sft" else made[:1]:
            (run_dir / "learned" / path).parent.mkdir(parents=True, exist_ok=True)
            (run_dir / "learned" / path).write_text(name)
        (run_dir / "stages").mkdir()
        for stage in ("pack", "columns", "train", *(["candidates"] if name == "digiq" else [])):
            (run_dir / "stages" / f"learned.{stage}.json").write_text(name)
        return recipes[name], run_dir

    arms = [arm(name) for name in ("sft", "digirl", "digiq")]

    def taken(name: str) -> dict[str, str]:
        run_dir = tmp_path / f"new-{name}"
        for _ in range(2):
            compare.take_over(recipes[name], arms, run_dir)
        files = [path for path in run_dir.rglob("*") if path.is_file()]
        return {str(path.relative_to(run_dir)): path.read_text() for path in files}

    shards = {"learned/shards/0.tar", "stages/learned.pack.json"}
    assert taken("grpo") == dict.fromkeys(shards, "sft")
    critic = {f"learned/{path}" for path in made[1:4]}
    assert taken("webrl") == dict.fromkeys({*shards, *critic}, "digirl")
    drawn = {*shards, "learned/candidates.parquet", "stages/learned.candidates.json"}
    assert taken("digiq-awr") == dict.fromkeys({*drawn, *critic}, "digiq")
    assert taken("digiq-monte_carlo") == dict.fromkeys({*drawn, "learned/columns/features.parquet"}, "digiq")
    compare.take_over(recipes["webrl"], arms[:1], tmp_path / "new")
    assert not (tmp_path / "new" / "learned" / "columns").exists(), "nothing to link of an arm without a critic"


def small(recipe: Recipe) -> Recipe:
    """Three steps a try and verdicts that are turned round by chance, as the policy solves nothing."""
    brief = {"max_iter": 3, "num_sessions": 2}
    noisy = {**brief, "judge": "finished", "eval_noise": 0.4, "max_rerun_times": 5}
    return dataclasses.replace(
        recipe,
        rounds=[small_round(recipe.name, round) for round in recipe.rounds],
        exploration=dataclasses.replace(recipe.exploration, **noisy),
        testing=dataclasses.replace(recipe.testing, **brief),
    )


def small_round(name: str, round: Round) -> Round:
    """Without Digi-Q's representation: the untrained policy does nothing that changes a screen."""
    training = dataclasses.replace(round.training, train_iters=2, train_epochs=0, save_interval=1)
    options = {"digiq": "threshold=-1", "digirl": "horizon=100,curriculum=outcome,quantile=0"}
    options = options.get(name, training.algorithm_options)
    drawn = CandidatesConfig(num_candidates=2) if round.candidates else None
    training = dataclasses.replace(training, algorithm_options=options)
    return dataclasses.replace(round, training=training, candidates=drawn, representation=None)


class Stopping:
    """The local executor, which is stopped before a training, once."""

    def __init__(self) -> None:
        self.local, self.words = load_executor("local"), []
        self.service = self.local.service

    def run(self, command: Command, resources: Resources) -> None:
        self.words.append(" ".join(command.words))
        if sum("train.sh" in words for words in self.words) == 3:
            self.words.append("train.sh")
            raise KeyboardInterrupt
        self.local.run(command, resources)


@pytest.mark.slow
@pytest.mark.timeout(2400)
def test_all_of_them_learn_from_one_exploration(compare, tmp_path: Path) -> None:
    tasks = [task for task in read_tasks(ROOT / "data" / "tasks" / "optim-1.jsonl") if "price" in task.id][:3]
    write_tasks(tmp_path / "tasks.jsonl", tasks)
    config = compare.Config(tasks=(tmp_path / "tasks.jsonl",), test_tasks=(tmp_path / "tasks.jsonl",), seeds=(2,))
    plans = {(name, 2): small(compare.plan(config, name, 2)) for name in config.algorithms}
    output_dir, executor = tmp_path / "out", Stopping()
    with pytest.raises(KeyboardInterrupt):
        compare.carry_out(plans, output_dir, executor)
    assert compare.carry_out(plans, output_dir, executor) == 0, read_json(output_dir / "comparison.json")["failures"]
    assert sum("exploration_feedback.py" in words for words in executor.words) == 1
    told = read_json(output_dir / "comparison.json")["policies"]
    assert list(told) == ["start", *config.algorithms]
    assert all(
        policy["num_tasks"] == 3 and policy["against"]["start"]["num_tasks"] == 3 for policy in list(told.values())[1:]
    )
    tests = [output_dir / "start", *(output_dir / "seed-2" / name for name in config.algorithms)]
    assert len({(run / "start" / "test" / "summary.json").stat().st_ino for run in tests}) == 1
    found = [
        next((output_dir / "seed-2" / name).glob("learned/trajectories/*/trajectory.json"))
        for name in told
        if name != "start"
    ]
    assert len({path.stat().st_ino for path in found}) == 1
    assert (output_dir / "comparison.png").stat().st_size > 10_000

    more = ("digiq", "digiq-awr", "webrl", "webrl-no_window")
    fixed = {"proposals": None, "tasks": tmp_path / "tasks.jsonl"}
    plans = {(name, 2): small(compare.plan(config, name, 2)) for name in more}
    [*firsts, second] = plans["webrl-no_window", 2].rounds
    plans["webrl-no_window", 2].rounds[:] = [*firsts, dataclasses.replace(second, **fixed)]
    assert compare.carry_out(plans, output_dir, executor) == 0, read_json(output_dir / "comparison.json")["failures"]
    told = read_json(output_dir / "comparison.json")["policies"]
    assert list(told["digiq-awr"]["against"]) == ["start", "digiq"]
    for one, other, path in (("digiq", "digiq-awr", "candidates.parquet"), ("digirl", "webrl", "columns/critic.pt")):
        paths = [output_dir / "seed-2" / name / "learned" / path for name in (one, other)]
        assert paths[0].samefile(paths[1]), path
    arm, first = output_dir / "seed-2" / "webrl-no_window", output_dir / "seed-2" / "webrl"
    policies = [run / "learned" / "policy" / "model.safetensors" for run in (arm, first)]
    assert policies[0].samefile(policies[1]) and (arm / "second" / "policy" / "model.safetensors").exists()
