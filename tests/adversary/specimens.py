"""One good file or folder of every kind that is read here, each with all that reads it."""

import dataclasses
import gzip
import io
import json
import pickle
import shutil
import tarfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow
import torch
from PIL import Image
from pyarrow import parquet

from collection.campaign.accounting import check_action_space, note_tasks, print_status
from collection.evaluation import summary
from collection.evaluation.auto_eval import judge_all, tasks_in
from collection.judges.endpoint.ledger import Budget, Ledger
from collection.judges.webarena import WebArenaJudge
from data.action_spaces import NUMBERS
from data.correction import Corrections, read_corrections, write_corrections
from data.images import opened, to_rgb
from data.outcome import Outcome, Verdict
from data.shards import columns
from data.shards.legacy import unpickle_images
from data.shards.shard import read_manifest, read_shard
from data.task import read_tasks
from data.trajectory import list_trajectories, read_trajectory
from elcano.report import read_results
from environments.browser.storage_state import read_storage_state
from environments.webarena.final_pages import check_programs
from environments.webarena.tasks import read_configurations, to_tasks
from models.checkpoint.adapter_config import read_adapter_config
from models.checkpoint.hf_folder import read_hf_folder
from models.processor import load_processor
from server.hf_online_server import check_folder
from tests.field_files import write_field_files
from tests.tiny import idefics2
from tests.toolkits.foreign_folders import FOREIGN, FORMATS
from tests.toolkits.trajectories import screenshot, write_trajectory
from toolkits import (
    convert_action_space,
    convert_to_tar_data,
    convert_trajectories_to_json,
    import_data,
    inspect_data,
    make_representation_data,
    make_traces,
    shift_dates,
)
from toolkits.model_checkpoints_convertor import convert
from toolkits.model_checkpoints_convertor.inspect_checkpoint import describe
from toolkits.trajectories.rollouts import read_rollouts
from training.checkpoints.state_file import read_state
from viewer.answers import Answers
from viewer.catalog.index import Index
from viewer.export import export_runs

Reading = Callable[[Path, Path], Any]
"""Of (the folder with the specimen, an empty folder for what is made of it)."""


@dataclasses.dataclass(frozen=True)
class Specimen:
    """A folder that `write` fills, of which files that match `damaged` are damaged, and what `readings` do with it."""

    write: Callable[[Path], Any]
    damaged: str
    readings: tuple[Reading, ...]


# --- tasks ------------------------------------------------------------------------------------------------------------

TASK = {"id": "Shop--1", "ques": "Find a shoe.", "web": "http://shop.example/", "web_name": "Shop", "unknown": [1]}
WEBARENA = [
    {
        "task_id": number,
        "intent": "Tell me the price.",
        "start_url": "__SHOPPING__/x",
        "sites": ["shopping"],
        "storage_state": "./.auth/shopping.json",
        "eval": {
            "eval_types": ["string_match", "url_match", "program_html"],
            "reference_answers": {"must_include": ["9.99"], "exact_match": "yes"},
            "reference_url": "__SHOPPING__/x?a=b",
            "program_html": [{"url": "last", "locator": "", "required_contents": {"must_include": ["9.99 |OR| 10"]}}],
        },
    }
    for number in range(3)
]
STATE = {"cookies": [{"name": "a", "value": "b", "domain": "x.example", "path": "/"}], "origins": []}


def write_tasks(folder: Path) -> None:
    lines = [json.dumps({**TASK, "id": f"Shop--{number}"}) for number in range(5)]
    (folder / "tasks.jsonl").write_text("\n".join(lines) + "\n")
    (folder / "list.json").write_text(json.dumps([json.loads(line) for line in lines], indent=1), encoding="utf-16")


def read_each_task_file(folder: Path, out: Path) -> None:
    for path in sorted(folder.iterdir()):
        read_tasks(path)
        shift_dates.main(shift_dates.Config(path, out / path.name, today="2026-11-01"))


def read_webarena(folder: Path, out: Path) -> None:
    addresses = {"SHOPPING": "http://shop.example"}
    tasks = to_tasks(read_configurations(folder / "webarena.json", addresses))
    check_programs(tasks)
    results = out / "results"
    for task in tasks:
        path = write_trajectory(results, task.id, verdict=None)
        (path / "final_pages.json").write_text('["It costs 9.99"]')
    judge_all(results, tasks, WebArenaJudge())


# --- trajectories -----------------------------------------------------------------------------------------------------


def write_ours(folder: Path) -> None:
    for number in range(2):
        written = write_trajectory(folder / "results", f"Shop--{number}", run=1)
        write_corrections(written, Corrections("teacher", ["Thought: a\n\nAction: Wait"] * 4))


def write_released(folder: Path) -> None:
    shutil.copytree(write_field_files(folder / "field") / "trajectories", folder / "results")
    shutil.rmtree(folder / "field")


