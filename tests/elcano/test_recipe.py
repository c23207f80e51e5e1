"""Recipes: what would fail hours later fails at once, and a run keeps to the recipe it was started with."""

import dataclasses
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from collection.config.commands import CandidatesConfig
from common.errors import UserError
from common.files import read_json, write_json
from elcano.executors.executor import load_executor
from elcano.recipe import load_recipe, remember_recipe
from elcano.resources import Needs, Resources
from elcano.rounds import Stages, draw_tasks
from elcano.stages import columns
from elcano.stages.columns import candidates_of, check_algorithms
from elcano.stages.stage import Logbook
from tests import forked

ROOT = Path(__file__).resolve().parent.parent.parent
QUICKSTART = ROOT / "examples" / "quickstart" / "recipe.py"
LEARNING = QUICKSTART.with_name("learning.py")


def test_the_quickstart_recipe_is_sound():
    recipe = load_recipe(QUICKSTART)
    assert [round.name for round in recipe.rounds] == ["IL", "optim-1"]


def test_an_expert_teaches_in_its_own_world_and_where_there_is_none_that_is_said():
    recipe = load_recipe(QUICKSTART)
    for world in ("miniwob", "touch", "apps"):
        dataclasses.replace(recipe, teacher=dataclasses.replace(recipe.teacher, env=world))
    elsewhere = dataclasses.replace(recipe.teacher, env="webarena")
    with pytest.raises(UserError, match="IL: the world webarena has no expert; give teacher an api_base"):
        dataclasses.replace(recipe, teacher=elsewhere)
    dataclasses.replace(recipe, teacher=dataclasses.replace(elsewhere, api_base="http://127.0.0.1:1/v1"))


def test_missing_files_and_repeated_names_are_named(tmp_path):
    recipe = load_recipe(QUICKSTART)
    with pytest.raises(UserError, match="does not exist"):
        dataclasses.replace(recipe, test_tasks=tmp_path / "none.jsonl").check_files()
    with pytest.raises(UserError, match="same name"):
        dataclasses.replace(recipe, rounds=[recipe.rounds[0]] * 2)
    with pytest.raises(UserError, match="imitate a teacher"):
        dataclasses.replace(recipe, rounds=recipe.rounds[1:])
    with pytest.raises(UserError, match="no such recipe"):
        load_recipe(tmp_path / "none.py")
    (tmp_path / "recipe.txt").write_text("def recipe(): ...")
    with pytest.raises(UserError, match=r"recipe\.txt: no recipe, as its name does not end in \.py"):
        load_recipe(tmp_path / "recipe.txt")


def test_a_round_may_learn_a_part_of_the_demonstrations_again(tmp_path):
    samples = [{"id": f"Shop--{task:05d}--r01--step{step:02d}"} for task in range(300) for step in (1, 2)]
    write_json(tmp_path / "samples.json", samples)
    drawn = {}
    for name in ("optim-1", "optim-2"):
        kept = read_json(draw_tasks(tmp_path / "samples.json", 1 / 3, name, tmp_path / f"{name}.json"))
        drawn[name] = {sample["id"].split("--r01")[0] for sample in kept}
        assert 70 < len(drawn[name]) < 130 and len(kept) == 2 * len(drawn[name])
    assert 20 < len(drawn["optim-1"] & drawn["optim-2"]) < 50
    recipe = load_recipe(QUICKSTART)
    with pytest.raises(UserError, match="il_share"):
        dataclasses.replace(recipe.rounds[0], il_share=2.0)


def test_a_run_refuses_another_recipe(tmp_path):
    recipe = load_recipe(QUICKSTART)
    remember_recipe(recipe, tmp_path)
    remember_recipe(recipe, tmp_path)
    changed = dataclasses.replace(recipe, testing=dataclasses.replace(recipe.testing, max_iter=3))
    with pytest.raises(UserError, match=r"changed: testing\.max_iter\)"):
        remember_recipe(changed, tmp_path)


def test_a_run_may_go_on_with_other_resources(tmp_path):
    recipe = load_recipe(QUICKSTART)
    remember_recipe(recipe, tmp_path)
    larger = Needs(training=Resources(memory_gib=64, time_h=2, partition="gpu"))
    remember_recipe(dataclasses.replace(recipe, needs=larger), tmp_path)


def test_a_run_may_go_on_with_more_test_tasks_and_with_controls(tmp_path):
    recipe = load_recipe(QUICKSTART)
    remember_recipe(recipe, tmp_path)
    remember_recipe(dataclasses.replace(recipe, num_test_tasks=300, controls=True, looks=True), tmp_path)


