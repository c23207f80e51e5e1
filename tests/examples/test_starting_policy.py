"""The starting policy: what it was trained on has nothing to do with the embedded sites; what ships is what is said."""

import json
import random
import re
import sys
from pathlib import Path

import pytest

from data.task import read_tasks
from environments.sites.instructions import parse

ROOT = Path(__file__).resolve().parent.parent.parent
FOLDER = ROOT / "examples" / "quickstart" / "starting_policy"
SHIPPED = {FOLDER / "weights": "idefics2", ROOT / "examples" / "tiny_qwen3_vl" / "weights": "qwen3_vl"}
SITE_STRUCTURE = {"department", "attribute", "tab", "colour", "quantity", "travel_class"}  # words of every such site
sys.path.insert(0, str(FOLDER))


@pytest.fixture(scope="module", params=[400, pytest.param(3000, marks=pytest.mark.slow)])
def corpus(request: pytest.FixtureRequest) -> str:
    from corpus import make_example

    rng = random.Random(0)
    return "\n".join(turn for _ in range(request.param) for turn in make_example(rng, max_elements=30).turns).lower()


def test_pretraining_text_shares_no_entity_and_no_instruction_with_the_embedded_tasks(corpus):
    named: dict[str, str] = {}  # by entity, the last file that names it: tasks share them, and the text is long
    for path in (ROOT / "data" / "tasks").glob("*.jsonl"):
        for task in read_tasks(path):
            assert task.ques.lower() not in corpus
            slots = parse(task.ques).slots
            named |= {value.lower(): path.name for slot, value in slots.items() if slot not in SITE_STRUCTURE}
    for entity, file in named.items():
        assert f"'{entity}'" not in corpus, f"{entity!r} of {file} occurs in the pre-training text"


def test_of_its_facts_as_many_stand_in_tables_as_is_asked_for():
    """A value has a cell of its own, beside its name's; the thought says both."""
    from corpus import make_example

    def made(share: float) -> list[list[str]]:
        rng = random.Random(0)
        return [make_example(rng, max_elements=30, share_of_tables=share).turns for _ in range(100)]

    assert not any("rowheader" in turn for turns in made(0) for turn in turns)
    read = [found for turns in made(1) for turn in turns for found in re.findall(r"says '(.+): (.+)'\.\n", turn)]
    pages = "\n".join(turn for turns in made(1) for turn in turns)
    in_tables = [value for name, value in read if f"'{name}:'" in pages and f" '{value}'" in pages]
    assert len(in_tables) > 20 and len(in_tables) > 0.8 * len(read)


def test_a_title_has_marks_around_the_words_that_the_task_names():
    """A page shows a number, a kind or a state around the words that the task and the thought name."""
    from corpus import make_example

    def text(share: float) -> str:
        rng = random.Random(0)
        made = (make_example(rng, max_elements=30, share_of_titles=share) for _ in range(200))
        return "\n".join(turn for example in made for turn in example.turns)

    around = re.compile(r"""I need "([^"]+)"[^']*'#\d+: \w+: ([^']+) \(\w+\)'""")
    assert "#" not in text(0)
    needed_and_clicked = around.findall(text(0.5))
    same = [needed for needed, clicked in needed_and_clicked if needed == clicked]
    assert len(same) > 10 and len(same) > 0.8 * len(needed_and_clicked)


@pytest.mark.parametrize("weights, model_type", SHIPPED.items(), ids=SHIPPED.values())
def test_shipped_weights_are_small_and_of_the_family_that_is_said(weights, model_type):
    assert (weights / "model.safetensors").stat().st_size <= 8_000_000
    assert json.loads((weights / "config.json").read_text())["model_type"] == model_type


@pytest.mark.slow
@pytest.mark.parametrize("weights", SHIPPED, ids=SHIPPED.values())
def test_it_reads_pages(weights):
    """Exact match on fresh synthetic pages, the figure that pretraining.json reports, on a small sample."""
    import torch
    from pretrain import Batches, exact_match, load

    torch.set_num_threads(2)
    model, processor = load(weights)
    batches = Batches(processor, model.config, seed=0)
    assert exact_match(model.eval(), batches, max_elements=24, num_examples=48) > 0.42
