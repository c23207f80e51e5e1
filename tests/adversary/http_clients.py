"""Every client of HTTP that Elcano has, against unruly servers drawn from a seed.

    python -m tests.adversary.http_clients --num_draws 800      # outcomes, the longest waits and the memory

A client ends with an answer, or with one line of an error of its own, and without memory to speak of. Each says how
many of its time-outs it may take, with 10 % more: one for each question that it asks, and two and a half where it asks
again (`common/network/retry.py`), pauses apart, which are none here.
"""

import asyncio
import collections
import json
import os
import random
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import httpx
import tyro

from collection.agent import documents, policy
from collection.agent.chat_policy import ChatPolicy
from collection.agent.documents import DocumentReader
from collection.agent.policy import PolicyError, Sampling
from collection.agent.predict_policy import PredictPolicy
from collection.endpoints import keys
from collection.judges import reward_model
from collection.judges.endpoint.endpoint import Endpoint
from collection.judges.endpoint.faults import JudgeFault
from collection.judges.endpoint.ledger import Budget, Ledger
from collection.judges.endpoint.reply_cache import ReplyCache
from collection.judges.reward_model import RewardModelJudge
from collection.proposers.filters import model_says_feasible
from collection.proposers.sources import from_names
from common.errors import UserError
from common.network import own_services, retry
from common.network.bounded_http import BoundedAsyncClient, BoundedClient
from data.conversation import StepText
from data.task import Task
from environments.faults import PageError
from environments.webarena import magento
from server.cluster import fleet, replicas
from server.cluster.fleet import Fleet, Replica
from server.cluster.replicas import create_router_app
from tests.adversary.unruly_servers import SERVERS, opening
from viewer import serving

ALLOWED = (PolicyError, UserError, JudgeFault, PageError, httpx.HTTPError)
TASK = Task(id="T--1", ques="x", web="http://127.0.0.1/")


@dataclass(frozen=True)
class Outcome:
    """What one client made of one server."""

    client: str
    server: str
    seed: int
    said: str
    seconds: float
    promised_s: float
    is_allowed: bool


async def ask_bare(url: str) -> str:
    def ask() -> httpx.Response:
        with BoundedClient(timeout=policy.REPLY_TIMEOUT_S, trust_env=False, follow_redirects=True) as client:
            return client.get(url)

    return (await asyncio.to_thread(ask)).text


async def ask_predict(url: str) -> str:
    return await _reply(PredictPolicy([f"{url}/predict"], Sampling()))


async def ask_chat(url: str) -> str:
    return await _reply(ChatPolicy("m", "none", f"{url}/v1", Sampling()))


async def ask_trained_chat(url: str) -> str:
    return await _reply(ChatPolicy("m", "none", f"{url}/v1", Sampling(prompt="trained")))


async def _reply(asked: PredictPolicy | ChatPolicy) -> str:
    try:
        return (await asked.reply(TASK, "taskT--1", [StepText("[1] link")], {1: ""}, None)).text
    finally:
        await asked.close()


async def ask_judge(url: str) -> str:
    with tempfile.TemporaryDirectory() as folder:
        messages = [{"role": "user", "content": "x"}]
        ask = _endpoint(url, Path(folder)).ask
        return (await asyncio.to_thread(ask, messages, lambda text: text or None)).text


def _endpoint(url: str, folder: Path) -> Endpoint:
    ledger = Ledger(folder / "costs.jsonl", Budget())
    return Endpoint("m", "none", f"{url}/v1", ReplyCache(folder), ledger, policy.REPLY_TIMEOUT_S)


async def ask_reward_model(url: str) -> str:
    return str(await asyncio.to_thread(RewardModelJudge(f"{url}/score").probability, "T", "x", []))


async def ask_reader(url: str) -> str:
    return await DocumentReader("m", "none", f"{url}/v1")._ask("text", "question")


async def ask_health(url: str) -> str:
    return str(await asyncio.to_thread(keys.is_own_server, url))


async def ask_shop(url: str) -> str:
    os.environ |= {magento.ADDRESS: url, magento.LOGIN: "a:b"}
    return await magento.latest_order_url()


@dataclass(frozen=True)
class _Running:
    url: str = ""

    def poll(self) -> None:
        return None

    def address(self) -> str:
        return self.url

    def kill(self) -> None:
        """It is none of ours."""


async def ask_router(url: str) -> str:
    """What the router of replicas says of one that is unruly."""
    replica = Replica([], process=_Running(), url=url)
    app = create_router_app(Fleet([replica], Path()), lambda: None, 1, 0.0)
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://router") as client:
        said = await client.post("/predict", json={}, timeout=60)
        health = await client.get("/health", timeout=60)
    return f"{said.status_code} {len(said.content)}, health {health.status_code}"


async def ask_before_a_run(url: str) -> str:
    """Whether a policy answers, before anything is collected, in both protocols."""
    policies = (PredictPolicy([f"{url}/predict"], Sampling()), ChatPolicy("m", "none", f"{url}/v1", Sampling()))
    for asked in policies:
        try:
            await asked.check()
        finally:
            await asked.close()
    return "answers"


async def ask_proposer(url: str) -> str:
    """New tasks, and whether they are feasible."""
    with tempfile.TemporaryDirectory() as folder:
        endpoint = _endpoint(url, Path(folder))
        [site] = from_names({"Shop": "http://shop.test/"})

        def ask() -> list[bool]:
            found = site.ask(endpoint, 2, random.Random(0), 1.0, collections.Counter())
            return [model_says_feasible(endpoint, Task("T--1", ques, site.web)) for ques in (*found, "x")]

        return str(await asyncio.to_thread(ask))


