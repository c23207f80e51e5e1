"""The field's sets of demonstrations become canonical actions, which any action space says; what none can is told."""

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from common.errors import UserError
from data.action_spaces import action_space
from data.actions.screen import Screen
from data.samples.turn_samples import samples_of
from data.trajectory import Trajectory, list_trajectories, read_trajectory
from tests.tiny import qwen3_vl
from tests.toolkits.research import RESEARCH
from tests.toolkits.research.screens import SIZE, TASK, pictures
from tests.toolkits.research.websites import FARA_SIZE
from tests.training.conftest import train
from toolkits import convert_action_space, import_data
from toolkits import convert_to_tar_data as tar_tool
from toolkits import convert_trajectories_to_json as samples_tool
from toolkits.model_checkpoints_convertor import convert
from toolkits.readers.detect import detect
from training.samples.stored_sample import read_in_order
from viewer.answers import Answers
from viewer.catalog.index import Index

Action = tuple[str, list[list[float]], dict[str, Any]]  # kind, points in pixels, the rest


def click(x: float, y: float, **more: Any) -> list[Action]:
    return [("ClickAt", [[x, y]], {"button": "left", "count": 1, **more})]


def write(content: str, *at: list[float], replace: bool = False, enter: bool = False, **more: Any) -> list[Action]:
    place = {} if at else {"at": None}
    return [("Write", list(at), {"content": content, **place, "replace": replace, "enter": enter, **more})]


def scroll(right: float, down: float, *at: list[float]) -> list[Action]:
    return [("ScrollAt", list(at), {"right": right, "down": down, **({} if at else {"at": None})})]


def long_press(x: float, y: float) -> list[Action]:
    return [("DragAt", [[x, y], [x, y]], {})]


def open_app(name: str) -> list[Action]:
    return [("GoTo", [], {"url": f"app:{name}"})]


def answer(content: str) -> list[Action]:
    return [("Answer", [], {"content": content})]


HOME: list[Action] = [("Restart", [], {})]
EXPECTED: dict[str, dict[str, list[list[Action]]]] = {
    "multimodal_mind2web": {
        TASK: [
            write("blue lamp", [50, 20], replace=True, element=4),
            write("Blue", [120, 20], element=5),
            click(50, 90, element=3),
        ],
    },
    "aguvis": {
        "the lamp": [click(50, 50)],
        "the menu": [click(180, 10, element=2)],
        TASK: [
            write("blue lamp"),
            scroll(0, 50, [100, 80]),
            [("Press", [], {"keys": ["Control", "c"]})],
            write("Blue", [100, 50]),
            answer("success"),
        ],
    },
    "android_control": {
        TASK: [
            open_app("Shop"),
            click(60, 60),
            write("blue lamp"),
            scroll(0, 200 / 3),
            long_press(1, 2),
            [("GoBack", [], {})],
            [("Wait", [], {})],
        ],
        "Go back.": [click(60, 60)],
    },
    "os_atlas": {"the lamp": [click(40, 30, element=2)], "the menu": [click(50, 50, element=2)]},
    "uground": {"the lamp": [click(50, 50)], "the menu": [click(40, 30, element=2)]},
    "screenspot": {
        "the lamp": [click(40, 20, element=2)],
        "the menu": [click(120, 20, element=2)],
        "the clock": [click(150, 25, element=2)],
    },
    "agentnet": {
        TASK: [
            [("DragAt", [[20, 10], [100, 50]], {})],
            scroll(0, 300),
            [("ClickAt", [[40, 20]], {"button": "left", "count": 3})],
            answer("failure"),
        ],
    },
    "aitw": {
        TASK: [click(50, 50), write("lamp"), answer("failure")],
        "Open the menu.": [scroll(0, 50, [100, 75]), HOME, answer("success"), [("GoBack", [], {})]],
    },
    "os_genesis": {
        TASK: [
            click(60, 60),
            long_press(1, 2),
            scroll(0, 200 / 3),
            write("blue lamp", [60, 60], enter=True),
            answer("success"),
        ]
    },
    "os_genesis_web": {
        TASK: [
            [("Type", [], {"label": 3, "content": "blue [big] lamp"})],
            [("Click", [], {"label": 2})],
            scroll(0, 200 / 3),
            answer("It costs 9.99."),
        ]
    },
    "fara": {
        TASK: [
            [("GoTo", [], {"url": "http://shop.example/"})],
            click(720, 450),
            write("blue lamp", [360, 225], replace=True, enter=True),
            scroll(0, 300),
            answer("It costs 9.99."),
        ],
        "Look for a lamp.": [click(720, 450)],
    },
    "gui_odyssey": {
        TASK: [
            click(50, 50, element=2),
            scroll(0, 60, [100, 80]),
            write("blue lamp"),
            HOME,
            long_press(0.2, 0.2),
            answer("success"),
        ],
    },
    "weblinx": {
        TASK: [
            write("blue lamp", [125, 30], replace=True, element=3),
            click(50, 30, element=2),
            scroll(0, 300),
            scroll(0, -200),
            [("GoTo", [], {"url": "http://shop.example/lamp"})],
            [("OpenTab", [], {})],
            answer("It costs 9.99."),
        ],
    },
    "playwright_trace": {
        TASK: [
            click(50, 30),
            write("blue lamp", [50, 30], replace=True),
            [("Press", [], {"keys": ["Control", "A"]})],
            [("ClickAt", [[10, 90]], {"button": "left", "count": 2})],
            scroll(0, 120),
            [("GoBack", [], {})],
        ],
    },
}
"""By set and task: of each step that can be said, what was done. Written by hand from the fixtures."""
TOLD = {
    "multimodal_mind2web": "steps of HoverAt (1), steps that the set counts and these files do not hold (2)",
    "aguvis": "steps of open_app (1)",
    "android_control": "episodes without a step that can be said (1)",
    "os_atlas": "episodes without a step that can be said (1), steps of a point outside of its screenshot (1)",
    "agentnet": "steps of os.system (1), steps of pyautogui.keyDown (1)",
    "weblinx": "load that a click brought about (1), steps of paste (1), words of the navigator before the end (1)",
    "playwright_trace": "steps of click that failed (1), steps of fill at a place that is not told (1)",
    "os_genesis_web": "steps of hover (1)",
    "fara": "steps of pause_and_memorize_fact (1)",
}


