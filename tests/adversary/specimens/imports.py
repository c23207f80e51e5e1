"""Other projects' files and folders, which toolkits/import_data.py reads."""

import gzip
import io
import json
import shutil
import tarfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch

from tests.adversary.specimens.specimen import TURNS, Reading, Specimen, images
from tests.field_files import write_field_files
from tests.toolkits.foreign_folders import FOREIGN, FORMATS
from tests.toolkits.trajectories import screenshot
from toolkits import (
    import_data,
)


def imported(kind: str, name: str) -> Reading:
    def read(folder: Path, out: Path) -> None:
        result = {"result_dir": str(out / "results")} if kind == "pae" else {"save_json_file": str(out / "x.json")}
        shown = str(out / "images" if kind in ("openwebvoyager_tar", "webdataset") else folder)
        import_data.main(import_data.Config(kind, (str(folder / name),), shown, **result))

    return read


def write_pt(name: str, step: dict[str, Any]) -> Callable[[Path], None]:
    def write(folder: Path) -> None:
        images(folder)
        torch.save([[step, step], [step]], folder / name)

    return write


PAE_SEEN = {
    "image": "0.png",
    "task": "Now given a task: x  Please interact with http://y.example and",
    "web_name": "Shop",
    "button": "[1]",
}


PAE = {"observation": PAE_SEEN, "action": "Thought: a\n\nAction: Wait", "reward": torch.tensor(0.0), "eval_info": "no"}


DIGIQ = {
    "observation": "Goal: buy a lamp</s>",
    "action": "click",
    "image_path": "/data/0.png",
    "next_image_path": "1.png",
    "reward": 0,
    "done": False,
    "task": "buy",
    "image_features": torch.arange(4.0),
    "action_list": ["a", "b"],
}


WEBRL = {"observation": "Task Instruction: x", "action": "do('x')", "reward": 1, "task": "t"}


def write_legacy_tar(folder: Path) -> None:
    shutil.copytree(write_field_files(folder / "field") / "tar", folder / "tar")
    shutil.rmtree(folder / "field")


def write_llava(folder: Path) -> None:
    images(folder)
    records = [{"id": str(number), "image": f"{number}.png", "conversations": TURNS} for number in range(3)]
    (folder / "llava.json").write_text(json.dumps(records))
    (folder / "llava.jsonl").write_text("\n".join(map(json.dumps, records)))


def write_webdataset(folder: Path) -> None:
    with tarfile.open(folder / "plain.tar", "w") as tar:
        for number in range(3):
            parts = {"png": screenshot(number), "json": json.dumps({"conversations": TURNS}).encode()}
            for kind, content in parts.items():
                info = tarfile.TarInfo(f"a/{number}.{kind}")
                info.size = len(content)
                tar.addfile(info, io.BytesIO(content))
    (folder / "packed.tgz").write_bytes(gzip.compress((folder / "plain.tar").read_bytes()))


def released(name: str) -> Specimen:
    """Another project's folder, which is imported as trajectories."""
    kind = FORMATS.get(name, name)

    def write(folder: Path) -> None:
        (folder / "files").write_text("\n".join(FOREIGN[name](folder)))

    def read(folder: Path, out: Path) -> None:
        given = tuple(str(folder / file) for file in (folder / "files").read_text().splitlines())
        import_data.main(import_data.Config(kind, given, str(folder), result_dir=str(out / "results")))

    return Specimen(write, "**/*.*", (read,))


IMPORTS: dict[str, Specimen] = {
    "PAE": Specimen(write_pt("pae.pt", PAE), "*", (imported("pae", "pae.pt"),)),
    "Digi-Q": Specimen(write_pt("digiq.pt", DIGIQ), "*", (imported("digiq", "digiq.pt"),)),
    "WebRL": Specimen(write_pt("webrl.pt", WEBRL), "*.pt", (imported("webrl", "webrl.pt"),)),
    "OpenWebVoyager's tars": Specimen(
        write_legacy_tar, "tar/*.tar", (imported("openwebvoyager_tar", "tar/openwebvoyager-000000.tar"),)
    ),
    "LLaVA": Specimen(write_llava, "*", (imported("llava", "llava.json"), imported("llava", "llava.jsonl"))),
    "webdataset": Specimen(
        write_webdataset, "*", (imported("webdataset", "plain.tar"), imported("webdataset", "packed.tgz"))
    ),
    **{name: released(name) for name in FOREIGN if name not in ("webvoyager", "pae")},
}
