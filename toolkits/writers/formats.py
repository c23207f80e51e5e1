"""Every format that export_data.py writes: what comes of it, and who writes it.

A writer of trajectories is called for each: `write(folder, out_dir, left_out)`. A writer of samples takes all of them,
one after the other, so that they need no memory: `write(samples, out_dir, options, left_out)`.
"""

import dataclasses
from collections.abc import Callable, Iterator
from pathlib import Path

from toolkits.readers.reading.left_out import LeftOut
from toolkits.writers.adp import write_adp
from toolkits.writers.agentlab import write_agentlab
from toolkits.writers.atif import write_atif
from toolkits.writers.conversations import write_llama_factory, write_llava, write_messages, write_ms_swift
from toolkits.writers.results import write_online_mind2web, write_webvoyager
from toolkits.writers.rows import write_hf, write_verl
from toolkits.writers.samples import ExportSample, Options
from toolkits.writers.tars import write_energon, write_webdataset

WriteTrajectory = Callable[[Path, Path, LeftOut], None]
WriteSamples = Callable[[Iterator[ExportSample], Path, Options, LeftOut], None]


@dataclasses.dataclass(frozen=True)
class OutFormat:
    """What is written, by a writer of trajectories or of samples."""

    what: str
    trajectory: WriteTrajectory | None = None
    samples: WriteSamples | None = None

    @property
    def takes(self) -> str:
        """The word of the table."""
        return "trajectories" if self.trajectory else "samples"


OUT_FORMATS: dict[str, OutFormat] = {
    "atif": OutFormat("a folder each with `trajectory.json` and `images/`, for Harbor and NeMo", write_atif),
    "adp": OutFormat("`trajectories.jsonl` of neulab's Agent Data Protocol, and `images/`", write_adp),
    "webvoyager": OutFormat("result folders for WebVoyager's judge", write_webvoyager),
    "online_mind2web": OutFormat("result folders for Online-Mind2Web's judges", write_online_mind2web),
    "agentlab": OutFormat("a study of AgentLab's, for AgentXray", write_agentlab),
    "messages": OutFormat("`train.jsonl` of OpenAI's messages, images as data URLs", None, write_messages),
    "llava": OutFormat("`train.json` of LLaVA's and ShareGPT's, and `images/`", None, write_llava),
    "ms_swift": OutFormat("`train.jsonl` of ms-swift's, and `images/`", None, write_ms_swift),
    "llama_factory": OutFormat("`train.json`, `dataset_info.json` and `images/`", None, write_llama_factory),
    "hf": OutFormat("a data set in Parquet with its card, for Hugging Face's `datasets`", None, write_hf),
    "verl": OutFormat("`train.parquet` for verl", None, write_verl),
    "webdataset": OutFormat("plain webdataset tars", None, write_webdataset),
    "energon": OutFormat("a Megatron-Energon dataset with its index", None, write_energon),
}
