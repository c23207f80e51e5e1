"""The field's sets of demonstrations, whose readers give episodes of canonical actions (episodes.py)."""

import dataclasses
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from common.errors import UserError
from data.action_spaces import NUMBERS
from toolkits.readers.reading.left_out import LeftOut
from toolkits.readers.reading.row_files import data_files
from toolkits.readers.reading.splits import to_train_on
from toolkits.readers.research.episodes import Episode
from toolkits.readers.research.sets.agentnet import read_agentnet
from toolkits.readers.research.sets.aguvis import read_aguvis
from toolkits.readers.research.sets.aitw import read_aitw
from toolkits.readers.research.sets.android_control import read_android_control
from toolkits.readers.research.sets.fara import read_fara
from toolkits.readers.research.sets.grounding import read_os_atlas, read_uground
from toolkits.readers.research.sets.gui_odyssey import read_gui_odyssey
from toolkits.readers.research.sets.multimodal_mind2web import read_multimodal_mind2web
from toolkits.readers.research.sets.os_genesis import read_os_genesis
from toolkits.readers.research.sets.playwright_trace import read_playwright_trace
from toolkits.readers.research.sets.screenspot import read_screenspot
from toolkits.readers.research.sets.weblinx import read_weblinx

_AT_POINTS, _ON_PHONES = "qwen_computer_use", "androidworld"


@dataclasses.dataclass(frozen=True)
class ResearchSet:
    """What stands in its files, who reads them (all at once, with the folder of their images), and in which action
    space its actions are said unless another is asked for."""

    what: str
    read: Callable[[Sequence[Path], Path], Iterator[Episode]]
    space: str = _AT_POINTS
    has_single_steps: bool = False
    """Of which a sample can be made without a trajectory."""
    is_folders: bool = False
    """Whose demonstrations are folders; of the others a folder stands for the files in it."""

    def episodes(self, paths: Sequence[Path], image_dir: Path) -> Iterator[Episode]:
        """`read`, also of folders of files, of which those for validation and test are left out; `UserError` where one
        holds none."""
        files: list[Path] = []
        for path in paths:
            files += _to_read(path) if path.is_dir() and not self.is_folders else [path]
        return self.read(files, image_dir)


def _to_read(folder: Path) -> list[Path]:
    left_out = LeftOut()
    files = to_train_on(folder, data_files(folder), left_out)
    if not files:
        raise UserError(f"{folder}: no JSON, Parquet or TFRecords in this folder or below")
    left_out.tell(folder)
    return files


SETS: dict[str, ResearchSet] = {
    "multimodal_mind2web": ResearchSet("Multimodal-Mind2Web's Parquet", read_multimodal_mind2web, NUMBERS),
    "aguvis": ResearchSet("AGUVIS' stages 1 and 2, GUI-Actor's JSON", read_aguvis, has_single_steps=True),
    "android_control": ResearchSet("AndroidControl's TFRecords, or JSON of them", read_android_control, _ON_PHONES),
    "os_atlas": ResearchSet("OS-Atlas' grounding, JSON", read_os_atlas, has_single_steps=True),
    "uground": ResearchSet("UGround's Parquet, or JSON of it", read_uground, has_single_steps=True),
    "screenspot": ResearchSet(
        "ScreenSpot's, v2's and Pro's JSON, or Parquet of it", read_screenspot, has_single_steps=True
    ),
    "agentnet": ResearchSet("OpenCUA's AgentNet, JSON lines", read_agentnet),
    "aitw": ResearchSet("Android in the Wild: TFRecords, or SeeClick's JSON", read_aitw),
    "weblinx": ResearchSet("WebLINX's demonstrations, folders", read_weblinx, NUMBERS, is_folders=True),
    "playwright_trace": ResearchSet("Playwright's traces, `trace.zip`", read_playwright_trace),
    "gui_odyssey": ResearchSet("GUI-Odyssey's `annotations/*.json`", read_gui_odyssey),
    "os_genesis": ResearchSet("OS-Genesis' mobile data, JSON lines", read_os_genesis, _ON_PHONES),
    "os_genesis_web": ResearchSet("OS-Genesis' web data, JSON lines", read_os_genesis, NUMBERS),
    "fara": ResearchSet("Fara's folders with `web_surfer.log`, CUAVerifierBench's Parquet", read_fara, is_folders=True),
}
