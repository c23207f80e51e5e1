"""Several model servers behind one policy."""

import asyncio
import contextlib

import pytest

from collection.agent.chat_policy import ChatPolicy
from collection.agent.policy import PolicyError, Sampling, ServerDeadError
from collection.agent.predict_policy import PredictPolicy
from common.errors import UserError
from data.conversation import StepText
from data.task import Task
from tests.answering import answering
from tests.environments import website


def ask(urls: list[str], folders: list[str]) -> list[str]:
    """The first reply of each trajectory."""
    policy = PredictPolicy(urls, Sampling())
    task = Task(id="T--1", ques="ANSWER; x", web="http://127.0.0.1/")

    async def run() -> list[str]:
        asked = [policy.reply(task, folder, [StepText("[1] link")], {1: ""}, None) for folder in folders]
        replies = await asyncio.gather(*asked)
        await policy.close()
        return [reply.text for reply in replies]

    return asyncio.run(run())


def test_a_trajectory_stays_with_its_server_until_that_fails() -> None:
    servers = [website.start() for _ in range(2)]
    urls = [f"http://127.0.0.1:{server.server_address[1]}/predict" for server in servers]
    folders = [f"taskT--{number}" for number in range(12)]
    ask(urls, folders * 2)
    asked = [[request["id"] for request in server.requests] for server in servers]
    assert set(asked[0]).isdisjoint(asked[1]) and all(asked)
    assert sorted(asked[0] + asked[1]) == sorted(folders * 2)

    website.stop(servers[0])
    assert all("ANSWER; x" in reply for reply in ask(urls, folders))
    website.stop(servers[1])


@pytest.mark.parametrize("status", [404, 405, 501])
def test_an_address_without_its_path_is_told_from_a_failing_policy(status: int) -> None:
    with (
        answering(lambda _: (status, None)) as url,
        pytest.raises(UserError, match="a server of ours answers at /predict"),
    ):
        ask([url], ["taskT--1"])


@pytest.mark.parametrize(("web", "num_asked"), [("http://long.example/", 6), ("http://127.0.0.1/", 3)])
def test_refused_requests_of_one_website_are_no_dead_server(web: str, num_asked: int) -> None:
    """Pages of a website elsewhere may be too long for the model; that must not end the run of all others."""
    asked = []

    async def run(url: str) -> None:
        policy, task = PredictPolicy([url], Sampling()), Task(id="1", ques="x", web=web)
        with contextlib.suppress(ServerDeadError):
            for number in range(6):
                asked.append(number)
                with pytest.raises(PolicyError, match="too long"):
                    await policy.reply(task, "task1", [StepText("[1] link")], {1: ""}, None)
        await policy.close()

    with answering(lambda _: (400, "too long")) as url:
        asyncio.run(run(url))
    assert len(asked) == num_asked


def test_a_website_is_no_policy_and_its_page_is_cut() -> None:
    page = b"<html><style>p {color: red}</style><title>Harbour</title>" + b"<p>Welcome</p>\n" * 500
    with answering(lambda _: (200, page)) as address:
        with pytest.raises(UserError, match=r"is no policy's address \(a web page: Harbour Welcome Welcome") as refused:
            ask([address], ["taskT--1"])
        assert "\n" not in str(refused.value) and len(str(refused.value)) < 350
        policy = ChatPolicy("x", "none", f"{address}/v1", Sampling())
        reply = policy.reply(Task(id="T--1", ques="x", web=address), "taskT--1", [StepText("[1] link")], {1: ""}, None)
        with pytest.raises(UserError, match=r"is no chat endpoint's address: a web page answers .* \(Harbour Welcome"):
            asyncio.run(reply)
