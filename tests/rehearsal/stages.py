"""The stages of a rehearsal: the commands that a person types, one after the other, each with its log.

<folder>/released/        a checkpoint as it is released            tests/rehearsal/checkpoints.py
<folder>/trajectories/    what it did on embedded websites          server/hf_online_server.py, collection/run.py
<folder>/shards/          as training data                          toolkits/convert_*.py
<folder>/megatron/        the same weights                          hf2mg.sh
<folder>/training/        trained with the published values         train_<family>.sh
<folder>/policy/          the trained weights                       mg2hf.sh
<folder>/after/           what these did                            server/hf_online_server.py, collection/run.py
<folder>/scores/          log-probabilities of server and trainer   /score, score.sh
"""

import contextlib
import dataclasses
from collections.abc import Callable, Iterator
from pathlib import Path

from common.files import write_atomic
from elcano.executors.executor import Command, python
from elcano.executors.local import Executor
from elcano.stages.services import embedded_sites
from elcano.stages.stage import Logbook
from tests.conftest import ROOT
from tests.rehearsal.checkpoints import Changes, make_checkpoint

CONVERTOR = ROOT / "toolkits" / "model_checkpoints_convertor"
HOOK = Path(__file__).resolve().parent / "hook"
TASKS = ROOT / "data" / "tasks" / "test.jsonl"
EXECUTOR = Executor()
IMAGES = 3  # screenshots of a sample, as published


@dataclasses.dataclass(frozen=True)
class Size:
    """What is rehearsed, and how much of everything that takes."""

    shape: str
    """The published configuration, a folder in training/memory/shapes."""
    script: str
    """What trains it, a file in training/."""
    changes: Changes
    num_tasks: int
    trainings: tuple[dict[str, str], ...]
    """One after the other; of each the script's variables where they are not the published ones."""
    tp: int = 2


