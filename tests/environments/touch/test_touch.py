"""The phone: what its pages do, its tasks and their ground truth, and the expert, all without a browser."""

import asyncio
import json

import pytest

from common.errors import UserError
from data.action_spaces.appagent import SPACE
from data.actions.action import Answer
from environments.ground_truth import find_fault
from environments.touch import gestures
from environments.touch.expert.expert import reply
from environments.touch.families import FAMILIES
from environments.touch.families.family import SPLITS
from environments.touch.make_tasks import Config, make_tasks
from environments.touch.phone import build, changes
from environments.touch.world import World
from tests.environments.paper_phone import PaperPhone

MAX_STEPS = 24


@pytest.fixture(scope="module")
def client():
    return PaperPhone.client()


def solve(client, task) -> tuple[str, dict, int]:
    """What the expert answers, the phone's state, and its steps."""
    phone = PaperPhone(client, int(task.id.rpartition("--")[2]))
    messages = [{"role": "system", "content": SPACE.prompt()}]
    for step in range(1, MAX_STEPS + 1):
        task_text = f"Now given a task: {task.ques}  Please interact with {task.web} and get the answer. \n" * (
            step == 1
        )
        messages.append({"role": "user", "content": task_text + phone.tree})
        messages.append({"role": "assistant", "content": reply(messages)})
        [action] = SPACE.parse(messages[-1]["content"]).actions
        if isinstance(action, Answer):
            return action.content, phone.state(), step
        phone.act(action)
    raise AssertionError(f"{task.ques}: {messages[-2:]}")


@pytest.mark.parametrize("name", FAMILIES)
def test_the_expert_solves_every_family(name, client):
    task = FAMILIES[name].task(200_000)
    said, state, steps = solve(client, task)
    assert find_fault(task, said, state) == ""
    assert steps <= {1: 7, 2: 12, 3: 20}[FAMILIES[name].level]


@pytest.mark.parametrize("name", FAMILIES)
def test_what_was_not_done_or_more_than_was_asked_for_fails(name):
    """An untouched phone solves nothing but questions, and a further change spoils everything."""
    family = FAMILIES[name]
    task, phone = family.task(7), build(7)
    slots = family.slots(task.ques)
    right = "" if family.say is None else family.say(phone, slots)
    after = phone.copy()
    if family.do is not None:
        family.do(after, slots)
        assert find_fault(task, right, {"changes": []})
    assert find_fault(task, right, {"changes": changes(phone, after)}) == ""
    if family.say is not None:
        assert find_fault(task, "I do not know", {"changes": changes(phone, after)})
    after.notes["one more"] = "x"
    assert find_fault(task, right, {"changes": changes(phone, after)})


def test_tasks_repeat_and_are_worded_in_one_way_only():
    tasks = make_tasks("validation", 1)
    assert tasks == make_tasks("validation", 1) and len(tasks) == len(FAMILIES)
    assert len({task.id for task in tasks}) == len({task.web for task in tasks}) == len(tasks)
    for task in tasks:
        [found] = [name for name, family in FAMILIES.items() if family.slots(task.ques)]
        assert task.id.startswith(f"touch.{found}--") and json.loads(json.dumps(task.to_json())) == task.to_json()
    assert {task.domain for task in tasks} == {"level-1", "level-2", "level-3"}


def test_splits_share_no_phone_and_no_product():
    products = {split: set() for split in SPLITS}
    for split, (first_seed, _) in SPLITS.items():
        for number in range(4):
            task = FAMILIES["shop-buy"].task(first_seed + number)
            products[split] |= set(FAMILIES["shop-buy"].slots(task.ques).values())
    assert all(products.values())
    assert not products["train"] & products["test"] and not products["train"] & products["validation"]
    with pytest.raises(UserError, match="no tasks 'clock-sing'"):
        asyncio.run(World(env_tasks=("clock-sing",)).tasks())
    with pytest.raises(UserError, match="--env_seeds -1"):
        asyncio.run(World(env_seeds=(0, -1)).tasks())
    with pytest.raises(UserError, match="train_seeds"):  # its phones would be those of validation.jsonl
        Config(train_seeds=2778)
    assert len(asyncio.run(World(env_tasks=("clock-add",), env_seeds=(1, 2)).tasks())) == 2


def test_a_phone_belongs_to_one_visitor_and_begins_anew(client):
    assert build(3) == build(3) != build(4)
    client.get("/start/5")
    name = next(iter(build(5).contacts))
    client.post(f"/contacts/delete/{name}")
    assert client.get("/_elcano/state").json() == {
        "seed": 5,
        "changes": [{"app": "contacts", "what": name, "now": None}],
    }
    assert PaperPhone.client().get("/_elcano/state").json()["changes"] == []
    client.get("/start/5")
    assert client.get("/_elcano/state").json()["changes"] == []


def test_nonsense_changes_nothing(client):
    client.get("/start/1")
    for address, fields in (
        ("/settings/choose/Font size/Huge", {}),
        ("/settings/switch/Font size", {"on": "true"}),
        ("/clock/save", {"hour": "25", "minute": ":00"}),
        ("/clock/switch/99:99", {"on": "true"}),
        ("/contacts/save", {"name": " "}),
        ("/contacts/star/Nobody", {"on": "true"}),
        ("/calendar/save", {"title": "x", "day": "Someday", "time": "10:00"}),
        ("/mail/move/Nothing/Trash", {}),
        ("/shop/add/Nothing", {"colour": "red", "quantity": "1"}),
    ):
        assert client.post(address, data=fields).status_code == 200
    assert client.get("/_elcano/state").json()["changes"] == []
    for address in ("/contacts/person/Nobody", "/notes/note/None", "/shop/category/None", "/mail/mail/None"):
        assert client.get(address).status_code == 200


@pytest.mark.parametrize("gesture", [gestures.swipe, gestures.long_press])
def test_a_gesture_that_is_cut_off_leaves_no_finger_on_the_screen(gesture) -> None:
    sent = []

    class Page:
        async def send_all(self, requests, timeout_s):
            sent.extend(params["type"] for _, params in requests)

    places = ((5, 5), (5, 500), 60.0) if gesture is gestures.swipe else ((5, 5),)

    async def go() -> None:
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.1):
                await gesture(Page(), *places)

    asyncio.run(go())
    assert sent[0] == "touchStart" and sent[-1] == "touchCancel" and sent.count("touchCancel") == 1
