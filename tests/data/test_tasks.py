"""The task files: reproducible, and no entity of one split is named in another."""

import itertools
import re
from collections import Counter
from pathlib import Path

import pytest

from data.task import Task, read_tasks
from environments.sites.instructions import OPENERS, WORDINGS, parse
from environments.sites.make_tasks import Config, main
from environments.sites.words import SPLITS

TASKS = Path(__file__).resolve().parent.parent.parent / "data" / "tasks"
# What every visitor of the sites finds: not entities. All other slots name something that belongs to one split.
SHARED_SLOTS = {"department", "attribute", "tab", "colour", "quantity", "travel_class"}


def paths(split: str) -> list[Path]:
    """The files of a split; IL has several."""
    names = ("IL", "IL-2", *(f"voyage/{number}" for number in range(1, 7))) if split == "IL" else (split,)
    return [TASKS / f"{name}.jsonl" for name in names]


@pytest.fixture(scope="module")
def files() -> dict[str, list[Task]]:
    return {split: [task for path in paths(split) for task in read_tasks(path)] for split in SPLITS}


def entities(tasks: list[Task]) -> set[str]:
    """All that the tasks name or expect to find."""
    named = set()
    for task in tasks:
        slots = parse(task.ques).slots
        named |= {value for slot, value in slots.items() if slot not in SHARED_SLOTS}
        named |= {task.eval.get("reference_answers", {}).get("exact_match", "")} - {""}
    return named


def phrases(text: str) -> set[str]:
    """All runs of one to three words in a text, in lower case."""
    words = re.findall(r"\w+", text.lower())
    return {" ".join(words[start : start + size]) for size in (1, 2, 3) for start in range(len(words))}


def test_the_files_are_made_again_byte_for_byte(tmp_path):
    main(Config(output_dir=tmp_path))
    made = {path.relative_to(tmp_path): path.read_bytes() for path in tmp_path.rglob("*.jsonl")}
    assert made == {path.relative_to(TASKS): path.read_bytes() for path in TASKS.rglob("*.jsonl")}


def test_sizes_and_ids(files):
    assert {split: len(tasks) for split, tasks in files.items()} == {
        "IL": 525 + 1800,
        "optim-1": 75,
        "optim-2": 75,
        "optim-3": 75,
        "test": 75,
        "test-2": 225,
        "validation": 150,
    }
    assert len(read_tasks(TASKS / "IL.jsonl")) == 300
    ids = [task.id for tasks in files.values() for task in tasks]
    assert len(set(ids)) == len(ids)


def test_no_entity_of_a_split_is_named_in_another(files):
    said = {split: phrases("".join(path.read_text() for path in paths(split))) for split in SPLITS}
    named = {split: {name.lower() for name in entities(files[split])} for split in SPLITS}
    for one, other in itertools.permutations(SPLITS, 2):
        leaked = named[one] & said[other]
        assert not leaked, f"{one} entities in {other}.jsonl: {leaked}"


def test_made_up_words_belong_to_one_split(files):
    words = {split: {word for name in entities(tasks) for word in name.split()} for split, tasks in files.items()}
    for one, other in itertools.combinations(SPLITS, 2):
        shared = {word for word in words[one] & words[other] if re.fullmatch(r"[A-Z][aeiou][a-z][aeiou][bdfgpv]", word)}
        assert not shared


def test_every_split_has_every_family_in_every_wording(files):
    for tasks in files.values():
        used = Counter((parse(task.ques).family, _wording(task)) for task in tasks)
        assert set(used) == {(family, number) for family, known in WORDINGS.items() for number in range(len(known))}


def test_an_instruction_is_understood_in_one_way_only(files):
    for task in itertools.chain.from_iterable(files.values()):
        assert task.id.startswith(parse(task.ques).family)


def test_names_can_be_copied(files):
    """Short, plain ASCII, without quotes: the policy writes them token by token."""
    for tasks in files.values():
        for name in entities(tasks):
            assert re.fullmatch(r"[A-Za-z0-9 ]{3,24}", name) and len(name.split()) <= 3


def _wording(task: Task) -> int:
    """The number of the wording an instruction is in."""
    instruction = parse(task.ques)
    rendered = [wording.format(**instruction.slots) for wording in WORDINGS[instruction.family]]
    assert task.ques.removesuffix(instruction.phrase + ".") in OPENERS
    return rendered.index(instruction.phrase)
