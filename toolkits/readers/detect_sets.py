"""Which of the field's sets a file or folder is of, by its name and first record (toolkits/readers/detect.py)."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from toolkits.readers.reading.steps import text_of

_CALLS = ("pyautogui.", "mobile.", "browser.", "terminate(", "answer(")
_RECORDS: list[tuple[str, Callable[[Mapping[str, Any]], bool]]] = [
    ("agentnet", lambda record: {"traj", "instruction"} <= record.keys()),
    ("gui_odyssey", lambda record: {"task_info", "steps"} <= record.keys()),
    ("os_atlas", lambda record: {"img_filename", "elements"} <= record.keys()),
    ("os_atlas", lambda record: "img_filename" in record and _are_shares(record.get("bbox"))),
    ("screenspot", lambda record: {"img_filename", "bbox"} <= record.keys()),
    ("android_control", lambda record: {"goal", "actions", "step_instructions"} <= record.keys()),
    ("uground", lambda record: set(record) == {"image", "conversations", "width", "height"}),
    ("os_genesis_web", lambda record: "image" in record and "action I will perform is ```" in _answers(record)),
    ("os_genesis", lambda record: "image" in record and '"action_type"' in _answers(record)),
    ("aguvis", lambda record: "image" in record and _answers(record).startswith(_CALLS)),
    ("aitw", lambda record: any("action_type_id" in step for step in _first_episode(record) if isinstance(step, dict))),
]
OF_FILES = ("multimodal_mind2web", "android_control", "aitw", *(name for name, _ in _RECORDS))
"""Those whose readers take folders of files, too."""


def set_of_folder(folder: Path) -> str | None:
    """Of WebLINX' and Fara's folders."""
    if any(next(folder.glob(f"{below}replay.json"), None) for below in ("", "*/")):
        return "weblinx"
    return "fara" if any(next(folder.glob(f"{below}web_surfer.log"), None) for below in ("", "*/")) else None


def set_of_file(path: Path) -> str | None:
    """Of what is no JSON: by the name that its publisher gave it, and of Parquet by its columns."""
    if path.suffix == ".zip":
        return "playwright_trace"
    if path.suffix == ".parquet":
        from data.shards.parquet.parquet_file import read_schema  # imported here: pyarrow takes a second

        names = set(read_schema(path).names)
        if {"screenshot", "pos_candidates"} <= names:
            return "multimodal_mind2web"
        if {"image", "bbox", "instruction", "data_type"} <= names:
            return "screenspot"
        if {"web_surfer_log", "screenshots"} <= names:
            return "fara"
        return "uground" if names == {"image", "conversations", "width", "height"} else None
    head, _, rest = path.name.partition("-")
    if "-of-" not in rest:
        return None
    aitw = ("general", "google_apps", "install", "single", "web_shopping")
    return "android_control" if head == "android_control" else "aitw" if head in aitw else None


def set_of_record(record: Mapping[str, Any]) -> str | None:
    """Of JSON, by the first of its records."""
    return next((name for name, looks in _RECORDS if looks(record)), None)


def _are_shares(box: Any) -> bool:
    return isinstance(box, list) and all(type(side) in (int, float) and side <= 1.5 for side in box)


def _answers(record: Mapping[str, Any]) -> str:
    turns = record.get("conversations")
    last = turns[-1] if isinstance(turns, list) and turns else {}
    return text_of(last.get("value")) if isinstance(last, dict) else ""


def _first_episode(record: Mapping[str, Any]) -> list[Any]:
    episodes = next((value for value in record.values() if isinstance(value, list) and value), [[]])
    return episodes[0] if isinstance(episodes[0], list) else []
