"""Where a piece of work spends its time: a table of operators and a trace, both small enough to keep.

NAME.txt        the operators that take most, by the time of their kernels on a GPU, on a CPU by their own
NAME.json.gz    the `EVENTS` longest events, for https://ui.perfetto.dev or chrome://tracing
"""

import contextlib
import gzip
import json
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import torch
from torch._C._profiler import _ExperimentalConfig  # profiling all threads has no public switch
from torch.profiler import ProfilerActivity, profile

EVENTS = 6000
_ROWS = 40
_KEPT = ("name", "cat", "ph", "ts", "dur", "pid", "tid")  # arguments of events are most of a trace


@contextlib.contextmanager
def traced(name: Path) -> Iterator[None]:
    """What all threads of this process do meanwhile, as NAME.txt and NAME.json.gz."""
    on_gpu = torch.cuda.is_available()
    activities = [ProfilerActivity.CPU, *([ProfilerActivity.CUDA] if on_gpu else [])]
    config = _ExperimentalConfig(profile_all_threads=True)
    with profile(activities=activities, experimental_config=config, acc_events=True) as found:
        yield
        if on_gpu:
            torch.cuda.synchronize()
    name.parent.mkdir(parents=True, exist_ok=True)
    order = "self_device_time_total" if on_gpu else "self_cpu_time_total"
    table = found.key_averages().table(sort_by=order, row_limit=_ROWS, max_name_column_width=70)
    name.with_name(f"{name.name}.txt").write_text(table)
    with tempfile.TemporaryDirectory() as folder:
        whole = Path(folder) / "trace.json"
        found.export_chrome_trace(str(whole))
        content = json.loads(whole.read_bytes())
    content["traceEvents"] = _longest(content["traceEvents"])
    with gzip.open(name.with_name(f"{name.name}.json.gz"), "wt") as file:
        json.dump(content, file, separators=(",", ":"))


def _longest(events: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Those with a duration, in their order; names of processes and threads stay."""
    lasting = sorted((one for one in events if one.get("ph") == "X"), key=lambda one: one["dur"])[-EVENTS:]
    lasting.sort(key=lambda one: one["ts"])
    named = [one for one in events if one.get("ph") == "M"]
    return named + [{key: one[key] for key in _KEPT if key in one} for one in lasting]