def test_a_run_may_go_on_with_further_rounds_and_then_has_them(tmp_path, monkeypatch):
    monkeypatch.setenv("NUM_ROUNDS", "3")
    whole = load_recipe(QUICKSTART)
    monkeypatch.setenv("NUM_ROUNDS", "1")
    remember_recipe(load_recipe(QUICKSTART), tmp_path)
    remember_recipe(whole, tmp_path)
    changed = [*whole.rounds[:2], dataclasses.replace(whole.rounds[2], il_share=0.5)]
    for rounds, said in (
        (whole.rounds[:1], r".*; it has gone on to optim-2, which this one leaves out\)"),
        (changed, ""),
    ):
        with pytest.raises(UserError, match=rf"changed: rounds{said}"):
            remember_recipe(dataclasses.replace(whole, rounds=rounds), tmp_path)


def test_a_run_from_before_an_option_was_added_goes_on(tmp_path):
    recipe = load_recipe(QUICKSTART)
    before = recipe.to_json()
    del before["testing"]["observation"], before["rounds"][1]["training"]["packing"]
    write_json(tmp_path / "recipe.json", before)
    remember_recipe(recipe, tmp_path)


@pytest.mark.parametrize(
    ("part", "values", "said"),
    [
        ("exploration", {"api_localhost": ("http://x/predict",)}, "exploration cannot set api_localhost, which a run"),
        ("teacher", {"api_key": "k"}, "teacher cannot set api_key"),
        ("serving", {"port": 9}, "serving cannot set port"),
        ("training", {"dry_run": True}, "training cannot set dry_run"),
        ("testing", {"judge": "none"}, "testing needs a judge"),
        ("testing", {"max_attached_imgs": 3}, "max_attached_imgs is 1 in exploration, .* but 3 in testing"),
    ],
)
def test_what_a_run_sets_itself_no_recipe_may(part, values, said):
    recipe = load_recipe(QUICKSTART)
    with pytest.raises(UserError, match=f"recipe quickstart: {said}"):
        dataclasses.replace(recipe, **{part: dataclasses.replace(getattr(recipe, part), **values)})


def test_candidates_are_read_as_the_policy_spoke_when_it_explored():
    recipe = load_recipe(QUICKSTART)
    exploration = dataclasses.replace(recipe.exploration, action_space="webrl")
    how, exploring = CandidatesConfig(num_candidates=4), dataclasses.replace(recipe, exploration=exploration)
    drawn = candidates_of(exploring, how, output=Path("drawn.parquet"))
    assert (drawn.action_space, drawn.num_candidates, drawn.output) == ("webrl", 4, Path("drawn.parquet"))


def test_what_only_an_algorithm_reads_is_refused_where_there_is_none():
    recipe = load_recipe(QUICKSTART)
    judged = dataclasses.replace(recipe.rounds[1], critic="td")
    with pytest.raises(UserError, match=r"recipe quickstart: optim-1 imitates \(sft\), which takes no critic"):
        dataclasses.replace(recipe, rounds=[recipe.rounds[0], judged])
    with pytest.raises(UserError, match="round optim-1: candidates cannot set output, which a run sets itself"):
        dataclasses.replace(judged, candidates=CandidatesConfig(output=Path("mine.parquet")))
    with pytest.raises(UserError, match="candidates cannot set action_space, which a run sets itself"):
        dataclasses.replace(judged, candidates=CandidatesConfig(action_space="webrl"))
    options = dataclasses.replace(recipe.training, algorithm="digiq", column_files="mine.parquet")
    with pytest.raises(UserError, match="recipe quickstart: training cannot set column_files"):
        dataclasses.replace(recipe, training=options)


def test_a_recipe_with_a_bad_value_is_one_line_and_code_2(tmp_path):
    text = QUICKSTART.read_text().replace("batch_size=2 ", "batch_size=0 ", 1)
    (tmp_path / "recipe.py").write_text(text)
    command = [sys.executable, "-m", "elcano.cli", "run", str(tmp_path / "recipe.py"), "--output_dir", str(tmp_path)]
    result = subprocess.run(command, capture_output=True, text=True)
    assert (result.returncode, result.stderr) == (2, "error: BATCH_SIZE must be at least 1, not 0\n")


