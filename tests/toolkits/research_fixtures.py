"""The field's sets of demonstrations, each rebuilt small by ourselves by its published layout; screens of 200x100."""

import gzip
import io
import json
import struct
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow
from PIL import Image
from pyarrow import parquet

TASK = "Find the blue lamp."
SIZE = (200, 100)


def png(number: int = 0, size: tuple[int, int] = SIZE, kind: str = "PNG") -> bytes:
    buffer = io.BytesIO()
    Image.new("RGB", size, (40 * number % 256, 90, 120)).save(buffer, kind)
    return buffer.getvalue()


def pictures(folder: Path, *names: str) -> None:
    for number, name in enumerate(names):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(png(number, kind="JPEG" if name.endswith(".jpg") else "PNG"))


def candidate(node: int, box: str, tag: str, is_target: bool | None = None) -> str:
    attributes = {"backend_node_id": str(node), "bounding_box_rect": box, "class": "x"}
    found = {"tag": tag, "attributes": json.dumps(attributes), "backend_node_id": str(node)}
    return json.dumps(found if is_target is None else {**found, "is_original_target": is_target})


PAGE = (
    "<html><body><div backend_node_id=9><a backend_node_id=7>Blue <b>lamp</b></a>"
    "<input backend_node_id=8 type=search placeholder='Search'><select backend_node_id=6><option>Red</option></select>"
    "<script backend_node_id=5>alert(1)</script></div></body></html>"
)


def mind2web_rows() -> list[dict[str, Any]]:
    """Two demonstrations, of which one has a step that the set left out; their rows are not in order."""
    said = ["[searchbox]  Search -> TYPE: blue lamp", "[combobox]  Color -> SELECT: Blue", "[link]  Blue lamp -> CLICK"]
    others = [candidate(9, "0,0,200,100", "div"), candidate(5, "-1,-1,-1,-1", "script")]
    targets = {
        0: ("TYPE", "TYPE", "blue lamp", candidate(8, "10,10,80,20", "input", True)),
        1: ("SELECT", "SELECT", "Blue", candidate(6, "100,10,40,20", "select", True)),
        2: ("CLICK", "CLICK", "", candidate(7, "10,80,80,40", "a", True)),  # half of it below the screenshot
    }
    rows = []
    for task, index in (("b", 0), ("a", 2), ("a", 0), ("a", 1)):
        op, original, value, target = targets[index]
        rest = [
            one[3].replace(', "is_original_target": true', "") for number, one in targets.items() if number != index
        ]
        rows.append(
            {
                "annotation_id": task,
                "action_uid": f"{task}{index}",
                "website": "shop",
                "confirmed_task": TASK if task == "a" else "Look for a lamp.",
                "screenshot": {"bytes": png(index, kind="JPEG"), "path": None},
                "raw_html": PAGE,
                "cleaned_html": PAGE,
                "operation": json.dumps({"op": op, "original_op": original, "value": value}),
                "pos_candidates": [target],
                "neg_candidates": [*others, *rest],
                "action_reprs": said,
                "target_action_index": str(index),
                "target_action_reprs": said[index],
            }
        )
    rows[0]["operation"] = json.dumps({"op": "CLICK", "original_op": "HOVER", "value": ""})
    return rows


def multimodal_mind2web(folder: Path) -> list[str]:
    """Two shards; demonstration `a` is in both."""
    rows = mind2web_rows()
    for number, part in enumerate((rows[:2], rows[2:])):
        parquet.write_table(pyarrow.Table.from_pylist(part), folder / f"train-{number:05d}.parquet", row_group_size=1)
    return ["train-00000.parquet", "train-00001.parquet"]


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


def varint(number: int) -> bytes:
    number &= 2**64 - 1
    out = bytearray()
    while number > 127:
        out.append(number & 127 | 128)
        number >>= 7
    return bytes([*out, number])


