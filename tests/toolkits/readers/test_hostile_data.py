"""Over 500 generated inputs that are cut, damaged or hostile: each is refused in one line that names file and record,
none runs anything, none leaves anything half-written."""

import io
import itertools
import json
import os
import pickle
import random
import shutil
import tarfile
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from common.errors import UserError
from data.shards.shard import read_shard
from tests.toolkits.trajectories import screenshot, write_trajectory
from toolkits import convert_to_tar_data, convert_trajectories_to_json, import_data, inspect_data

Case = tuple[str, Callable[[], Any], list[str]]  # what it is, what must fail, what the message must name
counted: list[str] = []


class Runs:
    """Calls `function(argument)` when unpickled freely."""

    def __init__(self, function: Any, argument: str):
        self.call = function, (argument,)

    def __reduce__(self) -> Any:
        return self.call


def hostile_pickles(mark: Path) -> Iterator[tuple[str, bytes]]:
    """Pickles that would leave `mark` behind, in all protocols; and some that would eat memory or make no sense."""
    calls = {
        os.system: f"touch {mark}",
        os.mkdir: str(mark),
        exec: f"open({str(mark)!r}, 'w')",
        eval: "1",
        open: str(mark),
    }
    for (function, argument), protocol in itertools.product(calls.items(), range(6)):
        for content in (
            Runs(function, argument),
            [Runs(function, argument)],
            [[{"observation": Runs(function, argument)}]],
        ):
            yield f"{function.__name__} by protocol {protocol}", pickle.dumps(content, protocol)
    for module, name in [
        ("torch", "load"),
        ("torch.hub", "load"),
        ("numpy", "load"),
        ("builtins", "getattr"),
        ("os", "popen"),
        ("PIL.Image", "os.system"),  # names with dots, and plugins that are none
        ("PIL.PngImagePlugin", "os.system.ImageFile"),
        ("PIL.Image", "open"),
        ("_io", "open"),
    ]:
        yield f"{module}.{name}", f"c{module}\n{name}\n(S'touch {mark}'\ntR.".encode()
    yield "a memo of 17 GB", b"\x80\x02Nr\xff\xff\xff\x7f."
    yield "no end", b"\x80\x02]"
    yield "nothing", b""
    yield "an outside object", b"\x80\x02K\x01Q."
    yield "no images", pickle.dumps([1])


# --- sample files -----------------------------------------------------------------------------------------------------


def good_records(count: int = 3) -> list[dict[str, Any]]:
    return [
        {
            "id": f"Shop--{number:05d}--r01--step01",
            "images": [f"{number}.png"],
            "conversations": [{"from": "human", "value": "a <image> é"}, {"from": "gpt", "value": "b"}],
        }
        for number in range(count)
    ]


def pack(folder: Path, content: str | bytes) -> Callable[[], Any]:
    """convert_to_tar_data.py on this sample file."""
    (folder / "in").mkdir(parents=True)
    for number in range(3):
        (folder / "in" / f"{number}.png").write_bytes(screenshot(number))
    (folder / "in" / "samples.json").write_bytes(content.encode() if isinstance(content, str) else content)
    files = (str(folder / "in" / "samples.json"),)
    config = convert_to_tar_data.Config(files, (str(folder / "in"),), str(folder / "out"), num_workers=1)
    return lambda: convert_to_tar_data.main(config)


WRONG_VALUES = [
    None,
    3,
    1.5,
    True,
    "",
    [],
    {},
    [1],
    [None],
    [[]],
    [{}],
    "a/b",
    "../x",
    "x\0y",
    "\ud800",
    ["../0.png"],
    ["/etc/passwd"],
]


def sample_files(folder: Path, rng: random.Random) -> Iterator[Case]:
    whole = json.dumps(good_records())
    for number in range(60):
        cut = rng.randrange(len(whole) - 1)
        yield f"JSON cut at {cut}", pack(folder / f"cut{number}", whole[:cut]), ["samples.json"]
    for place, value in itertools.product(
        ("id", "images", "conversations", "turn", "from", "value"), [*WRONG_VALUES, "missing"]
    ):
        records = good_records()
        change(records[1], place, value)
        case = pack(folder / f"{place}{rng.random()}", json.dumps(records))
        yield f"{place} = {value!r}", case, ["samples.json", " sample "]
    for number, content in enumerate(
        [b"\xff\xfe\x00", b"{}", b"3", b"null", b'"x"', b"[" * 100_000, b"[1]", b"[[]]", b"[]"]
    ):
        yield f"not samples: {content[:5]!r}", pack(folder / f"odd{number}", content), ["samples.json"]
    for number, name in enumerate(("0.png", "1.png", "2.png")):
        for damage in (b"", b"GIF89a", b"\x89PN", b"<svg onload=x>", None):
            case = pack(folder / f"image{number}{damage}".replace("<", "").replace("/", ""), whole)
            path = folder / f"image{number}{damage}".replace("<", "").replace("/", "") / "in" / name
            path.unlink() if damage is None else path.write_bytes(damage)
            yield f"{name} is {damage!r}", case, [name, f"Shop--0000{number}"]


