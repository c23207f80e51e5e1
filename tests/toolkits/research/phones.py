"""Sets that were recorded on phones."""

import json
from pathlib import Path
from typing import Any

from tests.toolkits.research.screens import SIZE, TASK, pictures, png
from tests.toolkits.research.tf_records import example, message, node, tfrecord


def android_control(folder: Path) -> list[str]:
    nodes = (node("", "FrameLayout", (0, 0, 200, 100), 0), node("Lamp", "Button", (20, 40, 100, 80), 1, 14))
    hidden = message((7, "hidden"), (2, message((3, 5), (4, 5))))
    forest = message((1, message((11, message(*((1, one) for one in (*nodes, hidden)))))))
    actions = [
        {"action_type": "open_app", "app_name": "Shop"},
        {"action_type": "click", "x": 60, "y": 60},
        {"action_type": "input_text", "text": "blue lamp"},
        {"action_type": "scroll", "direction": "down"},
        {"action_type": "long_press", "x": 1, "y": 2},
        {"action_type": "navigate_back"},
        {"action_type": "wait"},
    ]
    said = [f"Step {number}" for number in range(len(actions))]
    tfrecord(
        folder / "android_control-00000-of-00020",
        [
            example(
                episode_id=[7],
                goal=[TASK],
                screenshots=[png(number) for number in range(len(actions) + 1)],
                accessibility_trees=[forest] * (len(actions) + 1),
                screenshot_widths=[SIZE[0]] * (len(actions) + 1),
                screenshot_heights=[SIZE[1]] * (len(actions) + 1),
                actions=[json.dumps(action) for action in actions],
                step_instructions=said,
            ),
            example(episode_id=[8], goal=["Nothing."], screenshots=[png()]),
        ],
    )
    pictures(folder, "7_0.png", "7_1.png")
    record = {
        "goal": "Go back.",
        "screenshots": ["7_0.png", "7_1.png"],
        "step_instructions": [],
        "actions": actions[1:2],
    }
    (folder / "more.json").write_text(json.dumps([record]))
    return ["android_control-00000-of-00020", "more.json"]


def aitw(folder: Path) -> list[str]:
    pictures(folder, "general/1_0.png", "general/1_1.png", "general/1_2.png")
    base = {"ep_id": "1", "goal": TASK, "type_text": ""}
    steps = [
        {**base, "action_type_id": 4, "action_type_text": "click", "touch": [0.25, 0.5], "lift": [0.26, 0.5]},
        {
            **base,
            "action_type_id": 3,
            "action_type_text": "type",
            "touch": [-1, -1],
            "lift": [-1, -1],
            "type_text": "lamp",
        },
        {
            **base,
            "action_type_id": 11,
            "action_type_text": "status task impossible",
            "touch": [-1, -1],
            "lift": [-1, -1],
        },
    ]
    listed = [{**step, "step": number, "img_filename": f"general/1_{number}"} for number, step in enumerate(steps)]
    (folder / "aitw_data_train.json").write_text(json.dumps({"general": [listed], "single": []}))
    examples = [
        example(
            episode_id=[name],
            goal_info=["Open the menu."],
            step_id=[number],
            image__encoded=[bytes(SIZE[0] * SIZE[1] * 3)],
            image__width=[SIZE[0]],
            image__height=[SIZE[1]],
            image__channels=[3],
            results__action_type=[kind],
            results__type_action=[""],
            results__yx_touch=[0.75, 0.5],
            results__yx_lift=[0.25, 0.375],
        )
        for name, number, kind in (("a", 0, 4), ("a", 1, 6), ("a", 2, 10), ("b", 0, 5))
    ]
    tfrecord(folder / "general-00000-of-00321", examples)
    return ["aitw_data_train.json", "general-00000-of-00321"]


def gui_odyssey(folder: Path) -> list[str]:
    pictures(folder, *(f"9_{number}.png" for number in range(6)))
    done: list[tuple[str, Any]] = [
        ("CLICK", [[250, 500]]),
        ("SCROLL", [[500, 800], [500, 200]]),
        ("TYPE", "blue lamp"),
        ("CLICK", "KEY_HOME"),
        ("LONG_PRESS", [[1, 2]]),
        ("COMPLETE", ""),
    ]
    steps = [
        {"step": number, "screenshot": f"9_{number}.png", "action": action, "info": info, "ps": ""}
        for number, (action, info) in enumerate(done)
    ]
    steps[0] |= {"sam2_bbox": [200, 400, 300, 600], "low_level_instruction": "Tap the lamp."}
    episode = {
        "episode_id": "9",
        "device_info": {"device_name": "Pixel 7 Pro", "w": 1440, "h": 3120},
        "task_info": {"task": "lamp", "instruction": TASK},
        "step_length": len(steps),
        "steps": steps,
    }
    (folder / "annotations").mkdir()
    (folder / "annotations" / "9.json").write_text(json.dumps(episode, indent=1))
    return ["annotations/9.json"]
