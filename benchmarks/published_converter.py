"""OpenWebVoyager's two data converters, implemented anew to do what the published scripts do, step by step.

The baseline of conversion_data.py. Kept are their costs: a copy of every screenshot, deep copies of each sample's
history, a search through the list of all images for each image of each sample, a pickle of every sample's images.
"""

# ruff: noqa: PTH207, PTH208 - the published scripts list names, not paths

import copy
import glob
import io
import json
import os
import pickle
import re
import shutil
from pathlib import Path

import webdataset

LAST_N = 3
_OMITTED_TREE = "OBSERVATION: <image> (accessibility tree omitted)."
_OMITTED_ALL = "OBSERVATION: screenshot omitted, accessibility tree omitted."


def to_json(result_dir: Path, image_dir: Path, json_file: Path, round_id: int = 1) -> None:
    """Trajectories to samples."""
    image_dir.mkdir(parents=True, exist_ok=True)
    samples = []
    for name in sorted(os.listdir(result_dir), key=_zero_padded):
        folder = result_dir / name
        flag = f"{_zero_padded(name.replace('task', ''))}--r{round_id:02d}"
        if "INFO - finish!!" in (folder / "agent.log").read_text():
            samples += _samples(folder, flag, _copy_images(folder, flag, image_dir))
    with open(json_file, "w", encoding="utf-8") as file:
        json.dump(samples, file, indent=2)


def _zero_padded(name: str) -> str:
    head, _, number = name.rpartition("--")
    return f"{head}--{number.zfill(5)}"


def _copy_images(folder: Path, flag: str, image_dir: Path) -> int:
    names = [name for name in os.listdir(folder) if name.endswith(".png")]
    for name in names:
        number = name.split("screenshot")[1].split(".png")[0].zfill(2)
        target = image_dir / f"{flag}--step{number}.png"
        if not target.exists():
            shutil.copy(folder / name, target)
    return len(names)


def _samples(folder: Path, flag: str, num_steps: int) -> list[dict]:
    with open(folder / "interact_messages.json", encoding="utf-8") as file:
        messages = json.load(file)
    opening = messages[1]["content"][0]["text"]
    task = re.search(r"Now given a task:(.+?)Please interact with", opening, re.DOTALL)[1].strip()
    samples: list[dict] = []
    for step in range(1, num_steps + 1):
        turns = _elide(copy.deepcopy(samples[-1]["conversations"])) if samples else []
        tree = "\n".join(map(_shorten, (folder / f"accessibility_tree{step}.txt").read_text().split("\n")))
        opening = f"{task}\n" if step == 1 else ""
        turns.append({"from": "human", "value": f"{opening}OBSERVATION:\n<image>\n{tree}"})
        turns.append({"from": "gpt", "value": messages[2 * step]["content"]})
        images = [f"{flag}--step{number:02d}.png" for number in range(max(1, step - LAST_N + 1), step + 1)]
        samples.append({"id": f"{flag}--step{step:02d}", "images": images, "conversations": turns})
    return samples


def _shorten(line: str) -> str:
    return " ".join(line.split()[:500]) if len(line.split(" ")) > 500 else line


def _elide(turns: list[dict]) -> list[dict]:
    new: list[dict] = []
    num_images = 0
    for turn in reversed(turns):
        if turn["from"] != "gpt":
            omitted = _OMITTED_TREE if num_images < LAST_N - 1 else _OMITTED_ALL
            num_images += num_images < LAST_N - 1
            opens = turn["value"].startswith("OBSERVATION:")
            turn["value"] = omitted if opens else turn["value"].split("\nOBSERVATION:")[0] + f"\n{omitted}"
        new = [turn, *new]
    return new


def to_tars(json_file: Path, image_dir: Path, out_dir: Path) -> None:
    """Samples to tars of 500."""
    samples = json.loads(json_file.read_text(encoding="utf-8"))
    all_images = glob.glob(f"{image_dir}/*.png")
    sink = webdataset.ShardWriter(f"{out_dir}/openwebvoyager-%06d.tar", maxcount=500, maxsize=3e10, verbose=0)
    for sample in samples:
        images = []
        for name in sample["images"]:
            found = ""
            for path in all_images:
                if path.split("/")[-1] == name:
                    found = path
                    break
            with open(found, "rb") as file:
                images.append(io.BytesIO(file.read()))
        key = sample["id"].replace(".", "_")
        turns = str(list(sample["conversations"]))
        sink.write({"__key__": key, "input_image": pickle.dumps(images), "conversations": turns})
    sink.close()
    shards = [
        {"url": f"openwebvoyager-{start // 500:06d}.tar", "nsamples": min(500, len(samples) - start)}
        for start in range(0, len(samples), 500)
    ]
    (out_dir / "shardlist.json").write_text(json.dumps(shards, indent=4))