def imported(name: str, folder: Path, space: str = "", target: str = "results") -> list[Trajectory]:
    folder.mkdir(parents=True, exist_ok=True)
    files = tuple(str(folder / file) for file in RESEARCH[name](folder))
    results = folder.with_name(target)
    import_data.main(import_data.Config(name, files, str(folder), result_dir=str(results), action_space=space))
    return [read_trajectory(one) for one in list_trajectories(results)]


def space_of(name: str) -> str:
    """One that says all of a set; "" for its own."""
    return "openwebrl" if name in ("weblinx", "fara") else ""  # which opens addresses


def done(name: str, trajectories: list[Trajectory]) -> dict[str, list[list[Action]]]:
    """By task, what each step did: the canonical records, on screenshots of their size."""
    found: dict[str, list[list[Action]]] = {}
    size = list(FARA_SIZE if name == "fara" else SIZE)
    for trajectory in sorted(trajectories, key=lambda one: one.run):
        steps = found.setdefault(trajectory.ques, [])
        for step in trajectory.steps:
            assert all(one["screenshot"] == size and one["space"] == name for one in step.actions)
            steps.append([(one["kind"], rounded(one["css"]), rounded(one["arguments"])) for one in step.actions])
    return found


def expected(name: str) -> dict[str, list[list[Action]]]:
    """As it was written by hand."""
    return {
        ques: [[(kind, at, rounded(rest)) for kind, at, rest in step] for step in steps]
        for ques, steps in EXPECTED[name].items()
    }


