"""The rounds: explore, keep what succeeded, train on it, serve the better agent, explore again.

Every stage is one or two commands a person would type, leaves a folder behind, and is skipped when it is complete:

    <run_dir>/<round>/trajectories/   what the agent did          collection/run.py, collection/exploration_feedback.py
    <run_dir>/<round>/samples.json    what is worth learning      toolkits/convert_trajectories_to_json.py
    <run_dir>/<round>/replay.json     the part of D_IL to mix in, where the recipe asks for less than all
    <run_dir>/<round>/shards/         D_IL ∪ D_j                  toolkits/convert_to_tar_data.py
    <run_dir>/<round>/megatron/       the weights before          toolkits/model_checkpoints_convertor/hf2mg.sh
    <run_dir>/<round>/training/       and after                   training/train.sh
    <run_dir>/<round>/policy/         the better agent            toolkits/model_checkpoints_convertor/mg2hf.sh
    <run_dir>/<round>/test/           what it can do              collection/run.py, collection/evaluation/auto_eval.py
"""

import contextlib
import dataclasses
import hashlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from collection.config.commands import ExplorationConfig, RunConfig
from collection.config.judging import JudgeFlags
from common.files import read_json, write_atomic, write_json
from common.flags import flags, narrowed, variables
from common.seeds import derive_seed
from data.shard import task_of
from elcano.executors.executor import Command, Executor, python
from elcano.recipe import Recipe, Round, files
from elcano.report import Result
from elcano.services import embedded_sites, embedded_teacher, policy_server
from elcano.stage import Logbook

CONVERTOR = "toolkits/model_checkpoints_convertor"


def run_rounds(recipe: Recipe, run_dir: Path, executor: Executor) -> Iterator[Result]:
    """Yields one result for the untrained policy and one after each round.

    Round j trains on D_IL ∪ D_j, starting from the weights of round j - 1 (OpenWebVoyager, exploration-feedback-
    optimization).
    """
    stages = Stages(recipe, run_dir, Logbook(run_dir), executor)
    policy = recipe.starting_policy
    yield stages.test("untrained", policy)
    demonstrations = None
    for number, round in enumerate(recipe.rounds):
        trajectories = stages.explore(round, policy)
        samples = stages.select(round, trajectories, number)
        demonstrations = demonstrations or samples
        shards = stages.pack(round, [demonstrations, samples])
        policy = stages.learn(round, policy, shards)
        yield stages.test(round.name, policy)


def draw(samples: Path, share: float, seed: str, target: Path) -> Path:
    """Write the samples of a share of the tasks to `target`; which ones depends on `seed` and the task's id alone."""

    def is_drawn(sample: dict[str, Any]) -> bool:
        digest = hashlib.sha256(f"{seed} {task_of(sample['id'])}".encode()).digest()
        return int.from_bytes(digest[:8], "big") < share * 2**64

    write_json(target, [sample for sample in read_json(samples) if is_drawn(sample)])
    return target


