"""The teacher: what it says on a page, what it must not know, and that it solves the tasks through the collector."""

import ast
import json
import re
import subprocess
import sys
from pathlib import Path

import openai
import pytest

from data.actions.action import Answer, Click, Type, Wait, parse_reply
from data.conversation import StepText, build_chat
from data.task import read_tasks
from environments.sites.expert.expert import reply
from environments.sites.expert.plans import _PLANS
from environments.sites.expert.reading import NotUnderstoodError
from environments.sites.instructions import LOOKING_WORDINGS, WORDINGS

ROOT = Path(__file__).resolve().parents[3]
SEARCH = "\t[2] link 'Cargo'\n\t[3] searchbox 'Search products'\n"
HOME = f"[1] RootWebArea 'Welcome - Cargo' focused: True\n{SEARCH}\t[4] link 'Garden'"
RESULTS = f"[1] RootWebArea 'Search results - Cargo'\n{SEARCH}\t[4] link 'Mabib Wren'\n\t[5] link 'Velod Wren'"
PRODUCT = (
    f"[1] RootWebArea 'Velod Wren - Cargo'\n{SEARCH}\t[4] StaticText 'Price: 24.50 EUR'\n\t[5] button 'Add to cart'"
)
OPTIONS = (
    f"[1] RootWebArea 'Velod Wren - Cargo'\n{SEARCH}\t[4] combobox 'Colour' hasPopup: menu\n"
    "\t\t[5] option 'red' selected: {red}\n\t\t[6] option 'blue' selected: {blue}\n"
    "\t[7] combobox 'Quantity'\n\t\t[8] option '1' selected: False\n\t\t[9] option '2' selected: True\n"
    "\t[10] button 'Add to cart'"
)
TABS = (
    "[1] RootWebArea 'Velod - Almanac'\n\t[2] searchbox 'Search articles'\n"
    "\t[3] tab 'Statistics' selected: {}\n\t[4] {}"
)
PRICE = 'Please find the price of "Velod Wren".'
OPTION = 'order "Velod Wren" in "blue", "2" pieces, into the cart.'
TAB = 'look up "Velod" and from its tab "Statistics" report the "Rainfall".'


def ask(ques: str, *trees: str) -> str:
    """The teacher's reply on the last of these pages."""
    steps = [StepText(tree, reply="Thought: x\n\nAction: Wait") for tree in trees[:-1]] + [StepText(trees[-1])]
    return reply(build_chat("You are a robot.", ques, "http://shop.localhost:7070/", steps, last_n=1))


@pytest.mark.parametrize(
    ("ques", "tree", "action"),
    [
        (PRICE, HOME, Type(3, "Velod Wren")),
        (PRICE, RESULTS, Click(5)),
        (PRICE, PRODUCT, Answer("24.50 EUR")),
        (OPTION, OPTIONS.format(red=True, blue=False), Type(4, "blue")),
        (OPTION, OPTIONS.format(red=False, blue=True), Click(10)),
        (TAB, TABS.format(False, "StaticText 'Area: 3 km'"), Click(3)),
        (TAB, TABS.format(True, "StaticText 'Loading'"), Wait()),
        (TAB, TABS.format(True, "StaticText 'Rainfall: 3 mm'"), Answer("3 mm")),
        (PRICE, "[1] RootWebArea 'Your cart - Cargo'\n\t[2] link 'Cargo'", Click(2)),
    ],
)
def test_the_page_decides_the_next_step(ques, tree, action):
    assert parse_reply(ask(ques, HOME, tree)).action == action


def test_thoughts_name_the_aim_then_the_page_then_the_goal_then_the_element():
    need = 'I need "Velod Wren", "Price". '
    assert ask(PRICE, HOME) == (
        f"Thought: I am on 'Welcome'. {need}I should type 'Velod Wren' into 'Search products'.\n\n"
        "Action: Type [3]; Velod Wren"
    )
    assert (
        ask(PRICE, RESULTS)
        == f"Thought: I am on 'Search results'. {need}I should click 'Velod Wren'.\n\nAction: Click [5]"
    )
    assert ask(PRICE, PRODUCT) == (
        "Thought: I am on 'Velod Wren'. I need \"Price\". The page says 'Price: 24.50 EUR'.\n\n"
        "Action: ANSWER; 24.50 EUR"
    )


