"""The tasks of a round that proposes them: what a model thinks of, and what the last round's critic thinks of that.

    <run_dir>/<round>/proposed.jsonl   what was proposed           collection/propose_tasks.py
    <run_dir>/<round>/proposals/       its first states' values    toolkits/make_task_samples.py, training/score.sh, ...
    <run_dir>/<round>/tasks.jsonl      what is left to explore     collection/propose_tasks.py --method given

A critic is asked where tasks evolve from failures and the last round had one (WebRL): twice as many tasks are proposed
as are wanted, and what is hopeless or solved is dropped.
"""

import contextlib
import dataclasses
import json
from collections.abc import Iterator, Sequence
from pathlib import Path

from collection.config.proposals import ProposerFlags
from common.files import write_atomic
from common.options.flags import flags
from data.samples.rewarded_step import first_state
from data.task import read_tasks
from elcano.executors.executor import python
from elcano.recipe import Round, files
from elcano.stages.columns import critic_values
from elcano.stages.commands import Commands
from elcano.stages.services import embedded_model


def propose(commands: Commands, round: Round, wanted: ProposerFlags, earlier: Sequence[Round]) -> None:
    """Write the round's `tasks.jsonl`."""
    folder = commands.run_dir / round.name
    critic_of = earlier[-1] if earlier and wanted.method == "evolve" and earlier[-1].critic else None
    with commands.logbook.stage(f"{round.name}/propose") as needed:
        if not needed:
            return
        known = [commands.task_file(each) for each in earlier]
        told: dict[str, object] = {"test_files": files(commands.recipe.test_tasks), "id_prefix": round.name}
        if wanted.method == "names":
            told["sites_file"] = commands.joined(round.name, "sites", round.tasks)
        elif earlier:
            told["results_dir"] = commands.run_dir / earlier[-1].name / "trajectories"
        if wanted.method == "self_instruct":
            known += files(round.tasks)
        tasks = folder / "tasks.jsonl"
        proposed = folder / "proposed.jsonl" if critic_of else tasks
        with _proposer(commands, round, wanted) as how:
            if critic_of:
                how = dataclasses.replace(how, num_tasks=2 * how.num_tasks)
            _run(commands, round, how, output_file=proposed, seed_files=known, **told)
        if critic_of:
            passed = {"seed_files": [proposed], "critic_scores": _score(commands, round, critic_of, proposed)}
            _run(
                commands,
                round,
                dataclasses.replace(wanted, method="given", check_feasibility=False),
                output_file=tasks,
                **passed,
            )


def _run(commands: Commands, round: Round, how: ProposerFlags, **paths: object) -> None:
    own = flags(dataclasses.replace(how, method=ProposerFlags.method))
    words = python(
        "collection/propose_tasks.py", *own, method=how.method, **{name: path for name, path in paths.items() if path}
    )
    commands.run(words, round.name, "propose")


@contextlib.contextmanager
def _proposer(commands: Commands, round: Round, wanted: ProposerFlags) -> Iterator[ProposerFlags]:
    """With the endpoint that the recipe names; else, on the embedded websites, the embedded one."""
    if wanted.api_base or not commands.recipe.embedded_sites:
        yield wanted
        return
    with embedded_model(commands.executor, "proposer", commands.log(round.name, "proposer")) as api_base:
        yield dataclasses.replace(wanted, api_base=api_base, api_model="proposer")


def _score(commands: Commands, round: Round, critic_of: Round, proposed: Path) -> Path:
    """`{"ques", "score"}` lines: the smaller of the two values of each task's first state."""
    from data.shards.columns import read_rows  # imported here: pyarrow takes long, and most recipes need none of it

    folder, before = commands.run_dir / round.name / "proposals", commands.run_dir / critic_of.name
    samples, images, shards = folder / "samples.json", folder / "images", folder / "shards"
    shown = {"result_dir": before / "trajectories", "last_n": commands.recipe.exploration.num_images}
    made = {"image_dir": images, "save_json_file": samples}
    commands.run(python("toolkits/make_task_samples.py", task_file=proposed, **shown, **made), round.name, "propose")
    packed = python("toolkits/convert_to_tar_data.py", json_files=[samples], image_dirs=[images], save_dir=shards)
    commands.run(packed, round.name, "propose")
    rows = read_rows(critic_values(commands, critic_of, shards, folder))
    values = {row["id"]: min(row["value_1"], row["value_2"]) for row in rows}
    scores = {task.ques: values.get(first_state(task.id).replace(".", "_")) for task in read_tasks(proposed)}
    lines = [json.dumps({"ques": ques, "score": score}) for ques, score in scores.items() if score is not None]
    write_atomic(folder / "scores.jsonl", "".join(f"{line}\n" for line in lines))
    return folder / "scores.jsonl"