def read_trajectories(folder: Path, out: Path) -> None:
    for path in list_trajectories(folder / "results"):
        read_corrections(path, len(read_trajectory(path).steps))


def convert_trajectories(folder: Path, out: Path) -> None:
    paths = {"result_dir": str(folder / "results"), "image_dir": str(out / "images")}
    kinds = convert_trajectories_to_json.Config
    convert_trajectories_to_json.main(kinds(**paths, save_json_file=str(out / "samples.json"), num_workers=1))


def convert_actions(folder: Path, out: Path) -> None:
    config = convert_action_space.Config(folder / "results", out / "converted", "webgym")
    convert_action_space.main(config)


def trace(folder: Path, out: Path) -> None:
    make_traces.main(make_traces.Config(folder / "results", out / "traces"))


def roll_out(folder: Path, out: Path) -> None:
    read_rollouts(folder / "results", out, 1, 1)


def account(folder: Path, out: Path) -> None:
    check_action_space(folder / "results", NUMBERS)
    print_status(folder / "results")


def judge(folder: Path, out: Path) -> None:
    """Whatever is wrong with one trajectory is its verdict; copies, since verdicts are kept."""
    results = out / "judged"
    shutil.copytree(folder / "results", results)
    for path in [*results.glob("*/outcome.json"), *results.glob("*/eval_res.json")]:
        path.unlink()
    judge_all(results, tasks_in(results), lambda task, path: Outcome(Verdict(read_trajectory(path) and "success")))


def summarize(folder: Path, out: Path) -> None:
    summary.read_attempts(folder / "results")


_ASKED = ("state", "live", "run", "curves", "rows", "thoughts")


def view(folder: Path, out: Path) -> None:
    """A page of the viewer shows what can be read, and says what cannot: it refuses nothing."""
    index = Index((folder,), out / "index.sqlite")
    index.refresh()
    answers = Answers(index)
    state = json.loads(answers.answer("state", {}))
    for run in state["runs"]:
        for name in _ASKED:
            answers.answer(name, {"run": run["key"]})
        for key in run["sets"]:
            for path in list_trajectories(folder / "results"):
                given = {"set": key, "name": path.name, "number": "1"}
                for name in ("trajectory", "prompt"):
                    answers.answer(name, given)
                answers.screenshot(given)
                answers.thumbnail(given)


def export(folder: Path, out: Path) -> None:
    index = Index((folder,), out / "index.sqlite")
    index.refresh()
    export_runs(Answers(index), out / "pages", with_films=False)


OF_TRAJECTORIES = (
    read_trajectories,
    convert_trajectories,
    convert_actions,
    trace,
    roll_out,
    account,
    summarize,
    judge,
    view,
    export,
)


# --- other projects' files --------------------------------------------------------------------------------------------


def images(folder: Path) -> None:
    for number in range(3):
        (folder / f"{number}.png").write_bytes(screenshot(number))


def imported(kind: str, name: str) -> Reading:
    def read(folder: Path, out: Path) -> None:
        result = {"result_dir": str(out / "results")} if kind == "pae" else {"save_json_file": str(out / "x.json")}
        shown = str(out / "images" if kind in ("openwebvoyager_tar", "webdataset") else folder)
        import_data.main(import_data.Config(kind, (str(folder / name),), shown, **result))

    return read


def write_pt(name: str, step: dict[str, Any]) -> Callable[[Path], None]:
    def write(folder: Path) -> None:
        images(folder)
        torch.save([[step, step], [step]], folder / name)

    return write


PAE_SEEN = {
    "image": "0.png",
    "task": "Now given a task: x  Please interact with http://y.example and",
    "web_name": "Shop",
    "button": "[1]",
}
PAE = {"observation": PAE_SEEN, "action": "Thought: a\n\nAction: Wait", "reward": torch.tensor(0.0), "eval_info": "no"}
DIGIQ = {
    "observation": "Goal: buy a lamp</s>",
    "action": "click",
    "image_path": "/data/0.png",
    "next_image_path": "1.png",
    "reward": 0,
    "done": False,
    "task": "buy",
    "image_features": torch.arange(4.0),
    "action_list": ["a", "b"],
}
WEBRL = {"observation": "Task Instruction: x", "action": "do('x')", "reward": 1, "task": "t"}
TURNS = [{"from": "human", "value": "a <image>"}, {"from": "gpt", "value": "Thought: a\n\nAction: Wait"}]


def write_legacy_tar(folder: Path) -> None:
    shutil.copytree(write_field_files(folder / "field") / "tar", folder / "tar")
    shutil.rmtree(folder / "field")