def test_what_a_round_says_is_checked_as_the_recipe_is():
    recipe = load_recipe(QUICKSTART)
    for training in ({"dry_run": True}, {"algorithm": "ppo"}):
        with pytest.raises(UserError, match=r"training cannot set dry_run|ALGORITHM=ppo: there are "):
            round = dataclasses.replace(recipe.rounds[1], training=dataclasses.replace(recipe.training, **training))
            dataclasses.replace(recipe, rounds=[recipe.rounds[0], round])
    for name in ("", "../elsewhere", "a/b"):
        with pytest.raises(UserError, match="a round cannot be called"):
            dataclasses.replace(recipe.rounds[1], name=name)


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("training = TrainingOptions(\n        tp=1", "training = TrainingOptions(\n        tpp=1", "TypeError: .*tpp"),
        ("def recipe(num_test_tasks: int = 45) ->", "def recipe( ->", "SyntaxError"),
        ("return Recipe(", "return dict(", "defines no recipe"),
    ],
)
def test_a_mistake_in_a_recipe_is_named_with_its_line(tmp_path, old, new, said):
    before, after = QUICKSTART.read_text().split(old)
    line = before.count("\n") + 1
    path = tmp_path / "recipe.py"
    path.write_text(before + new + after)
    with pytest.raises(UserError, match=said if "no recipe" in said else f"line {line}: {said}"):
        load_recipe(path)


def test_recipes_are_read_without_what_they_run():
    code = (
        "import sys; from pathlib import Path; from elcano.recipe import load_recipe\n"
        f"load_recipe(Path({str(QUICKSTART)!r}))\n"
        "sys.exit(bool({'torch', 'transformers', 'selenium', 'httpx', 'openai', 'fastapi'} & set(sys.modules)))"
    )
    subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=True)


@pytest.mark.parametrize(("recipe", "folder"), [("none.py", "run"), (QUICKSTART, "file")])
def test_bad_command_lines_end_with_code_2_and_one_line(tmp_path, recipe, folder):
    (tmp_path / "file").write_text("")
    command = [sys.executable, "-m", "elcano.cli", "run", tmp_path / recipe, "--output_dir", tmp_path / folder]
    result = subprocess.run(command, capture_output=True, text=True)
    assert result.returncode == 2
    assert result.stderr.count("\n") == 1 and result.stderr.startswith("error: ")


@pytest.mark.parametrize(
    ("variable", "value", "said"),
    [
        ("SEED", "abc", "SEED is a number, not 'abc'"),
        ("NUM_TEST_TASKS", "all", "NUM_TEST_TASKS is a number, not 'all'"),
        ("NUM_ROUNDS", "0", "NUM_ROUNDS is 1 to 5, not 0"),
        ("CONTROLS", "1", "CONTROLS is true or false, not '1'"),
        ("LOOKS", "True", "LOOKS is true or false, not 'True'"),
    ],
)
def test_a_variable_of_the_quickstart_that_cannot_be_read_is_named(monkeypatch, variable, value, said):
    monkeypatch.setenv(variable, value)
    with pytest.raises(UserError, match=f"^{said}$"):
        load_recipe(QUICKSTART)


def test_a_recipe_that_breaks_names_its_line_however_its_path_is_typed(tmp_path, monkeypatch):
    (tmp_path / "mine.py").write_text("def recipe():\n    x = 1\n    return int('abc')\n")
    monkeypatch.chdir(tmp_path)
    for path in (Path("mine.py"), tmp_path / "mine.py"):
        with pytest.raises(UserError, match="line 3: ValueError"):
            load_recipe(path)


def test_test_tasks_that_cannot_be_read_are_said(tmp_path: Path) -> None:
    recipe = load_recipe(ROOT / "examples" / "quickstart" / "recipe.py")
    (tmp_path / "latin.jsonl").write_bytes(b"\xe9")
    for tasks in (tmp_path, tmp_path / "latin.jsonl"):
        with pytest.raises(UserError, match="recipe quickstart: the test tasks cannot be read"):
            dataclasses.replace(recipe, test_tasks=tasks).check_files()


def test_more_test_tasks_than_there_are_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NUM_TEST_TASKS", "301")
    with pytest.raises(UserError, match="num_test_tasks is 301, but there are 300 test tasks"):
        load_recipe(ROOT / "examples" / "quickstart" / "recipe.py")


