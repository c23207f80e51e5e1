"""What is typed wrong is said in one line with what is near; a switch may be given both ways."""

import dataclasses
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from common.cli import guarded
from common.errors import UserError
from common.options.command_line import read
from common.options.switch import AutoSwitch, Switch
from common.shown.terminal import in_short
from elcano.cli import Command
from tests.conftest import in_foreground

ROOT = Path(__file__).resolve().parents[2]


@dataclasses.dataclass(frozen=True)
class Config:
    """Of a command."""

    folder: str = ""
    """Of data."""
    max_iter: int = 5
    """Most steps."""
    dry_run: bool = False
    """Do nothing."""
    verify: bool = True
    """Compare."""
    sp: Switch = False
    """Sequence parallelism."""
    te: AutoSwitch = None
    """Layers."""
    judges: tuple[str, ...] = ()
    """Names."""


@pytest.mark.parametrize(
    "words, message",
    [
        ("--max_itr 3", "run.py: --max_itr: no such option; the nearest is --max_iter INT"),
        ("--quite_other 0.3", "run.py: --quite_other: no such option; --help says what there is"),
        (
            "--max_iter three",
            "run.py: --max_iter: 'three' is no number; what is expected: --max_iter INT",
        ),
        (
            "--max_iter",
            "run.py: Missing value for argument '--max_iter'. Expected 1 values; --help says what there is",
        ),
        ("stray", "run.py: stray: no such option; --help says what there is"),
    ],
)
def test_one_line_says_what_is_wrong_and_what_is_near(words: str, message: str) -> None:
    with pytest.raises(UserError) as raised:
        read(Config, words.split(), "run.py")
    assert str(raised.value) == message


@pytest.mark.parametrize(
    "words, expected",
    [
        ("--dry_run", Config(dry_run=True)),
        ("--dry_run true --max_iter 3", Config(dry_run=True, max_iter=3)),
        ("--dry-run=true", Config(dry_run=True)),
        ("--dry_run false", Config()),
        ("--verify false", Config(verify=False)),
        ("--no_verify", Config(verify=False)),
        ("--sp", Config(sp=True)),
        ("--sp --max_iter 3", Config(sp=True, max_iter=3)),
        ("--sp false --te", Config(te=True)),
        ("--te=auto --sp=true", Config(sp=True)),
        ("--judges a b --dry_run", Config(judges=("a", "b"), dry_run=True)),
    ],
)
def test_a_switch_may_be_given_with_a_value_or_without(words: str, expected: Config) -> None:
    assert read(Config, words.split()) == expected


@pytest.mark.parametrize(
    "words, message",
    [
        ("vew runs", "elcano: vew: no such command; the nearest is view"),
        ("dance", "elcano: dance: no such command; there are run, online, show, try, view"),
        ("view --port 99999", "elcano: --port must be 0 to 65535, not 99999; --help says what there is"),
        ("run", "elcano: PATH must be given: Python file that defines `recipe() -> Recipe`; --help says what there is"),
    ],
)
def test_a_command_that_is_not_there_or_lacks_a_word(words: str, message: str) -> None:
    with pytest.raises(UserError) as raised:
        read(Command, words.split(), "elcano")
    assert str(raised.value) == message


def test_help_names_a_module_as_it_was_typed() -> None:
    asked = [sys.executable, "-m", "environments.touch.make_tasks", "--help"]
    said = subprocess.run(asked, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    assert said.startswith("usage: python -m environments.touch.make_tasks [-h]")


def test_commands_end_with_one_line_and_code_2() -> None:
    command = [sys.executable, str(ROOT / "toolkits" / "inspect_data.py"), "--dta", "x"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "error: inspect_data.py: --data must be given; --dta x: no such option\n"


def test_a_path_that_cannot_be_is_told_in_a_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "file").touch()
    for write, why in (
        (tmp_path.write_text, "Is a directory"),
        ((tmp_path / "file" / "below").write_text, "Not a directory"),
        ((tmp_path / ("n" * 300)).write_text, "File name too long"),
    ):
        assert guarded(write, "content") == 2
        [line] = capsys.readouterr().err.splitlines()
        assert line.startswith("error: ") and why in line and str(tmp_path) in line
    with pytest.raises(FileNotFoundError):  # the traceback of a slip of ours stays
        guarded(lambda path: path.read_text(), tmp_path / "nothing")


def test_ctrl_c_while_a_command_imports_is_no_traceback() -> None:
    words = [sys.executable, "-c", "import common.cli, time; print('.', flush=True); time.sleep(60)"]
    process = subprocess.Popen(
        words, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, preexec_fn=in_foreground
    )
    process.stdout.read(1)
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=30)
    assert said == b"" and process.returncode == -signal.SIGINT


@pytest.mark.parametrize("words", [["collection/run.py", "--help"], ["server/hf_online_server.py", "--help"]], ids=str)
def test_a_reader_may_leave_early(words: list[str]) -> None:
    """`--help | head -1` ends without a traceback."""
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with subprocess.Popen([sys.executable, *words], cwd=ROOT, **pipes) as process:
        process.stdout.close()
        assert process.stderr.read() == b""
    assert process.returncode == 141


TELLS = """
from common.cli import guarded
from common.errors import UserError
def main(wrong):
    print("much")
    if wrong:
        raise UserError("a clear line")
raise SystemExit(guarded(main, {wrong}))
"""


@pytest.mark.parametrize(("wrong", "code"), [(False, 0), (True, 2)])
def test_without_a_standard_output_a_command_ends_as_it_would(wrong: bool, code: int) -> None:
    words = f"{sys.executable} -c '{TELLS.format(wrong=wrong)}' >&-"
    done = subprocess.run(["bash", "-c", words], cwd=ROOT, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (code, "error: a clear line\n" if wrong else "")


@pytest.mark.parametrize(("wrong", "code"), [(False, 141), (True, 2)])
def test_what_is_wrong_is_said_though_the_reader_left(wrong: bool, code: int) -> None:
    """Buffered, as Python writes into a pipe."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    words = [sys.executable, "-c", TELLS.format(wrong=wrong)]
    with subprocess.Popen(words, cwd=ROOT, env=environment, **pipes) as process:
        process.stdout.close()
        assert process.stderr.read() == (b"error: a clear line\n" if wrong else b"")
    assert process.returncode == code


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["--tp", "3", "--lr=1"], "TP=3 is wrong; OUTPUT_TP, LR_STEPS are not (TP is --tp here)"),
        (["--lr", "1", "--"], "TP=3 is wrong; OUTPUT_TP, LR_STEPS are not"),
    ],
)
def test_a_variable_that_was_typed_as_a_flag_is_named_as_one(
    words: list[str], told: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail(_: None) -> None:
        raise UserError("TP=3 is wrong; OUTPUT_TP, LR_STEPS are not")

    monkeypatch.setattr(sys, "argv", ["train.sh", *words])
    assert guarded(fail, None) == 2
    assert capsys.readouterr().err == f"error: {told}\n"


def test_a_message_with_words_of_others_moves_no_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    def fail(_: None) -> None:
        raise UserError("the judge says \x1b]0;owned\x07\x9b2J")

    assert guarded(fail, None) == 2
    assert capsys.readouterr().err == "error: the judge says ?]0;owned??2J\n"
    assert in_short("<p>no\nsuch</p> \x1b[2Jmodel") == "no such ?[2Jmodel"
