"""Fuzz and soak, short; docs/results/serving_endurance.md has the long ones."""

from pathlib import Path

import pytest

from tests.server.cluster import fuzz, soak


@pytest.mark.slow
def test_hostile_requests_break_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)  # where a pickle's command would leave its file
    found = fuzz.fuzz(fuzz.Config(num_requests=300))
    assert found["requests"] == 300 and found["num_faults"] == 0 and found["changed_honest_replies"] == 0
    assert not found["commands_run_by_pickles"] and found["still_running_or_waiting"] == 0
    assert found["statuses"]["400"] > 100


@pytest.mark.slow
def test_no_reply_is_crossed_while_weights_change() -> None:
    found = soak.soak(soak.Config(duration_s=20, num_clients=6, num_episodes=2, reload_every_s=5))
    assert (found["crossed"], found["wrong_version"], found["errors"]) == (0, 0, 0)
    assert found["replies"] > 5 and found["reloads"] >= 1
    assert found["still_running_or_waiting"] == 0


@pytest.mark.slow
def test_no_reply_is_stale_while_replicas_are_killed() -> None:
    kills = {"replicas": 2, "kill_every_s": 15}
    found = soak.soak(soak.Config(duration_s=40, num_clients=6, num_episodes=2, reload_every_s=12, **kills))
    assert (found["crossed"], found["wrong_version"], found["errors"]) == (0, 0, 0)
    assert found["replies"] > 5 and found["kills"] >= 1 and found["still_running_or_waiting"] == 0


@pytest.mark.slow
def test_a_server_whose_memory_runs_out_within_batches_answers_all_others() -> None:
    found = soak.soak(soak.Config(duration_s=10, num_clients=4, num_episodes=1, reload_every_s=4, starve_every=20))
    assert (found["crossed"], found["wrong_version"], found["errors"]) == (0, 0, 0)
    assert found["replies"] > 5 and found["out_of_memory"] > 2 and found["asked_again"] >= 1
    assert found["still_running_or_waiting"] == 0
