"""What other projects release of one task each, rebuilt small by ourselves: two steps on a shop, and an answer."""

import base64
import gzip
import io
import json
import pickle
import sys
import types
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy
import torch
from PIL import Image

from tests.toolkits.trajectories import screenshot

TASK, WEB, ANSWER = "Find the price of the blue lamp.", "http://shop.example/", "It costs 9.99."


def jpeg(number: int) -> bytes:
    buffer = io.BytesIO()
    Image.new("RGB", (64, 48), (90 * number % 256, 20, 20)).save(buffer, "JPEG")
    return buffer.getvalue()


def webvoyager(folder: Path) -> list[str]:
    """As its runs leave it: no trees, no verdict."""
    task = folder / "taskShop--3"
    task.mkdir()
    opening = f"Now given a task: {TASK}  Please interact with {WEB} and get the answer."
    messages = [
        {"role": "system", "content": "You browse."},
        {
            "role": "user",
            "content": [{"type": "text", "text": opening}, {"type": "image_url", "image_url": {"url": "x"}}],
        },
        {"role": "assistant", "content": "Thought: The lamp.\n\nAction: Click [3]"},
        {"role": "user", "content": [{"type": "text", "text": "Observation: please analyze the screenshot."}]},
        {"role": "assistant", "content": f"Thought: There it is.\n\nAction: ANSWER; {ANSWER}"},
    ]
    (task / "interact_messages.json").write_text(json.dumps(messages))
    (task / "agent.log").write_text("INFO - finish!!\n")
    for number in (1, 2):
        (task / f"screenshot{number}.png").write_bytes(screenshot(number))
    return []


def pae(folder: Path) -> list[str]:
    (folder / "a.png").write_bytes(screenshot(1))
    seen = {
        "task": f"Now given a task: {TASK}  Please interact with {WEB} and",
        "web_name": "Shop",
        "button": "[1] Buy",
    }
    said = ("Thought: The lamp.\n\nAction: Click [1]", f"Thought: There.\n\nAction: ANSWER; {ANSWER}")
    steps = [
        {"observation": {**seen, "image": "/run/a.png"}, "action": reply, "reward": number, "eval_info": "yes"}
        for number, reply in enumerate(said)
    ]
    torch.save([steps, []], folder / "train_trajectories.pt")
    return ["train_trajectories.pt"]


def webrl(folder: Path) -> list[str]:
    for name in ("traces", "actions"):
        (folder / name).mkdir()
    said = ("do(action=\"Click\", element='7')", f'exit(message="{ANSWER}")')
    lines = [
        {"target": TASK, "prompt": "** Simplified html **", "html": "<a id=7>Lamp</a>", "response": reply, "url": WEB}
        for reply in said
    ]
    (folder / "traces" / "21.jsonl").write_text("\n".join(map(json.dumps, lines)))
    (folder / "actions" / "21.json").write_text(json.dumps({"task_id": 21, "score": 1.0}))
    return ["traces/21.jsonl"]


def _android(folder: Path, **more: Any) -> list[str]:
    for number in range(3):
        (folder / f"{number}.png").write_bytes(screenshot(number))
    steps = [
        {
            "observation": f"Previous Actions:  Goal: {TASK}</s>",
            "action": '"action_type": "DUAL_POINT", "touch_point": "[0.5, 0.5]", "lift_point": "[0.5, 0.5]"',
            "image_path": f"/data/{number}.png",
            "reward": numpy.float64(number),
            "done": number == 1,
            **{name: value(number) for name, value in more.items()},
        }
        for number in range(2)
    ]
    torch.save([steps], folder / "episodes.pt")
    return ["episodes.pt"]


def digirl(folder: Path) -> list[str]:
    return _android(folder)


def digiq(folder: Path) -> list[str]:
    return _android(folder, next_image_path=lambda number: f"/data/{number + 1}.png")


def visualwebarena(folder: Path) -> list[str]:
    truth = {"eval_types": ["string_match"], "reference_answers": {"must_include": ["9.99"]}}
    steps = (("click [7]", "Let's think. ```click [7]```"), (f"stop [{ANSWER}]", f"Done. ```stop [{ANSWER}]```"))
    body = f"<pre>task_id: 7\nintent: {TASK}\nstart_url: {WEB}\neval: {truth}\n</pre>\n"
    for number, (parsed, raw) in enumerate(steps):
        image = base64.b64encode(screenshot(number)).decode()
        body += (
            f"<h2>New Page</h2>\n<h3 class='url'><a href={WEB}>URL: {WEB}</a></h3>"
            f"<div class='state_obv'><pre>[7] link 'Lamp &amp; more'</pre><div>"
            f"<img src='data:image/png;base64,{image}' style='max-width: 40%'/>\n"
            f"<div class='prev_action'>None</div>\n<div class='predict_action'>"
            f"<div class='raw_parsed_prediction' style='background-color:grey'><pre>{raw}</pre></div>"
            f"<div class='action_object'><pre>x</pre></div>"
            f"<div class='parsed_action'><pre>{parsed}</pre></div></div>"
        )
    (folder / "render_7.html").write_text(f"<!DOCTYPE html>\n<html><body>{body}</body></html>")
    return ["render_7.html"]


