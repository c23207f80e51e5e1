"""A server with a key serves every client of ours, and no key goes where it was not meant to go."""

import asyncio
import dataclasses
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from collection.agent.chat_policy import ChatPolicy
from collection.agent.documents import DocumentReader
from collection.agent.policy import Completion, Policy, Sampling
from collection.agent.predict_policy import PredictPolicy
from collection.campaign.options import make_policy
from collection.config.commands import CollectionConfig
from collection.config.judging import JudgeFlags
from collection.endpoints import keys
from collection.endpoints.keys import endpoint_key, is_openai, minds_proxies, own_server_headers, same_endpoint
from collection.judges.endpoint.endpoint import Endpoint
from collection.judges.endpoint.ledger import Budget, Ledger
from collection.judges.endpoint.reply_cache import ReplyCache
from collection.judges.named import make_judge
from collection.judges.reward_model import RewardModelJudge
from common.errors import UserError
from data.conversation import StepText
from data.task import Task
from elcano.executors.local import Executor
from elcano.resources import Resources
from elcano.stages.services import policy_server
from server.config import ServerConfig
from tests.answering import Request, answering
from tests.collection.endpoints import picky
from tests.server.helpers import RunningServer, png, screenshot

KEY = "own-s3cret"
TASK = Task("t", "Find it.", "http://a.localhost/")
NAMES = ("ELCANO_API_KEY", "OPENAI_API_KEY", "EVAL_API_KEY", "ENDPOINT_API_KEY", "OPENAI_BASE_URL")


@pytest.fixture(autouse=True)
def no_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in NAMES:
        monkeypatch.delenv(name, raising=False)


@pytest.fixture(scope="module")
def keyed(start_server: Callable[..., RunningServer], tiny_policy: Path) -> RunningServer:
    return start_server(tiny_policy, "--api_key", KEY, "--temperature", "0", "--max_new_tokens", "4")


def completion_of(policy: Policy) -> Completion:
    async def go() -> Completion:
        try:
            await policy.check()
            steps = [StepText("[1] RootWebArea 'x'")]
            return await policy.reply(TASK, "folder", steps, {1: png(screenshot(1))}, 1)
        finally:
            await policy.close()

    return asyncio.run(go())


def reply_of(policy: Policy) -> str:
    return completion_of(policy).text


def judge_of(url: str, folder: Path, key: str) -> Endpoint:
    ledger = Ledger(folder / "costs.jsonl", Budget(None, None, None))
    return Endpoint("policy", key, url, ReplyCache(folder / "replies"), ledger)


def clients(url: str, folder: Path) -> dict[str, Callable[[], object]]:
    """Every way in which we ask a server, as the commands set it up."""
    base = f"{url}/v1"
    turn = [{"role": "user", "content": "go"}]
    return {
        "/predict": lambda: reply_of(PredictPolicy([f"{url}/predict"], Sampling())),
        "/v1 policy": lambda: reply_of(ChatPolicy("policy", endpoint_key(base), base, Sampling())),
        "/v1 judge, proposer": lambda: judge_of(base, folder, endpoint_key(base)).ask(turn, lambda text: text or "-"),
        "/score": lambda: RewardModelJudge(f"{url}/score").probability("x", "go", []),
    }


