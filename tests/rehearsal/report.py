"""What a rehearsal found: rows of (what, value, bound, whether it holds), as a table and as JSON."""

import dataclasses
from pathlib import Path

from common.files import read_json
from common.shown.tables import Table, print_table
from elcano.console import console
from tests.rehearsal import memory
from tests.rehearsal.agreement import (
    FP32_BOUND,
    INDEPENDENT,
    LEANING,
    Difference,
    bf16_bound,
    server_logprobs,
    trainer_logprobs,
)
from tests.rehearsal.sight import compare

MEMORY_BOUND = 0.15


@dataclasses.dataclass(frozen=True)
class Row:
    """One thing that was measured; `bound` is the most it may be, None where it is only told."""

    what: str
    value: float
    bound: float | None = None

    @property
    def holds(self) -> bool:
        return self.bound is None or abs(self.value) <= self.bound


def sight_rows(folder: Path) -> list[Row]:
    """Tokens and pixels of every prompt, before and after training."""
    rows = []
    runs = sorted((folder / "training" / "checkpoint").iterdir())
    for name, trained, served, place in (
        ("released", folder / "megatron", folder / "megatron", folder),
        ("trained", runs[-1], folder / "policy", folder / "after"),
    ):
        found = compare(trained, served, place / "shards", place / "trajectories")
        rows += [
            Row(f"{name}: prompt tokens compared", found.tokens),
            Row(f"{name}: tokens that differ", found.other_tokens, 0),
            Row(f"{name}: pixel values compared", found.pixels),
            Row(f"{name}: pixel values that differ", found.other_pixels, 0),
            Row(f"{name}: prompts that the server counts otherwise", found.other_lengths, 0),
        ]
    return rows


def agreement_rows(folder: Path) -> list[Row]:
    """Log-probabilities of server and trainer."""
    scores = folder / "scores"
    server = server_logprobs(folder / "samples.json")
    bf16, fp32 = (trainer_logprobs(scores / f"trainer_{precision}.parquet") for precision in ("bf16", "fp32"))
    layers = read_json(folder / "released" / "config.json")["text_config"]["num_hidden_layers"]
    bound = bf16_bound(fp32, layers)
    of_server, of_trainer, apart = Difference.of(server, fp32), Difference.of(bf16, fp32), Difference.of(server, bf16)
    after = Difference.of(
        server_logprobs(folder / "after" / "samples.json"),
        trainer_logprobs(scores / "after" / "trainer_fp32.parquet"),
    )
    independent = INDEPENDENT * (of_server.rms**2 + of_trainer.rms**2) ** 0.5
    return [
        Row("reply tokens compared", apart.tokens),
        Row("bf16 server to fp32 trainer, rms", of_server.rms, bound),
        Row("bf16 trainer to fp32 trainer, rms", of_trainer.rms, bound),
        Row("bf16 server to bf16 trainer, rms", apart.rms, independent),
        Row("bf16 server to bf16 trainer, mean", apart.mean, LEANING * apart.rms / apart.tokens**0.5),
        Row("bf16 server to bf16 trainer, largest", apart.largest),
        Row("trained policy: fp32 server to fp32 trainer, largest", after.largest, FP32_BOUND),
    ]


def memory_rows(folder: Path) -> list[Row]:
    """Bytes of each training's fullest rank, and their distance from `--dry_run`."""
    rows = []
    for live_tensors in sorted((folder / "live_tensors").iterdir()):
        run = live_tensors.name
        said, measured = memory.said(folder / "logs" / f"{run}_dry_run.log"), memory.measured(live_tensors)
        for name in (name for name in said if name in measured):
            rows += [Row(f"{run}: {name}, GiB by --dry_run", said[name]), Row(f"{run}: {name}, GiB", measured[name])]
        rows.append(Row(f"{run}: whole process, GiB", measured["rss"]))
        rows.append(Row(f"{run}: total / --dry_run - 1", measured["total"] / said["total"] - 1, MEMORY_BOUND))
    return rows


def print_rows(model: str, rows: list[Row]) -> None:
    """A table of them."""
    table = Table([""], ["measured", "at most", ""], title=model)
    for row in rows:
        bound = "" if row.bound is None else f"{row.bound:.3g}"
        table.add(row.what, f"{row.value:.3g}", bound, "" if row.bound is None else "ok" if row.holds else "FAILS")
    print_table(table, console)