def write_llava(folder: Path) -> None:
    images(folder)
    records = [{"id": str(number), "image": f"{number}.png", "conversations": TURNS} for number in range(3)]
    (folder / "llava.json").write_text(json.dumps(records))
    (folder / "llava.jsonl").write_text("\n".join(map(json.dumps, records)))


def write_webdataset(folder: Path) -> None:
    with tarfile.open(folder / "plain.tar", "w") as tar:
        for number in range(3):
            parts = {"png": screenshot(number), "json": json.dumps({"conversations": TURNS}).encode()}
            for kind, content in parts.items():
                info = tarfile.TarInfo(f"a/{number}.{kind}")
                info.size = len(content)
                tar.addfile(info, io.BytesIO(content))
    (folder / "packed.tgz").write_bytes(gzip.compress((folder / "plain.tar").read_bytes()))


def released(name: str) -> Specimen:
    """Another project's folder, which is imported as trajectories."""
    kind = FORMATS.get(name, name)

    def write(folder: Path) -> None:
        (folder / "files").write_text("\n".join(FOREIGN[name](folder)))

    def read(folder: Path, out: Path) -> None:
        given = tuple(str(folder / file) for file in (folder / "files").read_text().splitlines())
        import_data.main(import_data.Config(kind, given, str(folder), result_dir=str(out / "results")))

    return Specimen(write, "**/*.*", (read,))


# --- samples, shards and columns --------------------------------------------------------------------------------------


def write_samples(folder: Path) -> None:
    images(folder)
    (folder / "2.png").write_bytes((folder / "1.png").read_bytes())
    names = [f"Shop--0000{trajectory}--r01--step0{step}" for trajectory in range(2) for step in range(1, 4)]
    records = [{"id": name, "images": [f"{at % 3}.png"], "conversations": TURNS} for at, name in enumerate(names)]
    (folder / "samples.json").write_text(json.dumps(records))


def pack(folder: Path, out: Path) -> None:
    sample_file, shards = (str(folder / "samples.json"),), str(out / "shards")
    convert_to_tar_data.main(convert_to_tar_data.Config(sample_file, (str(folder),), shards, num_workers=1))


def represent(folder: Path, out: Path) -> None:
    kinds = make_representation_data.Config
    make_representation_data.main(kinds((folder / "samples.json",), (folder,), out / "made.json"))


def write_shards(folder: Path) -> None:
    write_samples(folder)
    config = convert_to_tar_data.Config(
        (str(folder / "samples.json"),), (str(folder),), str(folder / "shards"), num_workers=1
    )
    convert_to_tar_data.main(config)
    for path in [folder / "samples.json", *folder.glob("*.png")]:
        path.unlink()


def inspect(folder: Path, out: Path) -> None:
    kinds = inspect_data.Config
    inspect_data.main(kinds((str(folder / "shards"),), str(out / "sheet.png")))


def read_shards(folder: Path, out: Path) -> None:
    for shard in read_manifest(folder / "shards")["shards"]:
        for sample in read_shard(folder / "shards" / shard["url"]):
            sample.check()


def write_parquet(folder: Path) -> None:
    rows = pyarrow.table({"id": ["a", "b"], "digest": ["x", "y"], "value": [1.0, 2.0], "list": [[1.0], [2.0, 3.0]]})
    parquet.write_table(rows.replace_schema_metadata({"made_of": "{}"}), folder / "values.parquet")


def read_columns(folder: Path, out: Path) -> None:
    columns.ColumnFiles([folder / "values.parquet"], ["value"], ["list"])
    columns.read_rows(folder / "values.parquet")
    columns.read_record(folder / "values.parquet")


# --- images -----------------------------------------------------------------------------------------------------------


def write_images(folder: Path) -> None:
    picture = Image.effect_noise((40, 30), 80).convert("RGBA")
    for kind in ("png", "webp"):
        picture.save(folder / f"image.{kind}")
    picture.convert("RGB").save(folder / "image.jpeg", exif=Image.Exif())
    pickled = [picture.convert("RGB"), picture.convert("P")]
    (folder / "images.pkl").write_bytes(pickle.dumps(pickled, protocol=4))


def read_images(folder: Path, out: Path) -> None:
    for path in sorted(folder.glob("image.*")):
        with opened(path) as image:
            to_rgb(image)
    for image in unpickle_images((folder / "images.pkl").read_bytes()):
        image.to_image()


# --- checkpoints ------------------------------------------------------------------------------------------------------


def write_policy(folder: Path) -> None:
    idefics2.build_policy(folder / "policy")


def write_bin(folder: Path) -> None:
    from safetensors.torch import load_file

    write_policy(folder)
    torch.save(load_file(folder / "policy" / "model.safetensors"), folder / "policy" / "pytorch_model.bin")
    (folder / "policy" / "model.safetensors").unlink()


def serve(folder: Path, out: Path) -> None:
    check_folder(folder / "policy")
    load_processor(folder / "policy")