def mind2web(folder: Path) -> list[str]:
    operation = {"op": "CLICK", "original_op": "CLICK", "value": ""}
    actions = [{"action_uid": str(n), "cleaned_html": f"<a id={n}>Lamp</a>", "operation": operation} for n in (1, 2)]
    said = ["[link]  Lamp -> CLICK", "[button]  Price -> CLICK"]
    entry = {"annotation_id": "x", "website": "shop", "domain": "Shopping", "confirmed_task": TASK}
    (folder / "train_0.json").write_text(json.dumps([{**entry, "actions": actions, "action_reprs": said}]))
    return ["train_0.json"]


def online_mind2web(folder: Path) -> list[str]:
    (folder / "abc" / "trajectory").mkdir(parents=True)
    for number in range(3):
        (folder / "abc" / "trajectory" / f"{number}_full_screenshot.jpg").write_bytes(jpeg(number))
    done = ["<a>Lamp</a> -> CLICK", "<button>Price</button> -> CLICK"]
    result = {"task_id": "abc", "task": TASK, "action_history": done, "thoughts": ["The lamp."]}
    (folder / "abc" / "result.json").write_text(json.dumps({**result, "final_result_response": ANSWER}))
    return ["abc"]


def agentlab(folder: Path) -> list[str]:
    """With classes of the name that theirs have; nobody has to have their packages."""
    there = {}
    for name in ("browsergym", "browsergym.experiments", "browsergym.experiments.loop"):
        there[name] = types.ModuleType(name)
    info = type("StepInfo", (), {"__module__": "browsergym.experiments.loop", "__qualname__": "StepInfo"})
    there["browsergym.experiments.loop"].StepInfo = info
    sys.modules.update(there)
    try:
        said = ("click('12')", f"send_msg_to_user('{ANSWER}')", None)
        for number, action in enumerate(said):
            one = info()
            seen = {"url": WEB, "axtree_txt": "[12] link 'Lamp'", "goal": TASK, "elapsed_time": numpy.array([1.5])}
            one.__dict__ |= {"step": number, "obs": seen, "action": action, "agent_info": {"think": "The lamp."}}
            one.__dict__ |= {"reward": numpy.float64(0.0), "terminated": False}
            (folder / f"step_{number}.pkl.gz").write_bytes(gzip.compress(pickle.dumps(one)))
            (folder / f"screenshot_step_{number}.png").write_bytes(screenshot(number))
    finally:
        for name in there:
            del sys.modules[name]
    (folder / "summary_info.json").write_text(json.dumps({"n_steps": 2, "cum_reward": 1.0}))
    return ["."]


def browser_use(folder: Path) -> list[str]:
    acted = ([{"click_element_by_index": {"index": 3}}], [{"done": {"text": ANSWER, "success": True}}])
    history = [
        {
            "model_output": {"current_state": {"memory": "", "next_goal": "Open the lamp."}, "action": actions},
            "result": [{"is_done": number == 1, "extracted_content": ANSWER if number else "Clicked.", "error": None}],
            "state": {
                "url": WEB,
                "title": "Shop",
                "tabs": [],
                "screenshot": base64.b64encode(screenshot(number)).decode(),
            },
        }
        for number, actions in enumerate(acted)
    ]
    broken = {"model_output": None, "result": [{"error": "rate limit"}], "state": {"url": "about:blank"}}
    (folder / "history.json").write_text(json.dumps({"task": TASK, "history": [broken, *history]}))
    return ["history.json"]


def openai_cua(folder: Path) -> list[str]:
    def shown(number: int) -> dict[str, Any]:
        image = f"data:image/png;base64,{base64.b64encode(screenshot(number)).decode()}"
        output = {"type": "computer_screenshot", "image_url": image, "current_url": WEB}
        return {"type": "computer_call_output", "call_id": str(number), "output": output}

    def call(number: int, **action: Any) -> dict[str, Any]:
        return {"type": "computer_call", "call_id": str(number), "action": action, "status": "completed"}

    items = [
        {"role": "user", "content": [{"type": "input_text", "text": TASK}]},
        call(0, type="screenshot"),
        shown(0),
        {"type": "reasoning", "summary": [{"type": "summary_text", "text": "The lamp is in the middle."}]},
        call(1, type="click", x=16, y=12, button="left"),
        shown(1),
        {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": ANSWER}]},
    ]
    (folder / "run.jsonl").write_text("\n".join(map(json.dumps, items)))
    return ["run.jsonl"]


FOREIGN: dict[str, Callable[[Path], list[str]]] = {
    one.__name__: one
    for one in (
        *(webvoyager, pae, webrl, digirl, digiq, visualwebarena, mind2web, online_mind2web, agentlab, browser_use),
        openai_cua,
    )
}
"""By name, what writes such files into a folder and says which of them are to be imported."""
FORMATS = {"webrl": "webrl_traces"}
"""What import_data.py calls them, where it is another name; WebVoyager's it need not import."""