def test_every_client_of_ours_is_served(keyed: RunningServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ELCANO_API_KEY", KEY)
    monkeypatch.setenv("OPENAI_API_KEY", "openai-s3cret")
    for name, ask in clients(keyed.url, tmp_path).items():
        assert ask(), name
    reader = DocumentReader("policy", endpoint_key(f"{keyed.url}/v1"), f"{keyed.url}/v1")
    assert isinstance(asyncio.run(reader._ask("text", "question")), str)


def test_without_it_the_refusal_says_which_variable_to_set(keyed: RunningServer, tmp_path: Path) -> None:
    for name, ask in clients(keyed.url, tmp_path).items():
        with pytest.raises(UserError, match="refused the"):
            pytest.fail(f"{name} was answered {ask()}")
    with pytest.raises(UserError, match="ELCANO_API_KEY"):
        reply_of(PredictPolicy([f"{keyed.url}/predict"], Sampling()))


def test_a_collector_without_a_model_name_is_served_and_a_wrong_name_is_said(server: RunningServer) -> None:
    base = f"{server.url}/v1"
    assert reply_of(make_policy(CollectionConfig(api_base=base, temperature=0)))
    with pytest.raises(UserError, match=r"does not know --api_model gpt-4o .* there are .'policy'"):
        reply_of(make_policy(CollectionConfig(api_base=base, api_model="gpt-4o")))
    assert make_policy(CollectionConfig(api_key="k")).model == "gpt-4o"
    assert make_policy(CollectionConfig(api_base="http://127.0.0.1:9/v1")).model == "gpt-4o"


def test_the_log_probabilities_that_are_kept_are_of_the_distribution_sampled(server: RunningServer) -> None:
    """Greedily nothing but the greedy token could be drawn: its log-probability is 0; the model's own is not."""
    trained = make_policy(CollectionConfig(api_base=f"{server.url}/v1", prompt="trained", temperature=0))
    predict = make_policy(CollectionConfig(api_localhost=(f"{server.url}/predict",), temperature=0))
    for policy in (trained, predict):
        completion = completion_of(policy)
        assert completion.token_ids and completion.logprobs == [0.0] * len(completion.token_ids)


def test_all_of_the_sampling_is_known_also_what_the_server_applied_by_itself(server: RunningServer) -> None:
    """The server is started with `--max_new_tokens 24`; the rest are its defaults, unless they are asked for."""
    asked = {"temperature": 0.5, "top_p": 0.9}
    applied = {**asked, "top_k": 50, "min_new_tokens": 3, "seed": 1}
    predict = make_policy(CollectionConfig(api_localhost=(f"{server.url}/predict",), **asked))
    assert completion_of(predict).sampling == {**applied, "max_new_tokens": 24}
    trained = make_policy(CollectionConfig(api_base=f"{server.url}/v1", prompt="trained", max_new_tokens=9, **asked))
    assert completion_of(trained).sampling == {**applied, "max_new_tokens": 9}
    narrow = make_policy(CollectionConfig(api_localhost=(f"{server.url}/predict",), top_k=3))
    assert completion_of(narrow).sampling["top_k"] == 3
    with pytest.raises(UserError, match="--top_k: OpenAI's protocol has none"):
        make_policy(CollectionConfig(api_base=f"{server.url}/v1", top_k=3))


def test_both_names_of_the_reply_limit_are_understood(
    start_server: Callable[..., RunningServer], server: RunningServer
) -> None:
    for name in ("max_tokens", "max_completion_tokens"):
        body = {"messages": [{"role": "user", "content": "go"}], "temperature": 0, name: 3}
        status, answer = server.post("/v1/chat/completions", body)
        assert status == 200 and answer["usage"]["completion_tokens"] == 3


def test_a_key_stays_with_the_host_it_was_meant_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With every key in the environment, an endpoint of somebody else's sees only one that was given for it."""
    for name, key in (("ELCANO_API_KEY", KEY), ("OPENAI_API_KEY", "openai"), ("EVAL_API_KEY", "eval")):
        monkeypatch.setenv(name, key)
    turn = [{"role": "user", "content": "go"}]
    with picky() as other:
        reply = judge_of(other.url, tmp_path / "a", endpoint_key(other.url)).ask(turn, lambda text: text)
        assert reply.text == "SUCCESS" and other.keys == ["Bearer none"]
        judge_of(other.url, tmp_path / "b", endpoint_key(other.url, "given")).ask(turn, lambda text: text)
        flags = JudgeFlags(judge="webvoyager", api_eval_model="m", eval_api_base=other.url)
        judge, _ = make_judge(flags, tmp_path, [TASK])
        judge.endpoint.ask([{"role": "user", "content": "on"}], lambda text: text)
        assert other.keys[1:] == ["Bearer given", "Bearer eval"]
        monkeypatch.setenv("OPENAI_BASE_URL", other.url)
        assert endpoint_key("") == endpoint_key(other.url) == "openai"
    monkeypatch.delenv("OPENAI_BASE_URL")
    assert endpoint_key("") == endpoint_key("https://api.openai.com/v1") == "openai"
    assert endpoint_key("http://api.openai.com.evil.example/v1") == endpoint_key("http://evil.invalid/v1") == ""
    assert own_server_headers() == {"authorization": f"Bearer {KEY}"}
    assert same_endpoint("", "https://api.openai.com/v1") and not same_endpoint("", "http://127.0.0.1:1/v1")


def test_only_hosts_that_the_user_named_get_our_servers_key(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Whoever else says that it is an Elcano server is refused it in one line."""
    monkeypatch.setenv("ELCANO_API_KEY", KEY)
    monkeypatch.setattr(keys, "is_own_server", lambda base_url: True)
    for own in ("http://127.0.0.1:1/v1", "http://localhost:1/v1", "http://a.localhost/v1", "http://[::1]:1/v1"):
        assert endpoint_key(own) == KEY
    liar = "http://liar.invalid:8080/v1"
    assert endpoint_key(liar) == endpoint_key(liar, own_servers=["", "http://gpu1/predict"]) == ""
    [line] = capsys.readouterr().err.splitlines()
    assert liar in line and "ENDPOINT_API_KEY" in line and "EVAL_API_KEY" in line
    assert endpoint_key(liar, own_servers=["http://liar.invalid/predict"]) == KEY
    assert endpoint_key(liar, "given") == "given"
    flags = JudgeFlags(judge="webvoyager", api_eval_model="m", eval_api_base=liar)
    named = dataclasses.replace(flags, eval_score_url="http://liar.invalid/score")
    for made, key in (
        (make_judge(flags, tmp_path / "a", [TASK]), "none"),
        (make_judge(flags, tmp_path / "b", [TASK], own_servers=["http://liar.invalid/predict"]), KEY),
        (make_judge(named, tmp_path / "c", [TASK]), KEY),
    ):
        assert made[0].endpoint._client.api_key == key


def test_no_key_can_be_read_on_its_way(monkeypatch: pytest.MonkeyPatch) -> None:
    """OpenAI's goes by https only, and with any key a plain http endpoint is asked directly, as its clients do."""
    monkeypatch.setenv("OPENAI_API_KEY", "openai")
    assert is_openai("https://api.openai.com/v1") and is_openai("https://eu.api.openai.com/v1")
    assert not is_openai("http://api.openai.com/v1") and not is_openai("https://evilapi.openai.com/v1")
    assert endpoint_key("http://api.openai.com/v1") == ""
    assert minds_proxies("http://a.invalid/v1", "") and minds_proxies("https://a.invalid/v1", "k")
    assert minds_proxies("", "k") and not minds_proxies("http://a.invalid/v1", "k")
    seen = []

    def refuse(request: Request) -> tuple[int, None]:
        seen.append(request.headers["authorization"])
        return 404, None

    with answering(refuse) as proxy:
        monkeypatch.setenv("http_proxy", proxy)
        for name in ("no_proxy", "NO_PROXY"):
            monkeypatch.delenv(name, raising=False)
        with pytest.raises(UserError, match="nothing answers"):
            reply_of(ChatPolicy("m", "k", "http://a.invalid/v1", Sampling()))
        for key in ("k", ""):
            asyncio.run(DocumentReader("m", key, "http://a.invalid/v1")._ask("text", "question"))
    assert seen == ["Bearer none"]


def test_the_servers_key_is_hidden_from_ps(keyed: RunningServer) -> None:
    assert KEY.encode() not in Path(f"/proc/{keyed.process.pid}/cmdline").read_bytes()
    assert keyed.post("/predict", {})[0] == 401  # it is the key all the same


def test_a_flag_beside_the_policys_address_reaches_no_other_endpoint() -> None:
    """`--api_key` of the collectors is for `--api_base`: the judge gets it where it is asked there as well."""
    code = """
from pathlib import Path
from collection.campaign.options import judge_key
from collection.config.commands import RunConfig
for judge in ("http://judge.invalid/v1", "http://a.invalid/v1"):
    config = RunConfig(api_base="http://a.invalid/v1", api_key="k", eval_api_base=judge)
    print(judge_key(config, judge) or "none")
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["none", "k"]


def test_a_round_of_elcano_serves_and_asks_with_the_same_key(
    tiny_policy: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ELCANO_API_KEY", KEY)
    with policy_server(Executor(), tiny_policy, ServerConfig(), Resources(), tmp_path / "log") as url:
        assert isinstance(reply_of(PredictPolicy([url], Sampling())), str)
        monkeypatch.delenv("ELCANO_API_KEY")
        with pytest.raises(UserError, match="refused"):
            reply_of(PredictPolicy([url], Sampling()))
    assert KEY not in (tmp_path / "log").read_text()
