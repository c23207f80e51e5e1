"""Our samples in Parquet, with their images in the rows: a data set for Hugging Face's `datasets`, and verl's.

    hf      README.md (its card), data/train-00000.parquet, ...: id, images, messages, elcano
    verl    train.parquet: data_source, prompt, images, ability, reward_model, extra_info

Layouts: see readers/interchange/rows.py. `messages` with `<image>` marks beside `images` is what LLaMA-Factory,
ms-swift and TRL read, too. `elcano` is what else a sample has (rewards, ...), as JSON. verl gets the last reply of a
conversation as `ground_truth`, and what stands before it as `prompt`. A data set goes to the Hub by its owner's own
login: `hf upload NAME OUT --repo-type dataset`.
"""

import itertools
import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from data.conversation import IMAGE
from toolkits.readers.interchange.own_fields import OWN
from toolkits.readers.reading.left_out import LeftOut
from toolkits.writers.samples import ExportSample, Options

if TYPE_CHECKING:
    import pyarrow

_TEXT = {"dtype": "string", "_type": "Value"}
_FEATURES = {"id": _TEXT, "images": [{"_type": "Image"}], "messages": [{"role": _TEXT, "content": _TEXT}], OWN: _TEXT}
_ROWS_OF_A_GROUP = 32
_CARD = """\
---
{head}
---
# {name}

{samples} samples of web agents, with {images} images, in {files} Parquet files.

| column | holds |
|---|---|
| `id` | the sample's name |
| `images` | its screenshots, in the order of the `{mark}` marks |
| `messages` | `role` and `content` of each turn |
| `elcano` | what else it has (rewards, ...), as JSON |

| | |
|---|---|
| license | {license} |
| made of | {source} |
| made by | Elcano's `toolkits/export_data.py --format hf` |
"""


def write_hf(samples: Iterator[ExportSample], out_dir: Path, options: Options, left_out: LeftOut) -> None:
    """A folder that `datasets.load_dataset` takes."""
    (out_dir / "data").mkdir()
    counts = {"samples": 0, "images": 0, "files": 0}
    for number in itertools.count():
        part = list(itertools.islice(samples, 1))
        if not part:
            break
        rest = itertools.islice(samples, options.max_samples_per_file - 1)
        rows = map(_hf_row, itertools.chain(part, rest))
        num_rows, num_images = _write(out_dir / "data" / f"train-{number:05d}.parquet", _hf(), rows)
        counts["samples"] += num_rows
        counts["images"] += num_images
        counts["files"] += 1
    head: dict[str, Any] = {"pretty_name": options.name, "tags": ["agents", "gui", "web"]}
    head |= {"license": options.license} if options.license else {}
    head["configs"] = [{"config_name": "default", "data_files": [{"split": "train", "path": "data/train-*.parquet"}]}]
    lines = [f"{name}: {json.dumps(value, ensure_ascii=False)}" for name, value in head.items()]  # JSON is YAML
    told = {"name": options.name, "license": options.license or "not said", "source": options.source or "not said"}
    card = _CARD.format(head="\n".join(lines), mark=IMAGE, **counts, **told)
    (out_dir / "README.md").write_text(card, encoding="utf-8")


def write_verl(samples: Iterator[ExportSample], out_dir: Path, options: Options, left_out: LeftOut) -> None:
    """A file for `data.train_files`."""
    rows = (_verl_row(number, sample, options, left_out) for number, sample in enumerate(samples))
    _write(out_dir / "train.parquet", _verl(), rows)


def _hf() -> "pyarrow.Schema":
    import pyarrow  # imported here, as below: it takes a second, and other formats do without

    text = pyarrow.string()
    features = {"huggingface": json.dumps({"info": {"features": _FEATURES}})}
    return pyarrow.schema({"id": text, "images": _images_kind(), "messages": _turns_kind(), OWN: text}, features)


def _verl() -> "pyarrow.Schema":
    import pyarrow

    text = pyarrow.string()
    told = {"index": pyarrow.int64(), "split": text, "id": text, OWN: text}
    return pyarrow.schema(
        {
            "data_source": text,
            "prompt": _turns_kind(),
            "images": _images_kind(),
            "ability": text,
            "reward_model": pyarrow.struct({"style": text, "ground_truth": text}),
            "extra_info": pyarrow.struct(told),
        }
    )


def _turns_kind() -> "pyarrow.DataType":
    import pyarrow

    return pyarrow.list_(pyarrow.struct({"role": pyarrow.string(), "content": pyarrow.string()}))


def _images_kind() -> "pyarrow.DataType":
    """As `datasets` stores images."""
    import pyarrow

    return pyarrow.list_(pyarrow.struct({"bytes": pyarrow.binary(), "path": pyarrow.string()}))


def _write(path: Path, schema: "pyarrow.Schema", rows: Iterator[dict[str, Any]]) -> tuple[int, int]:
    """Numbers of rows and images, of which few are in memory at a time."""
    import pyarrow
    from pyarrow import parquet

    num_rows = num_images = 0
    with parquet.ParquetWriter(path, schema, use_dictionary=False, compression="zstd") as writer:
        while group := list(itertools.islice(rows, _ROWS_OF_A_GROUP)):
            writer.write_table(pyarrow.Table.from_pylist(group, schema))
            num_rows, num_images = num_rows + len(group), num_images + sum(len(row["images"]) for row in group)
    return num_rows, num_images


def _hf_row(sample: ExportSample) -> dict[str, Any]:
    return {
        "id": sample.id,
        "images": _images(sample),
        "messages": sample.messages(),
        OWN: sample.as_json(sample.extra),
    }


def _verl_row(number: int, sample: ExportSample, options: Options, left_out: LeftOut) -> dict[str, Any]:
    *asked, said = sample.messages_for_loaders(left_out)
    return {
        "data_source": options.name,
        "prompt": asked,
        "images": _images(sample),
        "ability": "gui",
        "reward_model": {"style": "rule", "ground_truth": said["content"]},
        "extra_info": {
            "index": number,
            "split": "train",
            "id": sample.id,
            OWN: sample.as_json(sample.extra),
        },
    }


def _images(sample: ExportSample) -> list[dict[str, Any]]:
    names = [name for name, _ in sample.images]
    return [{"bytes": content, "path": name} for name, content in zip(names, sample.contents(), strict=True)]