def read_policy(folder: Path, out: Path) -> None:
    read_hf_folder(folder / "policy")


def convert_policy(folder: Path, out: Path) -> None:
    kinds = convert.Config
    convert.main(kinds(direction="hf2mg", load_path=folder / "policy", save_path=out / "mg"))


def write_megatron(folder: Path) -> None:
    write_policy(folder)
    convert_policy(folder, folder)
    shutil.rmtree(folder / "policy")


def convert_back(folder: Path, out: Path) -> None:
    describe(folder / "mg")
    kinds = convert.Config
    convert.main(kinds(direction="mg2hf", load_path=folder / "mg", save_path=out / "hf"))


ADAPTER = {
    "peft_type": "LORA",
    "r": 4,
    "lora_alpha": 8,
    "target_modules": ["q_proj", "v_proj"],
    "bias": "none",
    "rank_pattern": {"layers.0.q_proj": 2},
}


def write_state(folder: Path) -> None:
    torch.save({"step": 3, "weights": {"a": torch.ones(3)}}, folder / "state.pt")


# --- notes of runs ----------------------------------------------------------------------------------------------------


def write_notes(folder: Path) -> None:
    write_ours(folder)
    tasks = read_tasks_of(folder)
    note_tasks(folder / "results", tasks)
    ledger = {"fate": "answered", "usd": 0.1, "prompt_tokens": 3, "completion_tokens": 4}
    (folder / "ledger.jsonl").write_text(f"{json.dumps(ledger)}\n" * 3)
    (folder / "recipe.json").write_text(json.dumps({"rounds": [{"name": "one"}]}))


def read_tasks_of(folder: Path) -> Any:
    path = folder / "tasks.jsonl"
    path.write_text(json.dumps(TASK))
    found = read_tasks(path)
    path.unlink()
    return found


def read_notes(folder: Path, out: Path) -> None:
    print_status(folder / "results")
    note_tasks(folder / "results", [])
    Ledger(folder / "ledger.jsonl", Budget()).report()
    read_results(folder)


def only(name: str, content: Any) -> Callable[[Path], None]:
    return lambda folder: (folder / name).write_text(json.dumps(content)) and None


SPECIMENS: dict[str, Specimen] = {
    "tasks": Specimen(write_tasks, "*", (read_each_task_file,)),
    "WebArena's tasks": Specimen(only("webarena.json", WEBARENA), "*", (read_webarena,)),
    "logins": Specimen(only("state.json", STATE), "*", (lambda folder, _: read_storage_state(folder / "state.json"),)),
    "our trajectories": Specimen(write_ours, "results/*/*", OF_TRAJECTORIES),
    "released trajectories": Specimen(write_released, "results/*/*", OF_TRAJECTORIES),
    "PAE": Specimen(write_pt("pae.pt", PAE), "*", (imported("pae", "pae.pt"),)),
    "Digi-Q": Specimen(write_pt("digiq.pt", DIGIQ), "*", (imported("digiq", "digiq.pt"),)),
    "WebRL": Specimen(write_pt("webrl.pt", WEBRL), "*.pt", (imported("webrl", "webrl.pt"),)),
    "OpenWebVoyager's tars": Specimen(
        write_legacy_tar, "tar/*.tar", (imported("openwebvoyager_tar", "tar/openwebvoyager-000000.tar"),)
    ),
    "LLaVA": Specimen(write_llava, "*", (imported("llava", "llava.json"), imported("llava", "llava.jsonl"))),
    "webdataset": Specimen(
        write_webdataset, "*", (imported("webdataset", "plain.tar"), imported("webdataset", "packed.tgz"))
    ),
    **{name: released(name) for name in FOREIGN if name not in ("webvoyager", "pae")},
    "samples": Specimen(write_samples, "*", (pack, represent)),
    "shards": Specimen(write_shards, "shards/*", (inspect, read_shards)),
    "columns": Specimen(write_parquet, "*", (read_columns,)),
    "images": Specimen(write_images, "*", (read_images,)),
    "a policy": Specimen(write_policy, "policy/*", (serve, read_policy)),
    "a converted policy": Specimen(write_policy, "policy/*", (convert_policy,)),
    "a policy of pickles": Specimen(write_bin, "policy/*.bin", (read_policy, convert_policy)),
    "a Megatron checkpoint": Specimen(write_megatron, "mg/**/*", (convert_back,)),
    "an adapter": Specimen(only("adapter_config.json", ADAPTER), "*", (lambda folder, _: read_adapter_config(folder),)),
    "a state": Specimen(write_state, "*", (lambda folder, _: read_state(folder / "state.pt", "a state"),)),
    "notes of a run": Specimen(write_notes, "**/*.json*", (read_notes, view)),
}
