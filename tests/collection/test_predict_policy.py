"""Several model servers behind one policy."""

import asyncio

import pytest

from collection.agent.policy import Sampling
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


def test_an_address_without_its_path_is_told_from_a_failing_policy() -> None:
    with (
        answering(lambda _: (404, None)) as url,
        pytest.raises(UserError, match="a server of ours answers at /predict"),
    ):
        ask([url], ["taskT--1"])