def change(record: dict[str, Any], place: str, value: Any) -> None:
    """Put `value` at `place` of a record."""
    turn = record["conversations"][0]
    target, key = {"turn": (record["conversations"], 0), "from": (turn, "from"), "value": (turn, "value")}.get(
        place, (record, place)
    )
    if value == "missing":
        del target[key]
    else:
        target[key] = value


# --- tars -------------------------------------------------------------------------------------------------------------


def shards(folder: Path, rng: random.Random) -> Iterator[Case]:
    pack(folder / "good", json.dumps(good_records()))()
    tar = folder / "good" / "out" / "elcano-000000.tar"
    content = tar.read_bytes()
    end = len(content.rstrip(b"\0"))
    for number in range(60):
        path = folder / f"cut{number}" / tar.name
        shutil.copytree(tar.parent, path.parent)
        path.write_bytes(content[: rng.randrange(len(content))])
        yield (
            "a shard folder with a cut tar",
            lambda p=path: inspect_data.main(inspect_data.Config((str(p.parent),))),
            [tar.name],
        )
    for number in range(60):
        path = folder / f"part{number}.tar"
        path.write_bytes(content[: rng.randrange(end)])
        yield "a cut tar", lambda p=path: list(read_shard(p)), [path.name]
    headers = [position for position in range(0, end, 512) if content[position + 257 : position + 262] == b"ustar"]
    matters = [*range(148), *range(156, 500)]  # all but the checksum itself, whose last two bytes are free
    for number in range(40):
        damaged = bytearray(content)
        damaged[rng.choice(headers) + rng.choice(matters)] ^= 1 << rng.randrange(8)
        path = folder / f"bits{number}.tar"
        path.write_bytes(damaged)
        yield "a damaged header", lambda p=path: list(read_shard(p)), [path.name]


def write_tar(path: Path, members: dict[str, bytes]) -> Path:
    with tarfile.open(path, "w") as tar:
        for name, content in members.items():
            info = tarfile.TarInfo(name)
            info.size = len(content)
            tar.addfile(info, io.BytesIO(content))
    return path


def run_import(folder: Path, kind: str, file: Path) -> Callable[[], Any]:
    out = {"result_dir": str(folder / "out")} if kind == "pae" else {"save_json_file": str(folder / "out" / "x.json")}
    images = folder / "out" / "images" if kind == "openwebvoyager_tar" else folder
    return lambda: import_data.main(import_data.Config(kind, (str(file),), str(images), **out))


def legacy_tars(folder: Path, rng: random.Random) -> Iterator[Case]:
    turns = repr([{"from": "human", "value": "<image>"}, {"from": "gpt", "value": "b"}]).encode()
    images = pickle.dumps([io.BytesIO(screenshot(1))])
    good = {
        f"{key}.{part}": content
        for key in "abc"
        for part, content in (("conversations", turns), ("input_image", images))
    }
    (folder / "good").mkdir(parents=True)
    whole = write_tar(folder / "good" / "openwebvoyager-000000.tar", good).read_bytes()
    end = len(whole.rstrip(b"\0"))
    run_import(folder / "good", "openwebvoyager_tar", folder / "good" / "openwebvoyager-000000.tar")()
    bad = [("cut", whole[: rng.randrange(end)]) for _ in range(60)]
    for what, content in hostile_pickles(folder / "mark"):
        path = write_tar(folder / "x.tar", {**good, "b.input_image": content})
        bad.append((what, path.read_bytes()))
    for text in (
        b"__import__('os').system('touch mark')",
        b"[{[]: 1}]",
        b"(" * 10_000,
        b"\xff",
        b"3",
        b"[1]",
        b"[{'from': 1}]",
        b"",
    ):
        bad.append((f"turns {text[:9]!r}", write_tar(folder / "x.tar", {**good, "b.conversations": text}).read_bytes()))
    for name in ("../b.conversations", "/tmp/b.input_image", "b.sh", "b"):
        bad.append((f"a member {name}", write_tar(folder / "x.tar", {**good, name: turns}).read_bytes()))
    yield "no such tar", run_import(folder, "openwebvoyager_tar", folder / "none.tar"), ["none.tar"]
    half = {name: content for name, content in good.items() if name != "b.input_image"}
    bad.append(("half a sample", write_tar(folder / "x.tar", half).read_bytes()))
    bad.append(("no tar", b"not a tar at all" * 100))
    for number, (what, content) in enumerate(bad):
        place = folder / str(number)
        place.mkdir()
        path = place / f"released{number}.tar"
        path.write_bytes(content)
        yield f"legacy tar: {what}", run_import(place, "openwebvoyager_tar", path), [path.name]