@dataclasses.dataclass(frozen=True)
class Stages:
    """The stages of a run; each returns the folder or file it leaves behind."""

    recipe: Recipe
    run_dir: Path
    logbook: Logbook
    executor: Executor

    def explore(self, round: Round, policy: Path) -> Path:
        """Trajectories on the round's tasks, by the teacher or by the policy."""
        output_dir = self.run_dir / round.name / "trajectories"
        with self.logbook.stage(f"{round.name}/explore") as needed:
            if needed:
                tasks = self._tasks(round.name, "tasks", round.tasks)
                asked = self._teacher(round.name) if round.agent == "teacher" else self._exploring(round.name, policy)
                with self._websites(round.name) as port, asked as config:
                    self._browse(round.name, config, tasks, output_dir, port)
        return output_dir

    def select(self, round: Round, trajectories: Path, number: int) -> Path:
        """The successful trajectories as training samples."""
        samples = self.run_dir / round.name / "samples.json"
        with self.logbook.stage(f"{round.name}/select") as needed:
            if needed:
                command = python(
                    "toolkits/convert_trajectories_to_json.py",
                    result_dir=trajectories,
                    image_dir=samples.with_name("images"),
                    save_json_file=samples,
                    round_id=number + 1,
                    last_n=self.recipe.exploration.max_attached_imgs,
                    only_success=True,
                )
                self._run(command, round.name, "select")
        return samples

    def pack(self, round: Round, sample_files: list[Path]) -> Path:
        """D_IL ∪ D_j as shards."""
        shards = self.run_dir / round.name / "shards"
        with self.logbook.stage(f"{round.name}/pack") as needed:
            if needed:
                files = list(dict.fromkeys(sample_files))  # one only in the first round
                folders = [file.with_name("images") for file in files]
                if len(files) > 1 and round.il_share < 1:
                    files[0] = draw(files[0], round.il_share, round.name, shards.with_name("replay.json"))
                command = python(
                    "toolkits/convert_to_tar_data.py",
                    json_files=files,
                    image_dirs=folders,
                    save_dir=shards,
                )
                self._run(command, round.name, "pack")
        return shards

    def learn(self, round: Round, policy: Path, shards: Path) -> Path:
        """Fine-tune `policy` on `shards` under Megatron; returns the better policy as a Hugging Face folder."""
        folder = self.run_dir / round.name
        better = folder / "policy"
        with self.logbook.stage(f"{round.name}/hf2mg") as needed:
            if needed:
                command = self._convert("hf2mg", policy, folder / "megatron")
                self._run(command, round.name, "hf2mg")
        with self.logbook.stage(f"{round.name}/train") as needed:
            if needed:
                paths = {
                    "DATASET_PATH": str(shards),
                    "PRETRAIN_CHECKPOINT_PATH": str(folder / "megatron"),
                    "OUTPUT_BASEPATH": str(folder / "training"),
                    "RUN_NAME": round.name,
                }
                options = variables(round.training or self.recipe.training, every=not self.recipe.family_values)
                command = Command(["bash", "training/train.sh"], self._log(round.name, "train"), {**paths, **options})
                self.executor.run(command, self.recipe.needs.training)
        with self.logbook.stage(f"{round.name}/mg2hf") as needed:
            if needed:
                trained = folder / "training" / "checkpoint" / round.name
                command = self._convert("mg2hf", trained, better)
                self._run(command, round.name, "mg2hf")
        return better

    def test(self, name: str, policy: Path) -> Result:
        """Runs on the test tasks, judged and counted."""
        output_dir = self.run_dir / name / "test"
        with self.logbook.stage(f"{name}/test") as needed:
            if needed:
                tasks, how = self._tasks(name, "test_tasks", self.recipe.test_tasks), self.recipe.testing
                with self._websites(name) as port, self._policy(name, policy) as url:
                    greedy = 0 if how.temperature is None else how.temperature
                    config = dataclasses.replace(how, api_localhost=(url,), temperature=greedy)
                    self._browse(name, config, tasks, output_dir, port)
                judging = flags(narrowed(JudgeFlags, how))
                script = "collection/evaluation/auto_eval.py"
                self._run(python(script, *judging, process_dir=output_dir, test_file=tasks), name, "evaluation")
        return Result.from_summary(name, read_json(output_dir / "summary.json"))

    def _tasks(self, name: str, what: str, tasks: Path | tuple[Path, ...]) -> Path:
        """One task file: the only one, or all of them in one file of the run."""
        paths = files(tasks)
        if len(paths) == 1:
            return paths[0]
        joined = self.run_dir / name / f"{what}.jsonl"
        write_atomic(joined, "".join(path.read_text(encoding="utf-8").rstrip("\n") + "\n" for path in paths))
        return joined

    def _browse(
        self, name: str, config: RunConfig | ExplorationConfig, tasks: Path, output_dir: Path, port: int | None
    ) -> None:
        """Run the collector's program that `config` is of."""
        config = dataclasses.replace(
            config,
            test_file=tasks,
            output_dir=output_dir,
            seed=derive_seed(config.seed or 0, name, output_dir.name),  # no two rounds share random numbers
            headless=True,
            sites_port=config.sites_port if port is None else port,
        )
        script = "run" if isinstance(config, RunConfig) else "exploration_feedback"
        command = Command(python(f"collection/{script}.py", *flags(config)), self._log(name, output_dir.name))
        self.executor.run(command, self.recipe.needs.browsing)

    def _run(self, words: list[str], name: str, stage: str) -> None:
        """Run a command between the rooms."""
        self.executor.run(Command(words, self._log(name, stage)), self.recipe.needs.converting)

    def _convert(self, direction: str, source: Path, target: Path) -> list[str]:
        flags = ["--load_path", str(source), "--save_path", str(target), "--image_recipe", self.recipe.image_recipe]
        return ["bash", f"{CONVERTOR}/{direction}.sh", *flags]

    def _log(self, name: str, stage: str) -> Path:
        return self.run_dir / name / "logs" / f"{stage}.log"

    @contextlib.contextmanager
    def _websites(self, name: str) -> Iterator[int | None]:
        if not self.recipe.embedded_sites:
            yield None
            return
        with embedded_sites(self.executor, self._log(name, "sites")) as port:
            yield port

    @contextlib.contextmanager
    def _teacher(self, name: str) -> Iterator[RunConfig | ExplorationConfig]:
        """How the teacher is asked: each task once, unless it has several tries."""
        how = self.recipe.teacher
        config = how if how.max_rerun_times > 1 else narrowed(RunConfig, how)
        if how.api_base or how.api_localhost:
            yield config
            return
        with embedded_teacher(self.executor, self._log(name, "teacher")) as api_base:
            yield dataclasses.replace(config, api_base=api_base, api_model=how.api_model or "teacher")

    @contextlib.contextmanager
    def _exploring(self, name: str, policy: Path) -> Iterator[ExplorationConfig]:
        with self._policy(name, policy) as url:
            yield dataclasses.replace(self.recipe.exploration, api_localhost=(url,))

    @contextlib.contextmanager
    def _policy(self, name: str, policy: Path) -> Iterator[str]:
        recipe, log = self.recipe, self._log(name, "server")
        serving = dataclasses.replace(recipe.serving, image_recipe=recipe.image_recipe)
        with policy_server(self.executor, policy, serving, recipe.needs.serving, log) as url:
            yield url