async def ask_service(url: str) -> str:
    """As executors wait for one of ours."""
    return str(await asyncio.to_thread(own_services.is_up, f"{url}/health", policy.REPLY_TIMEOUT_S))


async def ask_for_the_viewer(url: str) -> str:
    return str(await asyncio.to_thread(serving.servers, [f"{url}/predict"]))


async def ask_fleet(url: str) -> str:
    """A replica, as its fleet looks after it, and waits for one that begins."""
    replica = Replica([], process=_Running(url), url=url)
    async with BoundedAsyncClient(timeout=policy.REPLY_TIMEOUT_S, trust_env=False) as client:
        await Fleet([replica], Path())._examine(replica, client)
    return str(await asyncio.to_thread(replica.wait_ready))


AGAIN = 2.5
CLIENTS = {
    ask_bare: 1, ask_predict: AGAIN, ask_chat: AGAIN, ask_trained_chat: AGAIN, ask_before_a_run: 2,
    ask_judge: AGAIN, ask_proposer: 2 * AGAIN, ask_reward_model: AGAIN, ask_reader: 1, ask_health: 1, ask_shop: 1,
    ask_router: 2, ask_fleet: 2, ask_service: 1, ask_for_the_viewer: 1,
}  # fmt: skip
SPARE_S = 2.0
"""For this machine, which does other things."""


def try_one(client: Callable[[str], Awaitable[str]], server: str, seed: int, url: str, timeout_s: float) -> Outcome:
    """One client against one server, once more where it took too long: the machine may have done something else."""
    for _ in range(3):
        found = _try_once(client, server, seed, url, timeout_s)
        if found.is_allowed or found.seconds < found.promised_s + SPARE_S:
            break
    return found


def _try_once(client: Callable[[str], Awaitable[str]], server: str, seed: int, url: str, timeout_s: float) -> Outcome:
    begin = time.monotonic()
    try:
        said, is_allowed = f"answer: {asyncio.run(client(url))[:80]!r}", True
    except Exception as error:
        said, is_allowed = f"{type(error).__name__}: {error}", isinstance(error, ALLOWED)
    seconds = time.monotonic() - begin
    promised_s = 1.1 * CLIENTS[client] * timeout_s
    is_kept = "\n" not in said and len(said) < 600 and seconds < promised_s + SPARE_S
    return Outcome(client.__name__, server, seed, said, seconds, promised_s, is_allowed and is_kept)


def hurry(timeout_s: float) -> None:
    """Every client has this time-out, and its pauses are none."""
    policy.REPLY_TIMEOUT_S = policy.CHECK_TIMEOUT_S = documents.ANSWER_TIMEOUT_S = reward_model.TIMEOUT_S = (
        magento.TIMEOUT_S
    ) = timeout_s
    keys._ASKING_TIMEOUT_S = replicas._PATIENCE_S = replicas._HEALTH_S = fleet._HEALTH_S = timeout_s
    serving._TIMEOUT_S = timeout_s
    retry.FIRST_PAUSE_S, retry.LONGEST_PAUSE_S = 0.001, 0.01


def peak_mib() -> float:
    """Of this process's memory since `forget_peak`."""
    return int(Path("/proc/self/status").read_text().split("VmHWM:")[1].split()[0]) / 1024


def forget_peak() -> None:
    Path("/proc/self/clear_refs").write_text("5")


def run(num_draws: int, seed: int, timeout_s: float) -> dict[str, Any]:
    """Outcomes of drawn pairs, and how many MiB above rest this process had at its most."""
    hurry(timeout_s)
    rng = random.Random(seed)
    pairs = [(client, server.__name__) for client in CLIENTS for server in SERVERS]
    rng.shuffle(pairs)
    outcomes, most_mib = [], {}
    with opening() as open_one:
        for number in range(num_draws):
            (client, server), drawn = pairs[number % len(pairs)], rng.randrange(2**31)
            forget_peak()
            rest_mib = peak_mib()
            outcomes.append(try_one(client, server, drawn, open_one(server, drawn), timeout_s))
            most_mib[number] = peak_mib() - rest_mib
    most = max(most_mib, key=most_mib.get)
    return {
        "outcomes": [asdict(outcome) for outcome in outcomes],
        "most_mib": most_mib[most],
        "most_mib_by": asdict(outcomes[most]),
    }


def main(num_draws: int = 800, seed: int = 0, timeout_s: float = 1.0, json_file: Path | None = None) -> int:
    """Print what came out; the exit code says whether all was allowed."""
    found = run(num_draws, seed, timeout_s)
    if json_file:
        json_file.write_text(json.dumps(found))
    outcomes = [Outcome(**outcome) for outcome in found["outcomes"]]
    for server in SERVERS:
        mine = [outcome for outcome in outcomes if outcome.server == server.__name__]
        if mine:
            worst = max(mine, key=lambda outcome: outcome.seconds)
            kinds = collections.Counter(outcome.said.split(":")[0] for outcome in mine)
            print(f"{server.__name__:16} {len(mine):4}  {worst.seconds:6.2f} s ({worst.client})  {dict(kinds)}")
    print(f"most memory above rest: {found['most_mib']:.0f} MiB ({found['most_mib_by']})")
    wrong = [outcome for outcome in outcomes if not outcome.is_allowed]
    for outcome in wrong[:20]:
        print("NOT ALLOWED", outcome)
    print(f"{len(wrong)} of {len(outcomes)} not allowed")
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(tyro.cli(main))