# --- torch files ------------------------------------------------------------------------------------------------------


def write_pt(path: Path, content: bytes, compression: int = zipfile.ZIP_STORED) -> Path:
    with zipfile.ZipFile(path, "w", compression) as archive:
        archive.writestr("archive/data.pkl", content)
        archive.writestr("archive/version", b"3\n")
    return path


def torch_files(folder: Path, rng: random.Random) -> Iterator[Case]:
    observation = {
        "image": "0.png",
        "task": "Now given a task: x  Please interact with y",
        "web_name": "Shop",
        "button": "[1]",
    }
    good = {
        "pae": {"observation": observation, "action": "Thought: a\n\nAction: Wait", "reward": 0},
        "digiq": {"observation": "o", "action": "a", "image_path": "0.png", "next_image_path": "1.png", "reward": 0},
        "webrl": {"observation": "o", "action": "a", "reward": 1},
    }
    hostile = list(hostile_pickles(folder / "mark"))
    for kind, step in good.items():
        whole = write_pt(folder / "good.pt", pickle.dumps([[step, step], [step]], 2)).read_bytes()
        bad: list[tuple[str, bytes]] = [("cut", whole[: rng.randrange(len(whole) - 1)]) for _ in range(20)]
        bad += [(what, write_pt(folder / "x.pt", content).read_bytes()) for what, content in rng.sample(hostile, 30)]
        for content in (3, {}, "x", None, [3], [[3]], [[None]], [["a"]], [[step], 3]):
            bad.append((f"{content!r}"[:20], write_pt(folder / "x.pt", pickle.dumps(content, 2)).read_bytes()))
        for name, value in itertools.product(step, (None, [], 3j, b"x")):
            wrong = pickle.dumps([[step], [{**step, name: value}]], 2)
            if not (kind == "digiq" and name == "next_image_path"):
                bad.append((f"{name} = {value!r}", write_pt(folder / "x.pt", wrong).read_bytes()))
        bad.append(
            ("compressed", write_pt(folder / "x.pt", pickle.dumps([[step]], 2), zipfile.ZIP_DEFLATED).read_bytes())
        )
        bad.append(("a bare pickle", pickle.dumps([[step]])))
        for number, (what, content) in enumerate(bad):
            place = folder / f"{kind}{number}"
            place.mkdir()
            for image in range(2):
                (place / f"{image}.png").write_bytes(screenshot(image))
            (place / f"{kind}{number}.pt").write_bytes(content)
            yield f"{kind}: {what}", run_import(place, kind, place / f"{kind}{number}.pt"), [f"{kind}{number}.pt"]


GENERATORS = [sample_files, shards, legacy_tars, torch_files]


@pytest.mark.parametrize("generate", GENERATORS, ids=lambda generate: generate.__name__)
def test_bad_input_is_refused(generate: Callable[[Path, random.Random], Iterator[Case]], tmp_path: Path) -> None:
    for what, run, names in generate(tmp_path, random.Random(7)):
        message = refusal(what, run)
        assert "\n" not in message and all(name in message for name in names), (what, message)
        counted.append(what)
    files = {path.relative_to(tmp_path) for path in tmp_path.rglob("*") if path.is_file()}
    written = {path for path in files if "out" in path.parts and "good" not in path.parts}
    assert not written and not [path for path in files if ".tmp" in path.name or "mark" in path.name]


def refusal(what: str, run: Callable[[], Any]) -> str:
    """The message with which `run` ends."""
    try:
        run()
    except UserError as error:
        return str(error)
    return pytest.fail(f"accepted: {what}")


def test_over_500_were_tried() -> None:
    if not counted:
        pytest.skip("counts what test_bad_input_is_refused tried in the same run")
    assert len(counted) >= 500


def test_broken_trajectories_are_named_and_passed_over(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Sixty damaged folders beside one good one: each is named, and gives no sample."""
    rng = random.Random(7)
    files = ["trajectory.json", "steps.jsonl", "screenshot1.png", "screenshot2.png", "outcome.json"]
    for number in range(60):
        folder = write_trajectory(tmp_path / "results", f"Shop--{number}", num_steps=2)
        path = folder / files[number % len(files)]
        content = path.read_bytes()
        path.write_bytes(content[: rng.randrange(1, len(content) - 12)])
    write_trajectory(tmp_path / "results", "Shop--60", num_steps=2)
    out = tmp_path / "samples.json"
    convert_trajectories_to_json.main(
        convert_trajectories_to_json.Config(
            str(tmp_path / "results"), str(tmp_path / "images"), str(out), num_workers=1
        )
    )
    assert {sample["id"].split("--r01")[0] for sample in json.loads(out.read_text())} == {"Shop--00060"}
    printed = capsys.readouterr().out
    assert all(f"broken taskShop--{number}:" in printed for number in range(60))
