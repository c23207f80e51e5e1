"""The field's sets, recordings and grounding samples, for damage: import_data.py and measure_pointing.py read what is
left, or say why not."""

import json
from collections.abc import Callable
from pathlib import Path

from data.samples.grounding import read_grounding
from tests.adversary.specimens.specimen import Reading, Specimen
from tests.toolkits.readers.test_devtools_recorder import STEPS
from tests.toolkits.research import RESEARCH
from toolkits import import_data

_GIVEN = "given.txt"


def _write(name: str) -> Callable[[Path], None]:
    def write(folder: Path) -> None:
        (folder / "set").mkdir()
        (folder / _GIVEN).write_text("\n".join(RESEARCH[name](folder / "set")))

    return write


def _read(name: str) -> Reading:
    def read(folder: Path, out: Path) -> None:
        given = tuple(str(folder / "set" / file) for file in (folder / _GIVEN).read_text().splitlines())
        space = "openwebrl" if name in ("weblinx", "fara") else ""
        images, results = str(folder / "set"), str(out / "results")
        import_data.main(import_data.Config(name, given, images, result_dir=results, action_space=space))

    return read


def _record(folder: Path) -> None:
    (folder / "recording.json").write_text(json.dumps({"title": "x", "steps": STEPS}))


def _import_recording(folder: Path, out: Path) -> None:
    file, results = str(folder / "recording.json"), str(out / "results")
    import_data.main(import_data.Config("devtools_recorder", (file,), result_dir=results))


def _write_grounding(folder: Path) -> None:
    files = tuple(str(folder / file) for file in RESEARCH["screenspot"](folder))
    import_data.main(import_data.Config("screenspot", files, str(folder), str(folder / "samples.json")))


def _read_grounding(folder: Path, out: Path) -> None:
    list(read_grounding([folder / "samples.json"], [folder]))


RESEARCH_SETS: dict[str, Specimen] = {
    **{f"{name}, a set": Specimen(_write(name), "set/**/*", (_read(name),)) for name in RESEARCH},
    "devtools_recorder": Specimen(_record, "recording.json", (_import_recording,)),
    "grounding samples": Specimen(_write_grounding, "samples.json", (_read_grounding,)),
}
