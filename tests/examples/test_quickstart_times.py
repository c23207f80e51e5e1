"""`python -m benchmarks.quickstart` on a repository whose quickstart only counts its runs."""

import subprocess
from pathlib import Path

import pytest

from benchmarks import quickstart
from benchmarks.quickstart import Config, main
from common.errors import UserError
from common.files import read_json

SUMMARY = '{"seconds_per_stage": {"IL/train": 1.5}, "rounds": [{"name": "IL", "num_success": 4, "num_tasks": 75}]}'
RUN = f"""mkdir -p "$1"
echo WORD >> "$(dirname "$0")/../../../said"
echo '{SUMMARY}' > "$1/summary.json"
"""


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    root = tmp_path / "repository"
    (root / "examples" / "quickstart").mkdir(parents=True)
    git(root, "init", "-q")
    add_commit(root, "first")
    add_commit(root, "second")
    monkeypatch.setattr(quickstart, "ROOT", root)
    return root


def git(root: Path, *words: str) -> None:
    who = ["-c", "user.name=t", "-c", "user.email=t@localhost"]
    subprocess.run(["git", "-C", str(root), *who, *words], check=True)


def add_commit(root: Path, word: str, rc: int = 0) -> None:
    (root / "install.sh").write_text("exit 0\n")
    (root / quickstart.LOOP).write_text(f"{RUN.replace('WORD', word)}exit {rc}\n")
    git(root, "add", "-A")
    git(root, "commit", "-q", "-m", word)


def test_pairs_take_turns_and_go_on_where_they_were_stopped(
    repository: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    config = Config(before="HEAD~1", work_dir=tmp_path / "times", pairs=1)
    main(config)
    main(Config(before="HEAD~1", work_dir=tmp_path / "times", pairs=2))
    assert (tmp_path / "times" / "said").read_text().split() == ["first", "second", "second", "first"]
    pairs = read_json(tmp_path / "times" / "times.json")
    assert [pair["order"] for pair in pairs] == [["before", "now"], ["now", "before"]]
    assert pairs[0]["now"]["solved"] == {"IL": "4/75"} and pairs[0]["now"]["by_stage"] == {"IL/train": 1.5}
    assert "now / before: " in capsys.readouterr().out


def test_a_commit_that_is_not_there_and_a_quickstart_that_fails_are_told(repository: Path, tmp_path: Path) -> None:
    with pytest.raises(UserError, match="nowhere: no such commit"):
        main(Config(before="nowhere", work_dir=tmp_path / "times"))
    add_commit(repository, "third", rc=3)
    with pytest.raises(UserError, match=r"now: the quickstart ended with 3; see .*now\.log"):
        main(Config(before="HEAD~1", work_dir=tmp_path / "times", pairs=1))
    assert not (tmp_path / "times" / "times.json").exists()
