"""What the stages of a run have in common: the rooms' commands with a recipe's flags, and the services beside them."""

import contextlib
import dataclasses
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from collection.config.commands import ExplorationConfig, RunConfig
from common.files import write_atomic
from common.options.flags import flags, narrowed, variables
from elcano.executors.executor import Command, Executor, python
from elcano.recipe import Recipe, Round, files
from elcano.stages.services import embedded_model, embedded_sites, embedded_teacher, policy_server
from elcano.stages.stage import Logbook
from training.options import TrainingOptions

CONVERTOR = "toolkits/model_checkpoints_convertor"


@dataclasses.dataclass(frozen=True)
class Commands:
    """The commands of one run."""

    recipe: Recipe
    run_dir: Path
    logbook: Logbook
    executor: Executor
    _begun: dict[str, Any] = dataclasses.field(default_factory=dict)  # the services that run now, by what they are

    def pack(self, name: str, folder: str, data: dict[str, list[Path]], **options: object) -> Path:
        """A folder of shards."""
        shards, stage = self.run_dir / name / folder, "pack" if folder == "shards" else f"pack-{folder}"
        with self.logbook.stage(f"{name}/{stage}") as needed:
            if needed:
                self.run(python("toolkits/convert_to_tar_data.py", **data, save_dir=shards, **options), name, stage)
        return shards

    def train(
        self, name: str, options: TrainingOptions, shards: Path, output: Path, run: str, said: Mapping[str, str] = {}
    ) -> None:
        """Train on from a round's policy, into `<output>/checkpoint/<run>`; `said` are further variables."""
        paths = {
            "DATASET_PATH": str(shards),
            "PRETRAIN_CHECKPOINT_PATH": str(self.run_dir / name / "megatron"),
            "OUTPUT_BASEPATH": str(output),
            "RUN_NAME": run,
        }
        own = variables(options, every=not self.recipe.family_values)
        log = self.log(name, "train" if run == name else run)
        command = Command(["bash", "training/train.sh"], log, {**own, **said, **paths})
        self.executor.run(command, self.recipe.needs.training)

    def task_file(self, round: Round) -> Path:
        """What a round explores."""
        proposed = self.run_dir / round.name / "tasks.jsonl"
        return proposed if round.proposals else self.joined(round.name, "tasks", round.tasks)

    def joined(self, name: str, what: str, tasks: Path | tuple[Path, ...], most: int | None = None) -> Path:
        """One task file: the only one, or all of them, or the first so many, in one file of the run."""
        paths = files(tasks)
        if len(paths) == 1 and most is None:
            return paths[0]
        joined = self.run_dir / name / f"{what}.jsonl"
        lines = [line for path in paths for line in path.read_text(encoding="utf-8").split("\n") if line]
        write_atomic(joined, "".join(f"{line}\n" for line in lines[:most]))
        return joined

    def browse(
        self, name: str, config: RunConfig | ExplorationConfig, tasks: Path, output_dir: Path, port: int | None
    ) -> None:
        """Run the collector's program that `config` is of."""
        self.executor.run(self.collector(name, config, tasks, output_dir, port), self.recipe.needs.browsing)

    def collector(
        self, name: str, config: RunConfig | ExplorationConfig, tasks: Path, output_dir: Path, port: int | None
    ) -> Command:
        config = dataclasses.replace(
            config,
            test_file=tasks,
            output_dir=output_dir,
            headless=True,
            sites_port=config.sites_port if port is None else port,
        )
        script = "run" if isinstance(config, RunConfig) else "exploration_feedback"
        return Command(python(f"collection/{script}.py", *flags(config)), self.log(name, output_dir.name))

    def run(self, words: list[str], name: str, stage: str) -> None:
        """Run a command between the rooms."""
        self.executor.run(Command(words, self.log(name, stage)), self.recipe.needs.converting)

    def convert(self, direction: str, source: Path, target: Path) -> list[str]:
        flags = ["--load_path", str(source), "--save_path", str(target), "--image_recipe", self.recipe.image_recipe]
        return ["bash", f"{CONVERTOR}/{direction}.sh", *flags]

    def log(self, name: str, stage: str) -> Path:
        """Where a stage's commands write what they say."""
        return self.run_dir / name / "logs" / f"{stage}.log"

    @contextlib.contextmanager
    def websites(self, name: str) -> Iterator[int | None]:
        """The embedded ones, where the recipe has them, while the block runs; yields their port."""
        if not self.recipe.embedded_sites:
            yield None
            return
        with self._shared("sites", embedded_sites(self.executor, self.log(name, "sites"))) as port:
            yield port

    @contextlib.contextmanager
    def teacher(self, name: str) -> Iterator[RunConfig | ExplorationConfig]:
        """How the teacher is asked: each task once, unless it has several tries."""
        how = self.recipe.teacher
        config = how if how.max_rerun_times > 1 else narrowed(RunConfig, how)
        if how.api_base or how.api_localhost:
            yield config
            return
        with embedded_teacher(self.executor, self.log(name, "teacher"), how.env) as api_base:
            yield dataclasses.replace(config, api_base=api_base, api_model=how.api_model or "teacher")

    @contextlib.contextmanager
    def exploring_policy(self, name: str, policy: Path) -> Iterator[ExplorationConfig]:
        how = self.recipe.exploration
        with self.policy(name, policy) as url, self._judge(name) as eval_api_base:
            yield dataclasses.replace(how, api_localhost=(url,), eval_api_base=eval_api_base)

    @contextlib.contextmanager
    def _judge(self, name: str) -> Iterator[str]:
        """The base URL of the model that judges exploration."""
        how = self.recipe.exploration
        if how.eval_api_base or how.api_eval_model != "judge":
            yield how.eval_api_base
            return
        with embedded_model(self.executor, "judge", self.log(name, "judge")) as api_base:
            yield api_base

    def policy(self, name: str, policy: Path) -> contextlib.AbstractContextManager[str]:
        """Serve it; yields its /predict URL."""
        recipe, log = self.recipe, self.log(name, "server")
        serving = dataclasses.replace(recipe.serving, image_recipe=recipe.image_recipe)
        server = policy_server(self.executor, policy, serving, recipe.needs.serving, log)
        return self._shared(f"policy {policy}", server)

    @contextlib.contextmanager
    def _shared(self, what: str, service: contextlib.AbstractContextManager[Any]) -> Iterator[Any]:
        """What the service yields; within a block that has begun the same one, that of this one."""
        if what in self._begun:
            yield self._begun[what]
            return
        with service as self._begun[what]:
            try:
                yield self._begun[what]
            finally:
                del self._begun[what]