def message(*fields: tuple[int, int | bytes | str]) -> bytes:
    """A protobuf message of numbers, texts and messages."""
    out = b""
    for number, value in fields:
        content = value.encode() if isinstance(value, str) else value
        key = varint(number << 3 | (0 if isinstance(content, int) else 2))
        out += key + (varint(content) if isinstance(content, int) else varint(len(content)) + content)
    return out


def feature(values: list[Any]) -> bytes:
    if all(isinstance(value, int) for value in values):
        return message((3, message((1, b"".join(map(varint, values))))))
    if all(isinstance(value, float) for value in values):
        return message((2, message((1, struct.pack(f"<{len(values)}f", *values)))))
    return message((1, message(*((1, value) for value in values))))


def example(**features: list[Any]) -> bytes:
    entries = ((1, message((1, name.replace("__", "/")), (2, feature(values)))) for name, values in features.items())
    return message((1, message(*entries)))


def tfrecord(path: Path, examples: list[bytes]) -> None:
    framed = b"".join(struct.pack("<QI", len(one), 0) + one + bytes(4) for one in examples)
    path.write_bytes(gzip.compress(framed))


def node(name: str, class_name: str, box: tuple[int, int, int, int], depth: int, *flags: int) -> bytes:
    sides = message(*((key, side) for key, side in enumerate(box, start=1)))
    return message(
        (2, sides), (3, f"android.widget.{class_name}"), (7, name), *((flag, 1) for flag in flags), (23, 1), (27, depth)
    )


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


def os_atlas(folder: Path) -> list[str]:
    pictures(folder, "1.png")
    elements = [
        {"instruction": "the lamp", "bbox": [0.1, 0.2, 0.3, 0.4], "data_type": "icon"},
        {"instruction": "gone", "bbox": [1.1, 0.2, 1.3, 0.4], "data_type": "icon"},
    ]
    records = [{"img_filename": "1.png", "elements": elements}]
    records.append({"img_filename": "1.png", "instruction": "the menu", "bbox": [0.0, 0.0, 0.5, 1.0]})
    (folder / "linux_splited.json").write_text(json.dumps(records))
    return ["linux_splited.json"]


def uground(folder: Path) -> list[str]:
    asked = "Your task is to help the user.\n\nDescription: the lamp\n\nAnswer:"
    turns = [
        {"from": "human", "value": f"<image>\n{asked}"},
        {"from": "gpt", "value": "(250, 500)"},
        {"from": "human", "value": "the menu"},
        {"from": "gpt", "value": "(100, 200, 300, 400)"},
    ]
    row = {"image": png(1, kind="JPEG"), "conversations": json.dumps(turns), "width": 200, "height": 100}
    parquet.write_table(pyarrow.Table.from_pylist([row]), folder / "shard_0000.parquet")
    return ["shard_0000.parquet"]


def screenspot(folder: Path) -> list[str]:
    """Of the first version and Pro JSON, of the Hub's copies Parquet."""
    pictures(folder, "web_1.png")
    record = {"img_filename": "web_1.png", "bbox": [20, 10, 40, 20], "instruction": "the lamp", "data_type": "icon"}
    (folder / "screenspot_web.json").write_text(json.dumps([record]))
    told = {"img_size": [200, 100], "ui_type": "text", "group": "CAD", "application": "blender", "platform": "linux"}
    record = {"img_filename": "web_1.png", "bbox": [100, 10, 140, 30], "instruction": "the menu", **told}
    (folder / "blender_linux.json").write_text(json.dumps([record]))
    row = {"file_name": "x.png", "bbox": [0.5, 0.0, 1.0, 0.5], "instruction": "the clock", "data_type": "icon"}
    rows = [{**row, "data_source": "ios", "image": {"bytes": png(), "path": None}}]
    parquet.write_table(pyarrow.Table.from_pylist(rows), folder / "test-00000.parquet")
    return ["screenspot_web.json", "blender_linux.json", "test-00000.parquet"]


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


