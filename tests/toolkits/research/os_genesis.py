"""OS-Genesis, on phones and in browsers."""

import json
from pathlib import Path
from typing import Any

from tests.toolkits.research.screens import TASK, pictures


def _said(asked: str, reply: str, image: str) -> dict[str, Any]:
    turns = [{"from": "human", "value": f"<image>\n{asked}"}, {"from": "gpt", "value": reply}]
    return {"image": image, "conversations": turns}


def os_genesis(folder: Path) -> list[str]:
    """An instruction that was tried twice, the second time with its beginning left out."""
    pictures(folder, *(f"{number}.png" for number in range(5)))
    tries: list[tuple[str, dict[str, Any]]] = [
        ("", {"action_type": "click", "x": 60, "y": 60}),
        ("Tap the lamp.", {"action_type": "long_press", "x": 1, "y": 2}),
        ("Tap the lamp. Hold it.", {"action_type": "scroll", "direction": "down"}),
        ("None", {"action_type": "type", "text": "blue lamp", "x": 60, "y": 60}),
        ("Type.", {"action_type": "status", "goal_status": "successful"}),
    ]
    lines = []
    for number, (history, action) in enumerate(tries):
        asked = f"You are a GUI task expert.\n\nHigh-level instruction: {TASK}\n\nAction history: {history}\n\n"
        asked += 'Accessibility tree: {"Lamp": "(60.0, 60.0)"}\n\nPlease generate the low-level thought and action.'
        reply = f"Low-level thought: Step {number}.\naction: {json.dumps(action)}"
        lines.append(json.dumps(_said(asked, reply, f"{number}.png")))
    (folder / "os_genesis_aw_training_data.jsonl").write_text("\n".join(lines))
    return ["os_genesis_aw_training_data.jsonl"]


def os_genesis_web(folder: Path) -> list[str]:
    pictures(folder, *(f"{number}.png" for number in range(5)))
    calls = ("type [3] [blue [big] lamp] [1]", "hover [2]", "click [2]", "scroll [down]", "stop [It costs 9.99.]")
    lines = []
    for number, call in enumerate(calls):
        asked = f"You are a web agent.\n\nInstruction: {TASK}\n\nAccessibility tree: [1] RootWebArea 'Shop'\n"
        asked += (
            f"\t[2] link 'Blue lamp'\n\t[3] searchbox 'Search'\n\nAction History: {'None' if not number else 'Go.'}"
        )
        reply = f"Step {number}. In summary, the next action I will perform is ```{call}```"
        lines.append(json.dumps(_said(asked, reply, f"{number}.png")))
    (folder / "os_genesis_web_training.jsonl").write_text("\n".join(lines))
    return ["os_genesis_web_training.jsonl"]
