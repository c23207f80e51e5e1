"""Every format that import_data.py reads: what it is called, what it is, and who reads it.

A reader of samples gives records one by one: `read(file, image_dir, round_id)`. A reader of trajectories writes their
folders: `write(file, image_dir, out_dir, tries)`. A new one is a line here. Sets of demonstrations give episodes of
canonical actions, which any action space can say: those are lines of readers/research/research_sets.py.
"""

import dataclasses
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from common.shown.tables import markdown_table
from toolkits.readers.interchange.adp import import_adp
from toolkits.readers.interchange.atif import import_atif
from toolkits.readers.interchange.conversations_file import read_conversations
from toolkits.readers.interchange.energon import read_energon
from toolkits.readers.interchange.llava import read_llava
from toolkits.readers.interchange.rows import read_rows_file
from toolkits.readers.interchange.webdataset_tar import read_webdataset
from toolkits.readers.logs.agentlab import import_agentlab
from toolkits.readers.logs.browser_use import import_browser_use
from toolkits.readers.logs.devtools_recorder import import_devtools_recorder
from toolkits.readers.logs.digirl import import_digirl, read_digirl
from toolkits.readers.logs.mind2web import import_mind2web
from toolkits.readers.logs.online_mind2web import import_online_mind2web
from toolkits.readers.logs.openai_cua import import_openai_cua
from toolkits.readers.logs.pae import import_pae
from toolkits.readers.logs.released_tar import read_released_tar
from toolkits.readers.logs.visualwebarena import import_visualwebarena
from toolkits.readers.logs.webrl import read_webrl
from toolkits.readers.logs.webrl_traces import import_webrl_traces
from toolkits.readers.reading.folders import Tries
from toolkits.readers.research.research_sets import SETS, ResearchSet

ReadSamples = Callable[[Path, Path, int], Iterator[dict[str, Any]]]
WriteFolders = Callable[[Path, Path, Path, Tries], None]


@dataclasses.dataclass(frozen=True)
class Format:
    """What stands in its files, and its readers: of samples, of trajectories, or both."""

    what: str
    samples: ReadSamples | None = None
    trajectories: WriteFolders | None = None
    episodes: ResearchSet | None = None

    @property
    def gives(self) -> str:
        """The word of the table."""
        if self.episodes:
            return "either" if self.episodes.has_single_steps else "trajectories"
        return "either" if self.samples and self.trajectories else "samples" if self.samples else "trajectories"


FORMATS: dict[str, Format] = {
    "atif": Format("Harbor's Agent Trajectory Interchange Format, files or folders", None, import_atif),
    "adp": Format("neulab's Agent Data Protocol, JSON or JSON lines", None, import_adp),
    "openwebvoyager_tar": Format("OpenWebVoyager's `openwebvoyager-*.tar`", read_released_tar),
    "pae": Format("PAE's `*_trajectories.pt`", None, import_pae),
    "digirl": Format("DigiRL's `*.pt` trajectory lists", read_digirl, import_digirl),
    "digiq": Format("Digi-Q's `*.pt` trajectory lists", read_digirl, import_digirl),
    "webrl": Format("WebRL's processed steps, `*.pt`", read_webrl),
    "messages": Format("OpenAI's messages, JSON or JSON lines", read_conversations),
    "ms_swift": Format("ms-swift's JSON or JSON lines", read_conversations),
    "llama_factory": Format("LLaMA-Factory's JSON or JSON lines, or `dataset_info.json`", read_conversations),
    "hf": Format("Hugging Face data sets: folders, Parquet, `save_to_disk`", read_rows_file),
    "verl": Format("verl's and EasyR1's Parquet", read_rows_file),
    "llava": Format("LLaVA's or ShareGPT's JSON and JSON lines", read_llava),
    "webdataset": Format("plain webdataset tars, `.tgz` too, or folders of them", read_webdataset),
    "energon": Format("Megatron-Energon's datasets, folders with `.nv-meta`", read_energon),
    "webrl_traces": Format("WebRL's rollouts, `traces/*.jsonl`", None, import_webrl_traces),
    "visualwebarena": Format("WebArena's and VisualWebArena's `render_*.html`", None, import_visualwebarena),
    "mind2web": Format("Mind2Web's JSON of demonstrations", None, import_mind2web),
    "online_mind2web": Format("Online-Mind2Web's result folders", None, import_online_mind2web),
    "agentlab": Format("AgentLab's experiment folders", None, import_agentlab),
    "browser_use": Format("browser-use's histories, JSON", None, import_browser_use),
    "openai_cua": Format("items of OpenAI's computer use, JSON or JSON lines", None, import_openai_cua),
    "devtools_recorder": Format("recordings of Chrome's DevTools Recorder, JSON", None, import_devtools_recorder),
    **{name: Format(found.what, episodes=found) for name, found in SETS.items()},
}

OF_OTHERS = frozenset(("messages", "ms_swift", "llama_factory", "llava", "hf", "verl"))
"""Formats whose records keep ids that others gave them, which may come again."""
OF_ONE = frozenset(("visualwebarena", "online_mind2web", "agentlab", "browser_use", "devtools_recorder"))
"""Formats of one trajectory a file."""
OF_TARS = {"webdataset": read_webdataset, "energon": read_energon}
"""Readers of samples that take `num_workers`, too."""


def table() -> str:
    """All of them, as the help of the command shows them."""
    rows = [(name, one.what, one.gives) for name, one in FORMATS.items()]
    return markdown_table([("format", "from", "to"), *rows])