def weblinx(folder: Path) -> list[str]:
    """A viewport of 400x200, which the screenshots show at half its size."""
    demo = folder / "demo"
    pictures(demo / "screenshots", "screenshot-1-0.png", "screenshot-2-0.png")
    for name, content in {
        "pages/page-1-0.html": "<body><a data-webtasks-id=u1>Blue lamp</a><p data-webtasks-id=u3>Text</p>"
        "<input data-webtasks-id=u2 placeholder=Search></body>",
        "pages/page-2-0.html": "<body><a data-webtasks-id=u1>Blue lamp</a></body>",
        "bboxes/bboxes-1.json": json.dumps(
            {
                "u1": {"x": 20, "y": 40, "width": 160, "height": 40, "top": 40},
                "u2": {"x": 200, "y": 40, "width": 100, "height": 40, "top": 40},
                "u3": {"x": 0, "y": 0, "width": 10, "height": 10, "top": 0},
                "below": {"x": 0, "y": 900, "width": 10, "height": 10, "top": 900},
            }
        ),
    }.items():
        (demo / name).parent.mkdir(exist_ok=True)
        (demo / name).write_text(content)

    def turn(intent: str, page: int, element: str = "", box: tuple[int, ...] = (), **arguments: Any) -> dict[str, Any]:
        sides = dict(zip(("x", "y", "width", "height"), box, strict=False))
        metadata = {"url": "http://shop.example/", "viewportWidth": 400, "viewportHeight": 200, "tabId": 1}
        if intent == "click":
            metadata |= {"mouseX": 100, "mouseY": 60}
        found = {"attributes": {"data-webtasks-id": element}, "bbox": sides, "tagName": "A", "textContent": "x"}
        state = {"screenshot": f"screenshot-{page}-0.png", "page": f"page-{page}-0.html", "screenshot_status": "good"}
        more = {"element": found} if element else {}
        action = {"intent": intent, "arguments": {"metadata": metadata, **more, **arguments}}
        return {"type": "browser", "timestamp": 1.0, "state": state, "action": action}

    turns = [
        {"type": "chat", "timestamp": 0.1, "speaker": "instructor", "utterance": TASK},
        {"type": "chat", "timestamp": 0.2, "speaker": "navigator", "utterance": "Sure."},
        turn("textInput", 1, "u2", (200, 40, 100, 40), text="blue lamp"),
        {"type": "chat", "timestamp": 2.0, "speaker": "instructor", "utterance": "The cheap one."},
        turn("click", 1, "u1", (20, 40, 160, 40)),
        turn("scroll", 2, scrollX=0, scrollY=300),
        turn("paste", 2, pasted="x"),
        turn("scroll", 2, scrollX=0, scrollY=100),
        turn("load", 2, properties={"url": "http://shop.example/", "transitionType": "link"}),
        turn("load", 2, properties={"url": "http://shop.example/lamp", "transitionType": "typed"}),
        turn("tabcreate", 2, properties={"tabId": 2}),
        {"type": "chat", "timestamp": 9.0, "speaker": "navigator", "utterance": "It costs 9.99."},
    ]
    (demo / "replay.json").write_text(json.dumps({"version": "1", "data": turns}))
    return ["demo"]


