"""Sets of tasks on websites: Mind2Web and Fara."""

import json
from pathlib import Path
from typing import Any

import pyarrow
from pyarrow import parquet

from tests.toolkits.research.screens import TASK, png


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
