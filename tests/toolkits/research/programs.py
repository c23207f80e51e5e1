"""Sets whose actions are lines of a program (pyautogui)."""

import json
from pathlib import Path

from tests.toolkits.research.screens import TASK, pictures


def aguvis(folder: Path) -> list[str]:
    """Stage 1 with two pairs on a picture and with a `bbox_gt`; stage 2 with an episode of six steps."""
    pictures(folder, "a.png", *(f"coat/7_{number}.jpg" for number in range(6)))
    first = [
        {"from": "human", "value": "<image>\nthe lamp"},
        {"from": "gpt", "value": "pyautogui.click(x=0.25, y=0.5)", "recipient": "os", "end_turn": True},
        {"from": "human", "value": "the menu"},
        {"from": "gpt", "value": "pyautogui.click(x=0.9, y=0.1)", "bbox_gt": [0.8, 0.0, 1.0, 0.2]},
    ]
    (folder / "stage1.json").write_text(json.dumps([{"image": "a.png", "conversations": first}]))
    calls = (
        "pyautogui.write(message='blue lamp')",
        "mobile.swipe(from_coord=[0.5, 0.8], to_coord=[0.55, 0.3])",
        "mobile.open_app(app_name='Shop')",
        "pyautogui.hotkey(keys=['ctrl', 'c'])",
        "browser.select_option(x=0.5, y=0.5, value='Blue')",
        "terminate(status='success')",
    )
    records = []
    for number, call in enumerate(calls):
        asked = f"<image>\nPlease generate the next move.\n\nInstruction: {TASK}\n\nPrevious actions:\nNone"
        said = f"Observation: a page.\nThought: Step {number}.\nAction: Go on."
        turns = [
            {"from": "system", "value": "You are a GUI agent."},
            {"from": "human", "value": asked},
            {"from": "gpt", "value": said, "recipient": "all", "end_turn": False},
            {"from": "gpt", "value": call, "recipient": "os", "end_turn": True},
        ]
        records.insert(0, {"image": f"coat/7_{number}.jpg", "conversations": turns})  # the last one first
    (folder / "stage2.json").write_text(json.dumps(records))
    return ["stage1.json", "stage2.json"]


def agentnet(folder: Path) -> list[str]:
    codes = (
        "pyautogui.moveTo(x=0.1, y=0.1)\npyautogui.dragTo(x=0.5, y=0.5, button='left')",
        "pyautogui.scroll(-3)",
        "computer.triple_click(x=0.2, y=0.2)",
        "pyautogui.keyDown('shift')",
        "import os\nos.system('touch ran')",
        "computer.terminate(status='failure')",
    )
    pictures(folder, *(f"{number}.png" for number in range(len(codes))))
    traj = [
        {
            "index": number,
            "image": f"{number}.png",
            "value": {"observation": "A page.", "thought": f"Step {number}.", "action": "Go on.", "code": code},
        }
        for number, code in enumerate(codes)
    ]
    task = {"task_id": "x", "instruction": "lamp", "natural_language_task": TASK, "task_completed": False, "traj": traj}
    (folder / "agentnet_ubuntu.jsonl").write_text(json.dumps(task) + "\n")
    return ["agentnet_ubuntu.jsonl"]