def playwright_trace(folder: Path) -> list[str]:
    """A viewport of 400x200 again, whose frames have half its size."""

    def call(number: int, method: str, **params: Any) -> dict[str, Any]:
        head = {"type": "before", "callId": f"call@{number}", "startTime": 100.0 * number, "class": "Frame"}
        return {**head, "method": method, "apiName": f"page.{method}", "params": params}

    def end(number: int, **more: Any) -> dict[str, Any]:
        return {"type": "after", "callId": f"call@{number}", "endTime": 100.0 * number + 5, **more}

    def frame(time: float, name: str) -> dict[str, Any]:
        size = {"width": 400, "height": 200}
        return {"type": "screencast-frame", "pageId": "p", "sha1": name, "timestamp": time, **size}

    viewport = {"viewport": {"width": 400, "height": 200}}
    events = [
        {"version": 7, "type": "context-options", "browserName": "chromium", "title": TASK, "options": viewport},
        call(1, "goto", url="http://shop.example/"),
        frame(150, "a.jpeg"),
        call(2, "click", selector="internal:role=textbox"),
        {"type": "input", "callId": "call@2", "point": {"x": 100, "y": 60}},
        end(2),
        frame(250, "b.jpeg"),
        call(3, "fill", selector="internal:role=textbox", value="blue lamp"),
        call(4, "press", selector="internal:role=textbox", key="Control+A"),
        call(5, "expect", selector="internal:text=lamp"),
        call(6, "fill", selector="#unknown", value="x"),
        call(7, "click", selector="#gone"),
        end(7, error={"message": "timeout"}),
        call(8, "dblclick", selector="#lamp", button="left"),
        end(8, point={"x": 20, "y": 180}),
        call(9, "mouseWheel", deltaX=0, deltaY=120),
        call(10, "goBack"),
    ]
    with zipfile.ZipFile(folder / "trace.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("0-trace.trace", "\n".join(map(json.dumps, events)))
        archive.writestr("0-trace.network", "{}")
        archive.writestr("../outside.txt", "never unpacked")
        for number, name in enumerate(("a.jpeg", "b.jpeg")):
            archive.writestr(f"resources/{name}", png(number, kind="JPEG"))
    return ["trace.zip"]


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


FARA_SIZE = (1440, 900)
"""Which the model is shown at 1428x896."""


def fara(folder: Path) -> list[str]:
    """A folder of runs, of which one is there, and a row of the published trajectories."""
    done: list[dict[str, Any]] = [
        {"action": "visit_url", "url": "http://shop.example/"},
        {"action": "left_click", "coordinate": [714, 448]},
        {"action": "type", "text": "blue lamp", "coordinate": [357, 224], "delete_existing_text": True},
        {"action": "pause_and_memorize_fact", "fact": "blue"},
        {"action": "scroll", "pixels": -300},
        {"action": "terminate", "status": "success"},
    ]
    lines = [json.dumps({"message": "Closing browser..."})]
    for arguments in done:
        told = {"source": "FaraAgent", "url": "http://shop.example/", "action": "computer_use", "message": "x"}
        lines.append(json.dumps({**told, "arguments": {**arguments, "thoughts": "So."}}))
    run = folder / "runs" / "shop_1"
    run.mkdir(parents=True)
    shots = [png(number, FARA_SIZE) for number in range(len(done) + 1)]
    for number, shot in enumerate(shots):
        (run / f"screenshot{number}.png").write_bytes(shot)
    (run / "web_surfer.log").write_text("\n".join(lines))
    (run / "shop_1_final_answer.json").write_text(json.dumps({"final_answer": "It costs 9.99."}))
    (run / "task_data.json").write_text(json.dumps({"task_summary": TASK, "init_url": "http://shop.example/"}))
    row = {"task_id": "x", "instruction": "Look for a lamp.", "init_url": "", "final_answer": "<no_answer>"}
    row |= {"web_surfer_log": lines[2], "screenshots": [{"bytes": shots[0], "path": None}]}
    row["final_human_outcome_label"] = 0
    parquet.write_table(pyarrow.Table.from_pylist([row]), folder / "fara7b-00000.parquet")
    return ["runs", "fara7b-00000.parquet"]


RESEARCH: dict[str, Callable[[Path], list[str]]] = {
    one.__name__: one
    for one in (
        *(multimodal_mind2web, aguvis, android_control, os_atlas, uground, screenspot, agentnet, aitw, gui_odyssey),
        *(weblinx, playwright_trace, os_genesis, os_genesis_web, fara),
    )
}
"""By name of the format, what writes such files into a folder and says which of them are to be imported."""