class Rehearsal:
    """One model's rehearsal; a stage that is done is not done again."""

    def __init__(self, model: str, size: Size, folder: Path) -> None:
        self.model, self.size, self.folder = model, size, folder
        folder.mkdir(parents=True, exist_ok=True)
        self.logbook = Logbook(folder)
        self.released, self.megatron = folder / "released", folder / "megatron"
        self.shards, self.policy = folder / "shards", folder / "policy"
        runs = [f"run{number}" for number in range(len(size.trainings))]
        self.runs = {run: folder / "training" / "checkpoint" / run for run in runs}

    def run(self) -> None:
        """All stages; the first that fails raises a `UserError` that names it and its log."""
        for stage in (self.make, self.explore, self.pack, self.hf2mg, self.train, self.mg2hf):
            self._stage(stage)
        for stage in (self.score_released, self.serve_again, self.score_trained):
            self._stage(stage)

    def make(self) -> None:
        make_checkpoint(self.released, self.size.shape, self.size.changes)

    def explore(self) -> None:
        """In bf16, as on a GPU; drawn from the very distribution that is scored."""
        flags = {"image_size": "980", "do_image_splitting": "False"} if self.model == "idefics2" else {}
        self._explore(self.released, "", self.size.num_tasks, dtype="bfloat16", **flags)

    def pack(self) -> None:
        self._pack(self.folder)

    def hf2mg(self) -> None:
        self._convert("hf2mg", self.released, self.megatron)

    def train(self) -> None:
        """Each run goes on from the weights of the one before."""
        script, before = ["bash", f"training/{self.size.script}"], self.megatron
        for (run, checkpoint), variables in zip(self.runs.items(), self.size.trainings, strict=True):
            live_tensors = self.folder / "live_tensors" / run
            live_tensors.mkdir(parents=True, exist_ok=True)
            variables = {
                "DATASET_PATH": str(self.shards),
                "PRETRAIN_CHECKPOINT_PATH": str(before),
                "OUTPUT_BASEPATH": str(self.folder / "training"),
                "RUN_NAME": run,
                "TP": str(self.size.tp),
                "PAD_TO_LONGEST": "false",  # as on a GPU
                **variables,
            }
            EXECUTOR.run(Command([*script, "--dry_run"], self._log(f"{run}_dry_run"), variables))
            watched = {"PYTHONPATH": str(HOOK), "LIVE_TENSORS": str(live_tensors)}
            EXECUTOR.run(Command(script, self._log(run), variables | watched))
            before = checkpoint

    def mg2hf(self) -> None:
        """Adapters that are merged into bf16 weights are rounded to them: so they are merged into fp32 here."""
        merged = ["--dtype", "fp32"] if "LORA_RANK" in self.size.trainings[-1] else []
        self._convert("mg2hf", list(self.runs.values())[-1], self.policy, *merged)

    def score_released(self) -> None:
        """By the trainer, in both precisions; the server's own came with its replies."""
        self._score(self.megatron, self.shards, "trainer_bf16", PR="bf16")
        self._score(self.megatron, self.shards, "trainer_fp32", PR="fp32")

    def serve_again(self) -> None:
        """In fp32, a server's default on a CPU, and with the files that training wrote."""
        self._explore(self.policy, "after", 1, dtype="float32")
        self._pack(self.folder / "after")

    def score_trained(self) -> None:
        self._score(list(self.runs.values())[-1], self.folder / "after" / "shards", "after/trainer_fp32", PR="fp32")

    def _stage(self, stage: Callable[[], None]) -> None:
        with self.logbook.stage(stage.__name__) as needed:
            if needed:
                stage()

    def _explore(self, policy: Path, where: str, num_tasks: int, **flags: str) -> None:
        folder, prefix = self.folder / where, f"{where}/" if where else ""
        tasks = folder / "tasks.jsonl"
        write_atomic(tasks, "".join(TASKS.read_text().splitlines(keepends=True)[:num_tasks]))
        with (
            embedded_sites(EXECUTOR, self._log(f"{prefix}sites")) as sites,
            self._serve(policy, f"{prefix}server", **flags) as url,
        ):
            command = python(
                "collection/run.py",
                test_file=tasks,
                api_localhost=f"{url}/predict",
                headless=True,
                max_iter=3,
                max_attached_imgs=IMAGES,
                num_sessions=2,
                output_dir=folder / "trajectories",
                sites_port=sites,
                judge="oracle",
            )
            EXECUTOR.run(Command(command, self._log(f"{prefix}collect")))

    @contextlib.contextmanager
    def _serve(self, policy: Path, log: str, **flags: str) -> Iterator[str]:
        def command(host: str, port: int) -> Command:
            words = python(
                "server/hf_online_server.py",
                model_name_or_path=policy,
                host=host,
                port=port,
                max_new_tokens=64,
                temperature=1.0,
                top_k=0,
                min_new_tokens=0,
                **flags,
            )
            return Command(words, self._log(log))

        with EXECUTOR.service(command, "/health") as url:
            yield url

    def _pack(self, folder: Path) -> None:
        command = python(
            "toolkits/convert_trajectories_to_json.py",
            result_dir=folder / "trajectories",
            image_dir=folder / "images",
            save_json_file=folder / "samples.json",
            last_n=IMAGES,
            keep_unfinished=True,
        )
        EXECUTOR.run(Command(command, self._log(f"{folder.name}_samples")))
        command = python(
            "toolkits/convert_to_tar_data.py",
            json_files=folder / "samples.json",
            image_dirs=folder / "images",
            save_dir=folder / "shards",
        )
        EXECUTOR.run(Command(command, self._log(f"{folder.name}_shards")))

    def _convert(self, direction: str, source: Path, target: Path, *more: str) -> None:
        published = CONVERTOR / self.model / f"{direction}.sh"  # of the families that OpenWebVoyager has one for
        script = published if published.exists() else CONVERTOR / f"{direction}.sh"
        command = ["bash", str(script), "--load_path", str(source), "--save_path", str(target), *more]
        EXECUTOR.run(Command(command, self._log(direction)))

    def _score(self, checkpoint: Path, shards: Path, name: str, **variables: str) -> None:
        output = self.folder / "scores" / f"{name}.parquet"
        output.parent.mkdir(parents=True, exist_ok=True)
        paths = {"CHECKPOINT": checkpoint, "DATASET_PATH": shards, "OUTPUT": output}
        variables |= {name: str(path) for name, path in paths.items()}
        variables |= {"TP": str(self.size.tp), "TOKEN_LOGPROBS": "true"}
        EXECUTOR.run(Command(["bash", "training/score.sh"], self._log(f"score_{name}"), variables))

    def _log(self, stage: str) -> Path:
        return self.folder / "logs" / f"{stage.replace('/', '_')}.log"
