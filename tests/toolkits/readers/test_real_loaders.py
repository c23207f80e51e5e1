"""What export_data.py writes is read by the libraries that it is for, from the registry.

They are installed into an environment of their own, never into ours, whose packages it sees but does not change. Where
it cannot be made, the test is skipped and says why.
"""

import json
import os
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

from tests.toolkits.interchange import export, write_samples
from tests.toolkits.readers.test_atif import exported, whole
from tests.toolkits.trajectories import write_trajectory

DATASETS = """
import json, sys, datasets
rows = datasets.load_dataset(sys.argv[1], split="train", cache_dir=sys.argv[2])
shown = [[turn["content"] for turn in row["messages"]] + [one.size for one in row["images"]] for row in rows]
print(json.dumps(dict(zip(rows["id"], shown))))
"""
ATIF = """
import json, pathlib, sys, atif
files = sorted(pathlib.Path(sys.argv[1]).rglob("trajectory.json"))
read = [atif.Trajectory.model_validate_json(file.read_text()) for file in files]
print(json.dumps([len(one.steps) for one in read]))
"""
MS_SWIFT = """
import json, os, sys
os.environ["ROOT_IMAGE_DIR"], os.environ["MODELSCOPE_CACHE"] = sys.argv[1:]
from swift.dataset import load_dataset
rows, _ = load_dataset(os.path.join(sys.argv[1], "train.jsonl"), strict=True)
paths = [[image["path"] for image in row["images"]] for row in rows]
print(json.dumps([[[turn["content"] for turn in row["messages"]], path] for row, path in zip(rows, paths)]))
"""
LLAMA_FACTORY = """
import json, os, sys
os.environ["DISABLE_VERSION_CHECK"] = "1"  # it wants an older pillow, peft and tokenizers than are here
from llamafactory.data.loader import _load_single_dataset
from llamafactory.data.parser import get_dataset_list
from llamafactory.hparams import DataArguments, ModelArguments
from transformers import Seq2SeqTrainingArguments
data = DataArguments(dataset="mine", dataset_dir=sys.argv[1])
model = ModelArguments(model_name_or_path="none", cache_dir=sys.argv[2])
[described] = get_dataset_list(["mine"], sys.argv[1])
rows = _load_single_dataset(described, model, data, Seq2SeqTrainingArguments(sys.argv[2], use_cpu=True))
said = [[turn["content"] for turn in row["_prompt"] + row["_response"]] for row in rows]
shown = [[os.path.relpath(path, sys.argv[1]) for path in row["_images"] or []] for row in rows]
print(json.dumps(list(zip(said, shown))))
"""
LLAMA_FACTORY_PACKAGES = (
    *("llamafactory==0.9.3", "transformers==4.52.4", "tokenizers==0.21.1", "huggingface-hub==0.32.4", "trl==0.9.6"),
    *("datasets==3.6.0", "numpy==1.26.4", "pyarrow==20.0.0", "pandas==2.2.3", "pytz==2025.2", "tzdata==2025.2"),
    *("six==1.17.0", "python-dateutil==2.9.0.post0", "peft==0.15.2", "accelerate==1.7.0", "dill==0.3.8"),
    *("multiprocess==0.70.16", "fsspec==2025.3.0", "omegaconf==2.3.0", "antlr4-python3-runtime==4.9.3"),
)
"""All of them by name: what they ask for themselves contradicts itself, and parts of it need CUDA."""
_INSTALL_S = 1800
"""Of two busy cores the thirty packages that ms-swift asks for took 13 minutes."""
BROWSERGYM = """
import json, sys
from browsergym.experiments.loop import yield_all_exp_results
[result] = yield_all_exp_results(sys.argv[1], progress_fn=None)
steps, record = result.steps_info, result.get_exp_record()
told = [step.action for step in steps], [step.obs["goal_object"][0]["text"] for step in steps]
print(json.dumps([*told, len(result.screenshots), record["env_args.task_name"], record["cum_reward"]]))
"""