@pytest.mark.parametrize(
    ("algorithm", "training", "round", "message"),
    [
        ("digirl", {"algorithm_options": "nonsense=3"}, {}, "nonsense.*its options: lam, horizon"),
        ("webrl", {"algorithm_options": "beta=0"}, {}, "beta must be above 0"),
        ("digirl", {"algorithm_options": "help=1"}, {}, "there is no 'help'; its options: lam, horizon"),
        ("digirl", {"algorithm_options": "lam=0.5,lam=0.3"}, {}, "lam is given twice"),
        (".digirl", {}, {}, "no module that has ALGORITHM"),
        ("grpo", {}, {"candidates": CandidatesConfig()}, "grpo takes no candidates"),
        ("digiq", {}, {"critic": "heads"}, "digiq goes by Q; give critic='td'"),
        ("digiq", {}, {"critic": ""}, "digiq goes by Q; give critic='td'"),
        ("digirl", {}, {"critic": "td"}, "digirl goes by an instruction's value; give critic='monte_carlo'"),
        ("grpo", {}, {"critic": "td"}, "grpo reads no critic; leave it out"),
        ("filtered_bc", {}, {"critic": "monte_carlo"}, "filtered_bc reads no critic"),
        (
            "grpo",
            {},
            {"exploration": {"top_k": 0, "temperature": 0.0}},
            "explore with a temperature above 0, top_k=0 and top_p=1",
        ),
        ("grpo", {}, {"exploration": {"top_p": 0.9}}, "explore with a temperature above 0, top_k=0 and top_p=1"),
        ("grpo", {}, {"exploration": {"top_k": 50}}, "explore with a temperature above 0, top_k=0 and top_p=1"),
        ("critic", {}, {}, "critic trains a critic, no policy"),
        ("weighted_sft", {}, {}, "weighted_sft makes no columns of rewards"),
    ],
)
def test_what_an_algorithm_refuses_is_said_before_anything_runs(
    algorithm: str, training: dict, round: dict, message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    in_a_fork = SimpleNamespace(run=forked.run, DEVNULL=subprocess.DEVNULL, PIPE=subprocess.PIPE)
    monkeypatch.setattr(columns, "subprocess", in_a_fork)
    monkeypatch.setenv("POLICY", str(ROOT / "examples" / "quickstart" / "starting_policy" / "weights"))
    recipe = load_recipe(LEARNING, algorithm=algorithm, training=training, **round)
    with pytest.raises(UserError, match=f"^recipe {algorithm}: round-1: .*{message}"):
        check_algorithms(recipe)


def test_the_learning_recipes_and_the_quickstart_pass_their_algorithms(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("POLICY", str(ROOT / "examples" / "quickstart" / "starting_policy" / "weights"))
    for name in ("quickstart", "digirl", "digiq"):
        check_algorithms(load_recipe(ROOT / "examples" / name / "recipe.py"))


def test_a_copy_of_a_learning_recipe_works_elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("POLICY", str(ROOT / "examples" / "quickstart" / "starting_policy" / "weights"))
    copy = tmp_path / "mine.py"
    copy.write_text((ROOT / "examples" / "digirl" / "recipe.py").read_text())
    assert load_recipe(copy).name == "digirl"


def test_a_round_explores_or_is_given_trajectories(tmp_path: Path) -> None:
    recipe = load_recipe(QUICKSTART)
    first = recipe.rounds[0]
    with pytest.raises(UserError, match=r"round IL: trajectories are given, so it explores nothing; give tasks=\(\)"):
        dataclasses.replace(first, trajectories=tmp_path)
    with pytest.raises(UserError, match="round IL: has no tasks; give task files, or trajectories"):
        dataclasses.replace(first, tasks=())
    missing = dataclasses.replace(first, tasks=(), trajectories=tmp_path / "none")
    with pytest.raises(UserError, match="none does not exist"):
        dataclasses.replace(recipe, rounds=[missing]).check_files()


def test_given_trajectories_are_linked_and_stay_as_they_are(tmp_path: Path) -> None:
    folder = tmp_path / "given" / "taskA--run0"
    folder.mkdir(parents=True)
    (folder / "outcome.json").write_text("{}")
    recipe = load_recipe(QUICKSTART)
    round = dataclasses.replace(recipe.rounds[0], tasks=(), trajectories=tmp_path / "given")
    run_dir = tmp_path / "run"
    stages = Stages(recipe, run_dir, Logbook(run_dir), load_executor("local"))
    for _ in range(2):
        found = stages.explore(round, recipe.starting_policy)
    assert (found / "taskA--run0" / "outcome.json").samefile(folder / "outcome.json")
    write_json(found / "taskA--run0" / "outcome.json", {"verdict": "failure"})
    assert (folder / "outcome.json").read_text() == "{}"
