"""Our server as the endpoint of a judge: each verdict comes by its schema, even of a policy that knows of none.

Of 1,000 verdicts: python -m pytest tests/server/reply_forms/test_verdicts_by_schema.py -m slow -s
"""

from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from collection.judges.asking import ask_verdict
from collection.judges.endpoint import endpoint as endpoints
from collection.judges.endpoint.endpoint import Endpoint
from collection.judges.endpoint.ledger import Budget, Ledger
from collection.judges.endpoint.reply_cache import ReplyCache
from collection.judges.verdicts.fence import fenced
from collection.judges.verdicts.prompts import WEBVOYAGER, Shown, system_prompt
from collection.judges.verdicts.verdict import FEASIBLE, GRADE, REASON, STATUS, VERDICT
from common.defaults import STARTING_POLICY
from tests.collection.judges.judge_replies import quoting_texts

FORMS = (VERDICT, STATUS, GRADE, REASON, FEASIBLE)


@pytest.mark.parametrize("num_verdicts", [30, pytest.param(1000, marks=pytest.mark.slow)])
def test_no_verdict_is_unreadable(start_server, tmp_path: Path, monkeypatch, capsys, num_verdicts: int) -> None:
    """Half drawn, half greedy, of agents who claim their success; in 64 tokens, so that some replies are cut."""
    server, words = start_server(Path(STARTING_POLICY)), quoting_texts()
    monkeypatch.setattr(endpoints, "MAX_COMPLETION_TOKENS", 64)
    ledger = Ledger(tmp_path / "costs.jsonl", Budget())
    judge = Endpoint(Path(STARTING_POLICY).name, "", f"{server.url}/v1", ReplyCache(tmp_path / "replies"), ledger)
    system = system_prompt(WEBVOYAGER, Shown())

    def ask(number: int) -> int:
        case, form = fenced("RESULT RESPONSE", f"{words[number % len(words)]} {number}"), FORMS[number % len(FORMS)]
        reply = ask_verdict(judge, system, case, form, temperature=float(number % 2), seed=number)
        assert reply.meaning in form.choices.values()
        return reply.num_asked

    with ThreadPoolExecutor(16) as pool:
        asked = Counter(pool.map(ask, range(num_verdicts)))
    said = capsys.readouterr()
    assert judge.reply_format.name == "json_schema" and "by a JSON schema" in said.err
    assert asked[3] == 0
    print(
        f"\n{num_verdicts} verdicts, asked once {asked[1]}, twice {asked[2]}, {asked[3]} three times, none unreadable"
    )