def read_by(folder: Path, package: str, script: str, *arguments: Path, exactly: tuple[str, ...] = ()) -> object:
    """What the script prints as JSON where `package` is installed, or these packages `exactly` and no others."""
    environment = {**os.environ, "HF_HOME": str(folder / "hf"), "HF_HUB_OFFLINE": "1"}
    python = folder / "bin" / "python"
    try:
        _run(sys.executable, "-m", "venv", "--without-pip", folder)
        [site] = (folder / "lib").glob("python*/site-packages")
        (site / "ours.pth").write_text(sysconfig.get_path("purelib"))  # pip is there, too
        _run(python, "-m", "pip", "install", "-q", *(("--no-deps", *exactly) if exactly else (package,)))
    except (subprocess.SubprocessError, OSError, ValueError) as error:
        pytest.skip(f"an environment with {package} could not be made: {error!s:.200}")
    ran = subprocess.run(
        [python, "-c", script, *arguments], env=environment, capture_output=True, text=True, timeout=600
    )
    assert ran.returncode == 0, ran.stderr[-2000:]
    return json.loads(ran.stdout.splitlines()[-1])


def _run(*command: object) -> None:
    subprocess.run([*map(str, command)], check=True, capture_output=True, timeout=_INSTALL_S)


def _turns_and_images(samples: Path) -> list[list[list[str]]]:
    return [
        [[turn["value"] for turn in sample["conversations"]], [f"images/{name}" for name in sample["images"]]]
        for sample in json.loads(samples.read_text())
    ]


@pytest.mark.slow
@pytest.mark.timeout(_INSTALL_S + 700)
def test_datasets(tmp_path: Path) -> None:
    samples, images = write_samples(tmp_path)
    out = export("hf", samples, images, tmp_path / "out", max_samples_per_file=3)
    read = read_by(tmp_path / "env", "datasets", DATASETS, out, tmp_path / "cache")
    assert read == {
        sample["id"]: [turn["value"] for turn in sample["conversations"]] + [[32, 24]] * len(sample["images"])
        for sample in json.loads(samples.read_text())
    }


@pytest.mark.slow
@pytest.mark.timeout(_INSTALL_S + 700)
def test_harbors_models(tmp_path: Path) -> None:
    whole(tmp_path / "ours")
    out = exported(tmp_path, tmp_path / "ours", "atif")
    expected = [len(json.loads(file.read_text())["steps"]) for file in sorted(out.rglob("trajectory.json"))]
    assert read_by(tmp_path / "env", "atif", ATIF, out) == expected


@pytest.mark.slow
@pytest.mark.timeout(_INSTALL_S + 700)
def test_agentlabs_results(tmp_path: Path) -> None:
    """By the class that AgentXray opens experiments with."""
    write_trajectory(tmp_path / "ours", "Shop--3", num_steps=3)
    out = exported(tmp_path, tmp_path / "ours", "agentlab")
    actions = ["click('1')", "click('2')", "send_msg_to_user('blue')", None]
    read = read_by(tmp_path / "env", "browsergym-experiments", BROWSERGYM, out)
    assert read == [actions, ["Find a shoe."] * 4, 3, "elcano.Shop--3", 1.0]


@pytest.mark.slow
@pytest.mark.timeout(_INSTALL_S + 700)
def test_ms_swift(tmp_path: Path) -> None:
    samples, images = write_samples(tmp_path)
    out = export("ms_swift", samples, images, tmp_path / "out")
    read = read_by(tmp_path / "env", "ms-swift==4.6.0", MS_SWIFT, out, tmp_path / "cache")
    assert read == _turns_and_images(samples)


@pytest.mark.slow
@pytest.mark.timeout(_INSTALL_S + 700)
def test_llama_factory(tmp_path: Path) -> None:
    samples, images = write_samples(tmp_path)
    out = export("llama_factory", samples, images, tmp_path / "out", name="mine")
    cache = tmp_path / "cache"
    read = read_by(tmp_path / "env", "llamafactory", LLAMA_FACTORY, out, cache, exactly=LLAMA_FACTORY_PACKAGES)
    assert read == _turns_and_images(samples)
