"""Sets that ask where something is."""

import json
from pathlib import Path

import pyarrow
from pyarrow import parquet

from tests.toolkits.research.screens import pictures, png


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
