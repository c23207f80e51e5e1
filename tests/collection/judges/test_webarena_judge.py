"""WebArena's evaluators: each kind of reference, alternatives, and what it refuses to run."""

import json

import pytest

from collection.config.judging import JudgeFlags
from collection.judges.named import make_judge
from collection.judges.verdicts.comparing import includes
from collection.judges.webarena import WebArenaJudge
from common.errors import UserError
from data.outcome import Verdict
from data.task import Task
from data.trajectory import FINISHED, TrajectoryStep
from data.trajectory_writer import TrajectoryWriter
from tests.collection.endpoints import serving

WEB = "http://shop.test:7770/"


def record(folder, task, answer="", url=WEB):
    writer = TrajectoryWriter(folder / f"task{task.id}", task, {}, "")
    writer.write_observation(1, "[1] RootWebArea 'x'", None, b"png")
    writer.add_step(TrajectoryStep(1, url, f"Thought: t\n\nAction: ANSWER; {answer}"), "[1] RootWebArea 'x'")
    writer.finish(FINISHED, answer=answer)
    return writer.folder


def task_of(**ground_truth):
    return Task("wa--1", "How many orders?", WEB, eval=ground_truth)


@pytest.mark.parametrize(
    ("reference", "answer", "right"),
    [
        ({"exact_match": "Yes"}, "'yes'", True),
        ({"exact_match": "Yes"}, "Yes, it is", False),
        ({"must_include": ["3 Pack", "Oil"]}, "the oil, a 3 pack", True),
        ({"must_include": ["3 Pack", "Oil"]}, "the oil", False),
        ({"must_include": ["1 day |OR| one day"]}, "In one day.", True),
        ({"must_include": ["0"]}, "10 orders", False),
        ({"must_include": ["0"]}, "0 orders", True),
        ({"must_include": ["0"]}, "0.5", False),
        ({"must_include": ["2"]}, "There are 2.", True),
        ({"fuzzy_match": ["6h 23min"]}, "6h 23min", True),
        ({"fuzzy_match": "N/A"}, "N/A", True),
    ],
)
def test_answers_without_a_model(tmp_path, reference, answer, right):
    task = task_of(eval_types=["string_match"], reference_answers=reference)
    assert WebArenaJudge()(task, record(tmp_path, task, answer)).success is right


def test_fuzzy_answers_are_graded_by_a_model(tmp_path):
    fuzzy = task_of(eval_types=["string_match"], reference_answers={"fuzzy_match": ["red shirt"]})
    unachievable = task_of(
        eval_types=["string_match"], reference_answers={"fuzzy_match": "N/A"}, string_note="no such product"
    )
    with pytest.raises(UserError, match="a model must judge"):
        make_judge(JudgeFlags(judge="webarena"), tmp_path, [fuzzy])
    with serving() as endpoint:
        flags = JudgeFlags(judge="webarena", api_eval_model="judge", eval_api_base=endpoint.url)
        judge, _ = make_judge(flags, tmp_path, [fuzzy, unachievable])
        assert judge(fuzzy, record(tmp_path / "a", fuzzy, "a shirt, red")).success
        assert not judge(fuzzy, record(tmp_path / "b", fuzzy, "a red hat")).success
        assert not judge(fuzzy, record(tmp_path / "c", fuzzy, "")).success
        assert judge(unachievable, record(tmp_path / "d", unachievable, "It cannot be had")).success
        assert not judge(unachievable, record(tmp_path / "e", unachievable, "It costs 5")).success


@pytest.mark.parametrize(
    ("reference", "url", "right"),
    [
        ("http://shop.test:7770/cart", "http://shop.test:7770/cart/", True),
        ("http://shop.test:7770/cart", "http://shop.test:7770/", False),
        ("http://a.test/x |OR| http://shop.test:7770/y", "http://shop.test:7770/y/z", True),
        ("http://shop.test:7770/s?q=oil", "http://shop.test:7770/s?page=2&q=oil", True),
        ("http://shop.test:7770/s?q=oil", "http://shop.test:7770/s?q=salt", False),
        ("http://shop.test:7770/s?q=oil |OR| http://shop.test:7770/s?q=fat", "http://shop.test:7770/s?q=fat", True),
    ],
)
def test_addresses(tmp_path, reference, url, right):
    task = task_of(eval_types=["url_match"], reference_url=reference, url_note="GOLD in PRED")
    assert WebArenaJudge()(task, record(tmp_path, task, url=url)).success is right