@pytest.mark.parametrize("name", RESEARCH)
def test_what_was_done_is_our_canonical_record(name: str, tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    assert done(name, imported(name, tmp_path / "set", space_of(name))) == expected(name)
    told = capsys.readouterr().err
    assert (TOLD[name] in told) if name in TOLD else not told


def rounded(value: Any) -> Any:
    """To a hundredth of a pixel: shares of a screen are no binary fractions."""
    if isinstance(value, dict):
        return {key: rounded(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [rounded(one) for one in value]
    return round(value, 2) if isinstance(value, float) else value


def test_elements_are_said_by_number_and_kept_with_their_page(tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    """The reply, the tree with its names, the boxes and the HTML; that a text is typed with ENTER is told."""
    [trajectory] = imported("multimodal_mind2web", tmp_path / "set")
    replies = [step.reply.partition("\n\n")[2] for step in trajectory.steps]
    assert replies == ["Action: Type [4]; blue lamp", "Action: Type [5]; Blue", "Action: Click [3]"]
    assert "\t\t[3] link 'Blue lamp'" in trajectory.trees[0] and "alert" not in trajectory.trees[0]
    assert json.loads((trajectory.folder / "boxes1.json").read_text())["4"] == [10, 10, 80, 20]
    assert "alert(1)" in (trajectory.folder / "html1.txt").read_text() and trajectory.outcome.success
    assert (
        "said otherwise: typed with ENTER, which this space always presses after a text (1)" in capsys.readouterr().err
    )


SAID = {
    "qwen_computer_use": (4, 7, 4, 2),
    "openwebrl": (4, 7, 4, 2),
    "ui_tars": (4, 7, 3, 2),
    "webgym": (3, 6, 2, 2),
    "androidworld": (3, 8, 2, 2),
    "webvoyager": (3, 4, 2, 0),
    "webrl": (3, 4, 2, 0),
}
"""How many steps of four sets a space has words for: of numbers none where no tree shows them."""


@pytest.mark.parametrize("space", SAID)
def test_any_action_space_says_a_set(space: str, tmp_path: Path) -> None:
    """At the same points, to a pixel."""
    spoken, said = action_space(space), []
    for name in ("multimodal_mind2web", "android_control", "agentnet", "os_atlas"):
        folder, count, trajectories = tmp_path / name / "set", 0, []
        if name == "os_atlas" and spoken.scale is None:
            with pytest.raises(UserError, match="no trajectories"):
                imported(name, folder, space)
        else:
            trajectories = imported(name, folder, space)
        for trajectory in trajectories:
            for step in trajectory.steps:
                [*recorded] = [at for one in step.actions for at in one["css"]]
                parsed = spoken.parse(step.reply, Screen(SIZE, SIZE)).actions
                points = [at for one in parsed for key in ("at", "start", "end") if (at := getattr(one, key, None))]
                if spoken.scale and recorded:
                    assert [points[0].x, points[0].y] == pytest.approx(recorded[0], abs=1)
                count += 1
        said.append(count)
    assert tuple(said) == SAID[space]


def test_an_imported_set_can_be_said_anew(tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    """By numbers it came, at points it goes."""
    imported("multimodal_mind2web", tmp_path / "set")
    convert_action_space.main(convert_action_space.Config(tmp_path / "results", tmp_path / "points", "ui_tars"))
    assert "1 rewritten" in capsys.readouterr().out
    [folder] = list_trajectories(tmp_path / "points")
    at = [step.actions[0]["css"][0] for step in read_trajectory(folder).steps]
    assert at == [pytest.approx(point, abs=1) for point in ([50, 20], [120, 20], [50, 90])]


def shards_of(name: str, space: str, folder: Path) -> tuple[Path, list[Trajectory]]:
    """Imported, made into samples and packed, as a user does it."""
    trajectories = imported(name, folder / "set", space)
    given = {"result_dir": str(folder / "results"), "image_dir": str(folder / "images"), "num_workers": 1}
    samples_tool.main(samples_tool.Config(**given, save_json_file=str(folder / "s.json"), only_success=True))
    tars = {"json_files": (str(folder / "s.json"),), "image_dirs": (str(folder / "images"),), "num_workers": 1}
    tar_tool.main(tar_tool.Config(**tars, save_dir=str(folder / "shards")))
    return folder / "shards", trajectories


BY_NUMBERS, AT_POINTS = ("multimodal_mind2web", "webvoyager"), ("android_control", "qwen_computer_use")


@pytest.mark.parametrize(("name", "space"), [BY_NUMBERS, AT_POINTS])
def test_shards_hold_the_replies_of_the_space(name: str, space: str, tmp_path: Path) -> None:
    """Each with its screenshots."""
    shards, trajectories = shards_of(name, space, tmp_path)
    found = list(read_in_order(shards))
    replies = {step.reply for trajectory in trajectories for step in trajectory.steps}
    assert {one.fields["conversations"][-1]["value"] for one in found} == replies and len(found) == len(replies)
    assert all(one.find_images() for one in found)


@pytest.mark.slow
def test_a_policy_is_trained_on_a_set(tmp_path: Path) -> None:
    """A tiny one that points, by the scripts that users type: what it is shown it learns."""
    shards, _ = shards_of(*AT_POINTS, tmp_path)
    policy, megatron = qwen3_vl.build_policy(tmp_path / "hf"), tmp_path / "megatron"
    convert.main(convert.Config(direction="hf2mg", load_path=policy, save_path=megatron))
    options = {"tp": 1, "batch_size": 1, "global_batch_size": 3, "train_iters": 6, "lr": 1e-3, "lr_warmup_iters": 1}
    losses = train("qwen3_vl", shards, megatron, tmp_path / "run", **options)
    assert len(losses) == 6 and losses[-1] < losses[0]


BOXES = {
    "os_atlas": [[0, 0, 100, 100], [20, 20, 60, 40]],
    "uground": [[20, 20, 60, 40]],
    "screenspot": [[20, 10, 60, 30], [100, 0, 200, 50], [100, 10, 140, 30]],
}
RESEARCH_ASKS = ("the lamp", "the menu", "the clock")


@pytest.mark.parametrize("name", ["os_atlas", "uground", "screenspot"])
def test_grounding_needs_no_folders(name: str, tmp_path: Path) -> None:
    """Its samples are those of the trajectories of one step, on the images that are there."""
    folder, file = tmp_path / "set", tmp_path / "grounding.json"
    trajectories = imported(name, folder)
    files = tuple(str(path) for path in folder.iterdir() if path.suffix in (".json", ".parquet"))
    import_data.main(import_data.Config(name, files, str(folder), str(file)))
    samples = json.loads(file.read_text())
    same = [samples_of(trajectory, 1, 1)[0][0]["conversations"] for trajectory in trajectories]
    assert sorted(map(json.dumps, (one["conversations"] for one in samples))) == sorted(map(json.dumps, same))
    assert all((folder / image).is_file() for one in samples for image in one["images"])
    num_pictures = 2 if name == "screenspot" else 1  # of which one is asked about twice
    assert len({image for one in samples for image in one["images"]}) == num_pictures
    told = [one["grounding"] for one in samples if "grounding" in one]
    boxes = [[round(side, 2) for side in one["box"]] for one in told]
    assert sorted(boxes) == BOXES[name] and all(one["ques"] in RESEARCH_ASKS for one in told)


def test_several_steps_are_no_sample(tmp_path: Path) -> None:
    folder = tmp_path / "set"
    folder.mkdir()
    files = tuple(str(folder / file) for file in RESEARCH["aguvis"](folder))
    with pytest.raises(UserError, match="an episode of 6 steps; give --result_dir"):
        import_data.main(import_data.Config("aguvis", files, str(folder), str(tmp_path / "s.json")))
    assert not (tmp_path / "s.json").exists()


@pytest.mark.parametrize("name", RESEARCH)
def test_a_set_is_known_by_its_looks(name: str, tmp_path: Path) -> None:
    for file in RESEARCH[name](tmp_path):
        assert detect(tmp_path / file) == name


@pytest.mark.parametrize("name", ["multimodal_mind2web", "agentnet", "weblinx"])
def test_people_see_it(name: str, tmp_path: Path) -> None:
    """In words, and where it was done."""
    [trajectory] = imported(name, tmp_path / "set")
    index = Index((tmp_path / "results",), tmp_path / "index.sqlite")
    index.refresh()
    [run] = json.loads(Answers(index).answer("state", {}))["runs"]
    shown = Answers(index).answer("trajectory", {"set": run["sets"][0], "name": trajectory.folder.name}).decode()
    assert TASK in shown and all(one["kind"] in shown for step in trajectory.steps for one in step.actions)


def test_what_came_before_a_step_is_told(tmp_path: Path) -> None:
    """Steps of AGUVIS whose images have no numbers are episodes of their own."""
    pictures(tmp_path, "uid.png")
    asked = f"<image>\nInstruction: {TASK}\n\nPrevious actions:\nStep 1: Open the shop."
    turns = [{"from": "human", "value": asked}, {"from": "gpt", "value": "pyautogui.click(x=0.5, y=0.5)"}]
    (tmp_path / "x.json").write_text(json.dumps([{"image": "uid.png", "conversations": turns}]))
    results = str(tmp_path / "results")
    import_data.main(import_data.Config("aguvis", (str(tmp_path / "x.json"),), str(tmp_path), result_dir=results))
    [folder] = list_trajectories(results)
    assert read_trajectory(folder).steps[0].feedback == "Previous actions:\nStep 1: Open the shop."


MISSING = {
    "aguvis": ("coat/7_1.jpg", {"the lamp": 1, "the menu": 1}),
    "aitw": ("general/1_1.png", {"Open the menu.": 4}),
    "android_control": ("7_0.png", {TASK: 7}),
    "fara": ("runs/shop_1/screenshot1.png", {"Look for a lamp.": 1}),
    "os_genesis": ("0.png", {TASK: 2}),
}
"""A screenshot that is lost, and the steps of the tasks that are read all the same."""


@pytest.mark.parametrize("name", [*MISSING, "agentnet", "gui_odyssey"])
def test_a_screenshot_that_is_not_there_costs_its_episode_alone(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture
) -> None:
    """Those of one episode alone have nothing left, which is said."""
    folder, results = tmp_path / "set", tmp_path / "results"
    folder.mkdir()
    files = tuple(str(folder / file) for file in RESEARCH[name](folder))
    lost, kept = MISSING.get(name) or (next(folder.glob("*.png")).name, {})
    (folder / lost).unlink()
    config = import_data.Config(name, files, str(folder), result_dir=str(results), action_space=space_of(name))
    if kept:
        import_data.main(config)
        read = [read_trajectory(one) for one in list_trajectories(results)]
        assert Counter(one.ques for one in read for _ in one.steps) == kept
    else:
        with pytest.raises(UserError, match="no trajectories"):
            import_data.main(config)
    assert "episodes of which a screenshot is not there (1)" in capsys.readouterr().err
