"""The rounds: explore, keep what succeeded, train on it, serve the better agent, explore again.

Every stage is one or two commands a person would type, leaves a folder behind, and is skipped when it is complete:

    <run_dir>/<round>/tasks.jsonl     what was proposed, if so    elcano/stages/proposals.py
    <run_dir>/<round>/trajectories/   what the agent did          collection/run.py, collection/exploration_feedback.py
    <run_dir>/<round>/trajectories/*/corrections.json   what the teacher would have done   collection/correct.py
    <run_dir>/<round>/samples.json    what is worth learning      toolkits/convert_trajectories_to_json.py
    <run_dir>/<round>/replay.json     the part of D_IL to mix in, where the recipe asks for less than all
    <run_dir>/<round>/shards/         D_IL ∪ D_j                  toolkits/convert_to_tar_data.py
    <run_dir>/<round>/megatron/       the weights before          toolkits/model_checkpoints_convertor/hf2mg.sh
    <run_dir>/<round>/training/       and after                   training/train.sh
    <run_dir>/<round>/columns/        what its algorithm reads    elcano/stages/columns.py
    <run_dir>/<round>/policy/         the better agent            toolkits/model_checkpoints_convertor/mg2hf.sh, into
                                      trained/ where toolkits/average_checkpoints.py then makes the policy of it
    <run_dir>/<round>/test/           what it can do              collection/run.py, collection/evaluation/auto_eval.py
    <run_dir>/<round>-control/        the same again without what exploration brought   } where the recipe
    <run_dir>/<round>-gray/, -no_tree/   the last policy tested without screenshots, or without trees   } asks for them
"""

import contextlib
import dataclasses
from collections.abc import Iterator, Sequence
from pathlib import Path

from collection.config.agent import Hidden
from collection.config.commands import CorrectionConfig
from collection.config.judging import JudgeFlags
from common.files import link_tree, read_json, write_json
from common.options.flags import flags, narrowed
from common.seeds import derive_seed, draw
from data.shards.shard import task_of
from elcano.executors.executor import Command, Executor, python
from elcano.recipe import Recipe, Round
from elcano.report import Result
from elcano.stages.columns import make_columns
from elcano.stages.commands import Commands
from elcano.stages.proposals import propose
from elcano.stages.stage import Logbook


def run_rounds(recipe: Recipe, run_dir: Path, executor: Executor) -> Iterator[Result]:
    """Yields one result for the untrained policy and one after each round.

    Round j trains on D_IL ∪ D_j, starting from the weights of round j - 1 (OpenWebVoyager, exploration-feedback-
    optimization). A policy is tested before the next round explores, or while it does; a round's control is trained and
    tested before that.
    """
    stages = Stages(recipe, run_dir, Logbook(run_dir), executor)
    name, policy = recipe.start, recipe.starting_policy
    demonstrations, explored = None, []
    for number, round in enumerate(recipe.rounds):
        with stages.exploring(round, policy, recipe.rounds[:number]) as trajectories:
            stages.test(name, policy)
            yield Result.read(run_dir, name)
            stages.to_megatron(round, policy)
        if round.corrections:
            stages.correct(round, trajectories)
        samples = stages.select(round, trajectories, number)
        if number == 0 and round.agent == "teacher":
            demonstrations = samples
        explored.append(samples)
        data = stages.gather(round, demonstrations, explored if round.buffer else [samples])
        before, name, policy = policy, round.name, stages.learn(round, policy, data)
        if recipe.controls and number > 0 and demonstrations:
            stages.control(round, before, demonstrations)
    stages.test(name, policy)
    if recipe.looks and recipe.rounds:
        stages.test(f"{name}-gray", policy, hide="screenshots")
        stages.test(f"{name}-no_tree", policy, hide="tree")
    yield Result.read(run_dir, name)