def test_pages_are_read_from_the_folder(tmp_path):
    targets = [
        {"url": "last", "locator": "", "required_contents": {"must_include": ["thank you |OR| thanks", "42"]}},
        {"url": WEB, "locator": "document.title", "required_contents": {"exact_match": "Orders & more"}},
    ]
    task = task_of(eval_types=["program_html"], program_html=targets)
    folder = record(tmp_path, task)
    with pytest.raises(ValueError, match="were not kept"):
        WebArenaJudge()(task, folder)
    for contents, right in (
        (["Thanks! No 42", "orders &amp; more"], True),
        (["Thanks! No 41", "Orders & more"], False),
        (["Thank you, 42", ""], False),
    ):
        (folder / "final_pages.json").write_text(json.dumps(contents))
        assert WebArenaJudge()(task, folder).success is right


def test_all_kinds_must_hold_and_unknown_ones_are_named(tmp_path):
    both = {"eval_types": ["string_match", "url_match"], "reference_answers": {"must_include": ["7"]}}
    task = task_of(**both, reference_url="http://shop.test:7770/cart")
    outcome = WebArenaJudge()(task, record(tmp_path, task, "7"))
    assert outcome.verdict is Verdict.FAILURE and outcome.reason.startswith("ended on")
    with pytest.raises(UserError, match="no evaluator 'python'"):
        WebArenaJudge()(task_of(eval_types=["python"]), tmp_path)


@pytest.mark.parametrize(
    ("reference", "answer", "whole", "published"),
    [
        ("0", "It costs $0.00", True, False),
        ("0", "there are 10", False, False),
        ("7", "7.0 stars", True, False),
        ("31", "in 1931", False, True),
        ("31", "$31.50", False, True),
        ("1,250", "1250 kg", True, False),
        ("42", "number 0042.", True, True),
        ("no", "nothing was found", False, True),
        ("lamp", "two lamps", True, True),
        ("lamp", "a headlamp", False, True),
        ("$3.20", "it is $3.205", False, True),
        ("crème", "la crème brûlée", True, True),
        ("价格", "这个价格是", True, True),
    ],
)
def test_words_and_numbers_as_wholes_or_as_published(reference, answer, whole, published):
    assert includes(answer, reference, True) is whole
    assert includes(answer, reference, True, "published") is published


@pytest.mark.parametrize(
    ("reference", "url", "whole", "published"),
    [
        ("http://a.test/cart", "http://A.TEST/cart", True, False),
        ("https://a.test:443/cart", "https://a.test/cart", True, False),
        ("http://a.test/cart", "http://a.test:8080/cart", False, False),
        ("http://a.test/na%c3%afve", "http://a.test/naïve", True, False),
        ("http://a.test/%7Eann", "http://a.test/~ann", True, False),
        ("http://bücher.test/", "http://xn--bcher-kva.test/x", True, False),
        ("http://a.test/x", "http://ann:secret@a.test/x#end", True, True),
        ("http://a.test./x", "http://a.test/x", True, False),
        ("http://a.test/x", "http://a.test/y/../x", True, False),
        ("http://a.test/cart", "http://a.test/cartoons", False, True),
        ("http://a.test/cart", "http://evil.test/http://a.test/cart", False, True),
        ("http://a.test/s?q=wool+hat", "http://a.test/s/?page=1&q=wool%20hat", True, True),
        ("http://a.test/x", "http://a.test:99999999/x", False, False),
    ],
)
def test_addresses_as_browsers_write_them_or_as_published(tmp_path, reference, url, whole, published):
    task = task_of(eval_types=["url_match"], reference_url=reference)
    folder = record(tmp_path, task, url=url)
    assert WebArenaJudge()(task, folder).success is whole
    assert WebArenaJudge(rules="published")(task, folder).success is published


def test_a_flag_asks_for_the_published_rules(tmp_path):
    judge, _ = make_judge(JudgeFlags(judge="webarena", eval_rules="published"), tmp_path, [task_of(eval_types=["x"])])
    assert judge.rules == "published"
