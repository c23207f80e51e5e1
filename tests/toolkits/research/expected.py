"""What the made-up sets hold, as canonical actions written by hand, and what an import finds in them."""

from pathlib import Path
from typing import Any

from data.trajectory import Trajectory, list_trajectories, read_trajectory
from tests.toolkits.research import RESEARCH
from tests.toolkits.research.screens import SIZE, TASK
from tests.toolkits.research.websites import FARA_SIZE
from toolkits import import_data

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


def rounded(value: Any) -> Any:
    """To a hundredth of a pixel: shares of a screen are no binary fractions."""
    if isinstance(value, dict):
        return {key: rounded(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [rounded(one) for one in value]
    return round(value, 2) if isinstance(value, float) else value
