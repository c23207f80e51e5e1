"""An online run in the viewer: what each version was learned of, curves along versions."""

import json
from pathlib import Path

from data.online_run import OnlineRun
from data.outcome import Verdict
from tests.toolkits.trajectories import write_trajectory
from tests.viewer.conftest import Opened

SUCCESS, FAILURE = Verdict.SUCCESS, Verdict.FAILURE


def online_run(folder: Path) -> OnlineRun:
    """Three groups: learned of for version 1, dropped, under way."""
    run = OnlineRun(folder)
    for number, verdicts in enumerate([(SUCCESS, FAILURE), (FAILURE, FAILURE), (SUCCESS,)]):
        for k, verdict in enumerate(verdicts):
            write_trajectory(run.group(number), f"Shop--{number}", run=k, num_steps=1, verdict=verdict)
    run.learned.parent.mkdir()
    lines = [{"group": 0, "version": 0, "fate": "learned"}, {"group": 1, "version": 0, "fate": "no spread"}]
    run.learned.write_text("".join(json.dumps(line) + "\n" for line in lines) + "{half")
    log = folder / "trainer" / "log" / "online"
    log.mkdir(parents=True)
    (log / "metrics.jsonl").write_text(
        json.dumps({"version": 1, "success": 0.5, "groups": [0], "losses": [1.0]}) + "\n"
    )
    return run


def test_each_version_leads_to_what_it_was_learned_of(opened: Opened, tmp_path: Path) -> None:
    answers = opened(online_run(tmp_path / "run").folder)
    page = json.loads(answers.answer("run", {"run": "run"}))
    told = {one["name"]: (one["groups"], one["num_tries"], one["num_solved"]) for one in page["versions"]}
    assert told == {"version 1": (1, 2, 1), "dropped, no spread": (1, 2, 0), "under way": (1, 1, 1)}
    rows = json.loads(answers.answer("rows", {"run": "run"}))
    assert [rows["rounds"][number] for number in rows["columns"]["set"]] == [
        *["version 1"] * 2,
        *["dropped, no spread"] * 2,
        "under way",
    ]
    [curves] = json.loads(answers.answer("curves", {"run": "run"}))
    assert curves == {"name": "run/online", "along": "version", "curves": {"success": [[1, 0.5]]}}


def test_what_is_learned_meanwhile_is_seen(opened: Opened, tmp_path: Path) -> None:
    run = online_run(tmp_path / "run")
    answers = opened(run.folder)
    before = answers.index.generation
    run.learned.write_text(json.dumps({"group": 2, "version": 1, "fate": "learned"}) + "\n")
    answers.index.refresh()
    assert answers.index.generation > before
    names = [one["name"] for one in json.loads(answers.answer("run", {"run": "run"}))["versions"]]
    assert names == ["version 2", "under way"]