def draw_tasks(samples: Path, share: float, seed: str, target: Path) -> Path:
    """Write the samples of a share of the tasks to `target`; which ones depends on `seed` and the task's id alone."""
    drawn = [sample for sample in read_json(samples) if draw(f"{seed} {task_of(sample['id'])}") < share]
    write_json(target, drawn)
    return target


class Stages(Commands):
    """The stages of a run; each returns the folder or file it leaves behind."""

    @contextlib.contextmanager
    def exploring(self, round: Round, policy: Path, before: Sequence[Round]) -> Iterator[Path]:
        """Yields where the trajectories will be behind the block; they are collected beside it where that is possible.
        `before` are the rounds whose work may say what is explored."""
        trajectories = self.run_dir / round.name / "trajectories"
        if not (self.recipe.overlap and self.executor.runs_beside):
            yield trajectories
            self.explore(round, policy, before)
            return
        with self._exploration(round, policy, before) as command:
            needs = self.recipe.needs.browsing
            with self.executor.beside(command, needs) if command else contextlib.nullcontext():
                yield trajectories

    def explore(self, round: Round, policy: Path, before: Sequence[Round] = ()) -> Path:
        """Trajectories on the round's tasks, by the teacher or by the policy; or those that the round was given."""
        with self._exploration(round, policy, before) as command:
            if command:
                self.executor.run(command, self.recipe.needs.browsing)
        return self.run_dir / round.name / "trajectories"

    @contextlib.contextmanager
    def _exploration(self, round: Round, policy: Path, before: Sequence[Round]) -> Iterator[Command | None]:
        """The stage, with its services up; yields the collector's command if one is needed."""
        if round.proposals:
            propose(self, round, round.proposals, before)
        output_dir = self.run_dir / round.name / "trajectories"
        with self.logbook.stage(f"{round.name}/explore") as needed:
            if needed and round.trajectories:
                link_tree(round.trajectories, output_dir)
            if not needed or round.trajectories:
                yield None
                return
            tasks = self.task_file(round)
            asked = self.teacher(round.name) if round.agent == "teacher" else self.exploring_policy(round.name, policy)
            with self.websites(round.name) as port, asked as config:
                seed = derive_seed(config.seed or 0, round.name, output_dir.name)  # each round its own
                config = dataclasses.replace(config, seed=seed)
                yield self.collector(round.name, config, tasks, output_dir, port)

    def correct(self, round: Round, trajectories: Path) -> None:
        """The teacher's words at each step of what failed."""
        with self.logbook.stage(f"{round.name}/correct") as needed:
            if needed:
                with self.teacher(round.name) as how:
                    asked = flags(narrowed(CorrectionConfig, how, result_dir=trajectories))
                    self.run(python("collection/correct.py", *asked), round.name, "correct")

    def select(self, round: Round, trajectories: Path, number: int) -> Path:
        """The successful trajectories as training samples; all that were judged, for an algorithm that wants both."""
        wants_both = self.recipe.training_of(round).algorithm != "sft"
        samples = self.run_dir / round.name / "samples.json"
        with self.logbook.stage(f"{round.name}/select") as needed:
            if needed:
                command = python(
                    "toolkits/convert_trajectories_to_json.py",
                    result_dir=trajectories,
                    image_dir=samples.with_name("images"),
                    save_json_file=samples,
                    round_id=number + 1,
                    last_n=self.recipe.exploration.num_images,
                    only_success=not wants_both,
                    corrected=round.corrections,
                    only_judged=wants_both,
                    keep_unfinished=wants_both,
                )
                self.run(command, round.name, "select")
        return samples

    def gather(
        self, round: Round, demonstrations: Path | None, explored: list[Path], drawn_for: str = ""
    ) -> dict[str, list[Path]]:
        """The sample files of D_IL ∪ D_j and the folders of their images, as `pack` takes them. Which part of D_IL
        depends on the name of the round that it is `drawn_for`."""
        files = list(dict.fromkeys(filter(None, [demonstrations, *explored])))  # one only in the first round
        folders = [file.with_name("images") for file in files]
        if demonstrations not in (None, *explored) and round.il_share < 1:
            replay = self.run_dir / round.name / "replay.json"
            if not replay.exists():
                draw_tasks(files[0], round.il_share, drawn_for or round.name, replay)
            files[0] = replay
        return {"json_files": files, "image_dirs": folders}

    def to_megatron(self, round: Round, policy: Path) -> None:
        """The weights that a round's training begins with; nothing of it waits for what is explored."""
        with self.logbook.stage(f"{round.name}/hf2mg") as needed:
            if needed:
                self.run(self.convert("hf2mg", policy, self.run_dir / round.name / "megatron"), round.name, "hf2mg")

    def learn(self, round: Round, policy: Path, data: dict[str, list[Path]], num_steps: int | None = None) -> Path:
        """Fine-tune `policy` on `data` under Megatron; returns the better policy as a Hugging Face folder.

        It begins with what `to_megatron` left. It takes `num_steps` optimizer steps, or as many as the recipe says.
        """
        folder = self.run_dir / round.name
        better, options, files = folder / "policy", self.recipe.training_of(round), []
        shards = self.pack(round.name, "shards", data)
        if options.algorithm != "sft":
            shards, files = make_columns(self, round, policy, data, shards)
        with self.logbook.stage(f"{round.name}/train") as needed:
            if needed:
                steps = {} if num_steps is None else {"TRAIN_ITERS": str(num_steps), "TRAIN_EPOCHS": "0"}
                steps["COLUMN_FILES"] = ",".join(map(str, files))
                self.train(round.name, options, shards, folder / "training", round.name, steps)
        trained = folder / "trained" if round.before_share else better
        with self.logbook.stage(f"{round.name}/mg2hf") as needed:
            if needed:
                command = self.convert("mg2hf", folder / "training" / "checkpoint" / round.name, trained)
                self.run(command, round.name, "mg2hf")
        if round.before_share:
            with self.logbook.stage(f"{round.name}/average") as needed:
                if needed:
                    shares = (round.before_share, 1 - round.before_share)
                    script, both = "toolkits/average_checkpoints.py", (policy, trained)
                    self.run(python(script, policies=both, shares=shares, save_path=better), round.name, "average")
        return better

    def control(self, round: Round, policy: Path, demonstrations: Path) -> None:
        """The round's training again without what exploration brought: from the same policy, on its part of D_IL."""
        checkpoints = self.run_dir / round.name / "training" / "checkpoint" / round.name
        num_steps = int((checkpoints / "latest_checkpointed_iteration.txt").read_text())
        again = dataclasses.replace(round, name=f"{round.name}-control")
        data = self.gather(again, demonstrations, [], drawn_for=round.name)
        self.to_megatron(again, policy)
        self.test(again.name, self.learn(again, policy, data, num_steps))

    def test(self, name: str, policy: Path, hide: Hidden = "nothing") -> None:
        """Runs on the test tasks, judged and counted. Every policy finds the same pages, menus in the same order."""
        output_dir, num_tasks = self.run_dir / name / "test", self.recipe.num_test_tasks
        with self.logbook.stage(f"{name}/test", f"{num_tasks} tasks" if num_tasks else "") as needed:
            if needed:
                how = self.recipe.testing if hide == "nothing" else dataclasses.replace(self.recipe.testing, hide=hide)
                tasks = self.joined(name, "test_tasks", self.recipe.test_tasks, num_tasks)
                with self.websites(name) as port, self.policy(name, policy) as url:
                    greedy = 0 if how.temperature is None else how.temperature
                    seed = derive_seed(how.seed or 0, "test")
                    config = dataclasses.replace(how, api_localhost=(url,), temperature=greedy, seed=seed)
                    self.browse(name, config, tasks, output_dir, port)
                judging = flags(narrowed(JudgeFlags, how))
                script = "collection/evaluation/auto_eval.py"
                self.run(python(script, *judging, process_dir=output_dir, test_file=tasks), name, "evaluation")
