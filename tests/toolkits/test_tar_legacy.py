"""OpenWebVoyager's pickled tars: whatever they hold, reading one runs nothing and fails in one line."""

import io
import os
import pickle
import tarfile
from pathlib import Path
from typing import Any

import pytest

from data.errors import UserError
from data.legacy import read_legacy_tar, unpickle_images
from tests.toolkits.trajectories import screenshot

TURNS = repr([{"from": "human", "value": "<image>"}, {"from": "gpt", "value": "Thought: a"}])
IMAGES = pickle.dumps([io.BytesIO(screenshot(1))])


def write_tar(path: Path, **members: bytes | str) -> Path:
    with tarfile.open(path, "w") as tar:
        for extension, content in members.items():
            encoded = content.encode() if isinstance(content, str) else content
            info = tarfile.TarInfo(f"Shop--00001--r01--step01.{extension}")
            info.size = len(encoded)
            tar.addfile(info, io.BytesIO(encoded))
    return path


def test_a_good_one(tmp_path: Path) -> None:
    (sample,) = read_legacy_tar(write_tar(tmp_path / "a.tar", conversations=TURNS, input_image=IMAGES))
    assert sample.images == [screenshot(1)]


class Runs:
    """Calls `function(argument)` when unpickled freely."""

    def __init__(self, function: Any, argument: str):
        self.call = function, (argument,)

    def __reduce__(self) -> Any:
        return self.call


@pytest.mark.parametrize("function", [os.system, os.mkdir, exec, eval, __import__, io.open])
def test_pickles_run_nothing(tmp_path: Path, function: Any) -> None:
    mark = tmp_path / "pwned"
    argument = {os.system: f"touch {mark}", os.mkdir: str(mark)}.get(function, f"open({str(mark)!r}, 'w')")
    for payload in ([Runs(function, argument)], Runs(function, argument), {"x": Runs(function, argument)}):
        content = pickle.dumps(payload)
        with pytest.raises(UserError, match="refused: the pickle asks for"):
            list(read_legacy_tar(write_tar(tmp_path / "a.tar", conversations=TURNS, input_image=content)))
        with pytest.raises(UserError, match="refused: the pickle asks for"):
            unpickle_images(content)
    assert not mark.exists()


def test_old_protocols_and_dotted_names_are_no_way_around(tmp_path: Path) -> None:
    """Names such as `PIL.Image` `__loader__.exec` or plugins that are none."""
    for module, name in [
        ("PIL.Image", "os.system"),
        ("PIL.PngImagePlugin", "os.system.ImageFile"),
        ("PIL.Image", "open"),
        ("_io", "open"),
        ("builtins", "getattr"),
    ]:
        content = f"c{module}\n{name}\n(S'touch {tmp_path / 'pwned'}'\ntR.".encode()
        with pytest.raises(UserError):
            unpickle_images(content)
    assert not (tmp_path / "pwned").exists()


BAD = {
    "a call for turns": {"conversations": "__import__('os').getcwd()", "input_image": IMAGES},
    "an unhashable key": {"conversations": "[{[]: 1}]", "input_image": IMAGES},
    "deep nesting": {"conversations": "[" * 100_000, "input_image": IMAGES},
    "not text": {"conversations": b"\xff\xfe", "input_image": IMAGES},
    "turns that are none": {"conversations": "[1, 2]", "input_image": IMAGES},
    "turns without a value": {"conversations": "[{'from': 'human'}]", "input_image": IMAGES},
    "turns that are a number": {"conversations": "3", "input_image": IMAGES},
    "a broken pickle": {"conversations": TURNS, "input_image": IMAGES[:-20]},
    "no images": {"conversations": TURNS, "input_image": pickle.dumps([1])},
    "half a sample": {"conversations": TURNS},
    "another member": {"conversations": TURNS, "exe": b"x"},
}


@pytest.mark.parametrize("case", BAD)
def test_what_is_broken_is_named_in_one_line(tmp_path: Path, case: str) -> None:
    with pytest.raises(UserError) as caught:
        list(read_legacy_tar(write_tar(tmp_path / "a.tar", **BAD[case])))
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("content", [b"", b"not a tar at all" * 100])
def test_not_a_tar(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "a.tar").write_bytes(content)
    with pytest.raises(UserError, match=r"a\.tar"):
        list(read_legacy_tar(tmp_path / "a.tar"))
    with pytest.raises(UserError, match="no such file"):
        list(read_legacy_tar(tmp_path / "b.tar"))
