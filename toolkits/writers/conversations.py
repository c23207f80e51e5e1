"""Our samples in the JSON of other trainers: a file of conversations, and `images/` beside it.

| format          | file                              | images                       | trained with              |
|-----------------|-----------------------------------|------------------------------|---------------------------|
| `messages`      | `train.jsonl`                     | data URLs in parts of a turn | OpenAI's API and its like |
| `llava`         | `train.json`                      | `image`: `images/NAME`       | `--image_folder OUT`      |
| `ms_swift`      | `train.jsonl`                     | `images/NAME`                | `ROOT_IMAGE_DIR=OUT`      |
| `llama_factory` | `train.json`, `dataset_info.json` | `images/NAME`                | `dataset_dir: OUT`        |

Layouts: see readers/interchange/conversation.py. Rewards and all else of a sample stand beside its turns; trainers pass
over them.
"""

import base64
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from common.files import write_json
from data.shards.shard import image_type
from toolkits.readers.reading.left_out import LeftOut
from toolkits.readers.reading.references import NAMES
from toolkits.shards.sample_records import encode_record, write_list
from toolkits.writers.files import place
from toolkits.writers.samples import ExportSample, Options, split_at_marks

_MEDIA = {"png": "image/png", "jpg": "image/jpeg", "webp": "image/webp"}


def write_messages(samples: Iterator[ExportSample], out_dir: Path, options: Options, left_out: LeftOut) -> None:
    """OpenAI's messages, which hold their images."""
    _write_lines(out_dir / "train.jsonl", samples, _as_messages)


def write_llava(samples: Iterator[ExportSample], out_dir: Path, options: Options, left_out: LeftOut) -> None:
    """LLaVA's and ShareGPT's."""
    records = (encode_record(_as_llava(sample, out_dir)) for sample in samples)
    write_list(out_dir / "train.json", records)


def write_ms_swift(samples: Iterator[ExportSample], out_dir: Path, options: Options, left_out: LeftOut) -> None:
    """ms-swift's."""
    _write_lines(out_dir / "train.jsonl", samples, lambda sample: _beside(sample, out_dir, left_out))


def write_llama_factory(samples: Iterator[ExportSample], out_dir: Path, options: Options, left_out: LeftOut) -> None:
    """LLaMA-Factory's, and what describes it there."""
    write_list(out_dir / "train.json", (encode_record(_beside(sample, out_dir, left_out)) for sample in samples))
    described = {
        "file_name": "train.json",
        "formatting": "sharegpt",
        "columns": {"messages": "messages", "images": "images"},
        "tags": {"role_tag": "role", "content_tag": "content", "user_tag": "user", "assistant_tag": "assistant"},
    }
    write_json(out_dir / "dataset_info.json", {options.name: described}, flush=False)


def _write_lines(path: Path, samples: Iterator[ExportSample], render: Callable[[ExportSample], dict[str, Any]]) -> None:
    with open(path, "w", encoding="utf-8") as file:
        for sample in samples:
            file.write(sample.as_json(render(sample)) + "\n")


def _as_messages(sample: ExportSample) -> dict[str, Any]:
    images = iter(sample.contents())
    messages: list[dict[str, Any]] = []
    for message in sample.messages():
        content: str | list[dict[str, Any]] = message["content"]
        pieces = split_at_marks(content) if message["role"] == "user" else []
        if None in pieces:
            content = [_image(next(images)) if one is None else {"type": "text", "text": one} for one in pieces]
        messages.append({"role": message["role"], "content": content})
    names = {NAMES: [name for name, _ in sample.images]} if sample.images else {}
    return {**sample.beside(), **names, "id": sample.id, "messages": messages}


def _image(content: bytes) -> dict[str, Any]:
    encoded = base64.b64encode(content).decode()
    return {"type": "image_url", "image_url": {"url": f"data:{_MEDIA[image_type(content)]};base64,{encoded}"}}


def _as_llava(sample: ExportSample, out_dir: Path) -> dict[str, Any]:
    """LLaVA's loader looks at `image` alone: a path, in LLaVA-NeXT also a list of them, or no such field."""
    images = _placed(sample, out_dir)
    shown = {"image": images[0] if len(images) == 1 else images} if images else {}
    return {"id": sample.id, **shown, "conversations": sample.conversations, **sample.beside()}


def _beside(sample: ExportSample, out_dir: Path, left_out: LeftOut) -> dict[str, Any]:
    messages = sample.messages_for_loaders(left_out)
    return {**sample.beside(), "id": sample.id, "messages": messages, "images": _placed(sample, out_dir)}


def _placed(sample: ExportSample, out_dir: Path) -> list[str]:
    """The paths of its images, from the folder of the export."""
    for name, image in sample.images:
        place(image, out_dir / "images" / name)
    return [f"images/{name}" for name, _ in sample.images]