def test_turning_the_page_keeps_the_goal():
    category = "[1] RootWebArea 'Lamps - Cargo'\n\t[2] link 'Mabib Wren'\n\t[3] link 'Next page'"
    ques = 'go to "Home", then "Lamps", open "Velod Wren" and report the "Size".'
    assert 'I need "Velod Wren", "Size". I should click \'Next page\'.' in ask(ques, category)


def test_an_escaped_name_is_read_as_it_is():
    tree = HOME.replace("link 'Garden'", r"""link "it's" """) + "\n\t[5] link 'Velod Wren'"
    assert parse_reply(ask(PRICE, tree)).action == Click(5)


@pytest.mark.parametrize(
    ("ques", "tree", "complaint"),
    [
        ("Book me a flight to Rome.", HOME, "knows only the embedded sites' tasks"),
        (PRICE, "nothing here", "no accessibility tree"),
        (PRICE, "[1] RootWebArea ''", "nothing on the page leads on"),
    ],
)
def test_it_says_so_when_it_does_not_understand(ques, tree, complaint):
    with pytest.raises(NotUnderstoodError, match=complaint):
        ask(ques, tree)


def test_it_has_a_plan_for_every_family():
    assert set(_PLANS) == set(WORDINGS)


def test_it_knows_instructions_but_neither_the_sites_nor_the_truth():
    imported = set()
    for path in (ROOT / "environments" / "sites" / "expert").glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            names = [node.module] if isinstance(node, ast.ImportFrom) else []
            imported |= {alias.name for alias in node.names} if isinstance(node, ast.Import) else set(names)
    own = "environments.sites.expert."
    known = {name for name in imported if name.startswith("environments.") and not name.startswith(own)}
    assert known == {
        "environments.sites.instructions",
        "environments.expert_server",
    }  # the latter: how any expert is served


@pytest.fixture
def services(spawn) -> dict[str, int]:
    """Ports of running sites and teacher."""
    commands = {"sites": ("-m", "environments.sites"), "teacher": ("environments/sites/expert/server.py",)}
    children = {
        name: spawn(*command, "--port", 0, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        for name, command in commands.items()
    }
    return {name: int(re.search(r":(\d+)/", child.stdout.readline())[1]) for name, child in children.items()}


def test_it_speaks_the_openai_protocol(services):
    client = openai.OpenAI(base_url=f"http://127.0.0.1:{services['teacher']}/v1", api_key="none", max_retries=0)
    assert [model.id for model in client.models.list()] == ["teacher"]
    steps = [StepText(HOME)]
    messages = build_chat("", PRICE, "http://shop.localhost:7070/", steps)
    messages[-1]["content"][1] = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}
    answer = client.chat.completions.create(model="teacher", messages=messages, temperature=0)
    assert parse_reply(answer.choices[0].message.content).action == Type(3, "Velod Wren")
    assert answer.usage.total_tokens == answer.usage.prompt_tokens + answer.usage.completion_tokens > 0
    for wrong in ([], [{"role": "user"}], [{"role": "user", "content": "hello"}]):
        with pytest.raises(openai.BadRequestError):
            client.chat.completions.create(model="teacher", messages=wrong)


def test_it_solves_a_task_of_every_family_through_the_collector(services, tmp_path):
    files = [ROOT / "data" / "tasks" / "test.jsonl", ROOT / "data" / "tasks" / "looking" / "test.jsonl"]
    tasks = [task for file in files for task in read_tasks(file) if task.id.endswith("--003")]
    assert len(tasks) == len(WORDINGS) + len(LOOKING_WORDINGS)
    chosen = tmp_path / "tasks.jsonl"
    chosen.write_text("".join(json.dumps(task.to_json()) + "\n" for task in tasks))
    results = tmp_path / "results"
    command = [sys.executable, "collection/run.py", "--test_file", chosen, "--output_dir", results, "--headless"]
    command += ["--api_base", f"http://127.0.0.1:{services['teacher']}/v1", "--api_model", "teacher"]
    command += ["--sites_port", services["sites"], "--judge", "oracle", "--max_iter", 8, "--num_sessions", 4]
    finished = subprocess.run([str(word) for word in command], cwd=ROOT, capture_output=True, text=True, timeout=200)
    assert finished.returncode == 0, finished.stderr
    for task in tasks:
        folder = results / f"task{task.id}"
        assert json.loads((folder / "outcome.json").read_text())["verdict"] == "success", task.id
        trees = [path.read_text() for path in folder.glob("accessibility_tree*.txt")]
        assert 2 <= len(trees) <= 6
        assert max(len(tree.splitlines()) for tree in trees) <= 36, f"{task.id}: a page is too long for a tiny policy"
