"""Conversations of other trainers become samples, as written by hand here; ours go out and come back as they were."""

import base64
import json
from pathlib import Path
from typing import Any

import pytest

from common.errors import UserError
from tests.toolkits.interchange import export, pictures, seen, shards, take_in, write_samples
from tests.toolkits.trajectories import screenshot

URL = "data:image/png;base64," + base64.b64encode(screenshot(1)).decode()
CALL = {"id": "c", "type": "function", "function": {"name": "click", "arguments": '{"x": 1}'}}
CALLED = '<tool_call>\n{"name": "click", "arguments": {"x": 1}}\n</tool_call>'
TOOL = {"type": "function", "function": {"name": "click"}}
TOOLS = (
    "# Tools\n\nYou may call one or more functions, whose signatures stand within <tools></tools>:\n<tools>\n"
    f"{json.dumps(TOOL)}\n</tools>"
)


def say(user: Any, agent: Any = "Ho") -> list[dict[str, Any]]:
    return [{"role": "user", "content": user}, {"role": "assistant", "content": agent}]


def part(url: str) -> dict[str, Any]:
    return {"type": "image_url", "image_url": {"url": url}}


HELD = [
    ("a text", {"messages": say("Hi")}, ["Hi", "Ho"], []),
    (
        "parts",
        {"messages": say([{"type": "text", "text": "See <image> "}, part(URL)])},
        ["See < image> <image>", "Ho"],
        [1],
    ),
    (
        "a path",
        {"messages": say([part("file:///elsewhere/shots/0.png"), {"type": "text", "text": "?"}])},
        ["<image>?", "Ho"],
        [0],
    ),
    (
        "responses",
        {"messages": say([{"type": "input_image", "image_url": URL}], [{"type": "output_text", "text": "Ho"}])},
        ["<image>", "Ho"],
        [1],
    ),
    (
        "calls",
        {
            "tools": [TOOL],
            "messages": [
                {"role": "system", "content": "Be short."},
                {"role": "user", "content": "Buy."},
                {"role": "assistant", "content": None, "reasoning_content": "There.", "tool_calls": [CALL]},
                {"role": "tool", "tool_call_id": "c", "content": [{"type": "text", "text": "clicked"}, part(URL)]},
                {"role": "user", "content": "Go on."},
                {"role": "assistant", "content": "Done."},
                {"role": "user", "content": "Thanks."},
            ],
        },
        [
            f"{TOOLS}\nBe short.\nBuy.",
            f"<think>\nThere.\n</think>\n\n\n{CALLED}",
            "<tool_response>\nclicked<image>\n</tool_response>\nGo on.",
            "Done.",
        ],
        [1],
    ),
    (
        "ms-swift",
        {"messages": say("<image><image>Compare"), "images": ["shots/0.png", URL]},
        ["<image><image>Compare", "Ho"],
        [0, 1],
    ),
    (
        "ms-swift's agents",
        {
            "messages": [
                {"role": "user", "content": "Buy."},
                {"role": "tool_call", "content": '{"name": "click", "arguments": {"x": 1}}'},
                {"role": "tool_response", "content": "clicked"},
                {"role": "assistant", "content": "Done."},
            ]
        },
        ["Buy.", CALLED, "<tool_response>\nclicked\n</tool_response>", "Done."],
        [],
    ),
    (
        "ms-swift's queries",
        {"system": "Be short.", "query": "And?", "response": "No.", "history": [["Hi", "Ho"]]},
        ["Be short.\nHi", "Ho", "And?", "No."],
        [],
    ),
    (
        "Alpaca",
        {"instruction": "Say it", "input": "in French", "output": "Oui", "images": "shots/1.png"},
        ["<image>\nSay it\nin French", "Oui"],
        [1],
    ),
    (
        "LLaMA-Factory's agents",
        {
            "conversations": [
                {"from": "human", "value": "Buy."},
                {"from": "function_call", "value": '{"name": "click", "arguments": {"x": 1}}'},
                {"from": "observation", "value": "clicked"},
                {"from": "gpt", "value": "Done."},
            ],
            "tools": json.dumps([TOOL]),
        },
        [f"{TOOLS}\nBuy.", CALLED, "<tool_response>\nclicked\n</tool_response>", "Done."],
        [],
    ),
    (
        "preferences",
        {
            "conversations": [{"from": "human", "value": "Hi"}],
            "chosen": {"from": "gpt", "value": "Ho"},
            "rejected": {"from": "gpt", "value": "No"},
        },
        ["Hi", "Ho"],
        [],
    ),
]


@pytest.mark.parametrize(("entry", "turns", "images"), [case[1:] for case in HELD], ids=[case[0] for case in HELD])
def test_a_conversation_becomes_a_sample(tmp_path: Path, entry: dict, turns: list[str], images: list[int]) -> None:
    pictures(tmp_path / "data", "shots/0.png", "shots/1.png")
    (tmp_path / "all.jsonl").write_text(json.dumps({"id": "x", "reward": 0.5, **entry}) + "\n")
    (sample,) = take_in("messages", tmp_path / "data", tmp_path / "out.json", tmp_path / "all.jsonl")
    assert [turn["value"] for turn in sample["conversations"]] == turns
    assert [turn["from"] for turn in sample["conversations"]] == ["human", "gpt"] * (len(turns) // 2)
    shown = [(tmp_path / "data" / name).read_bytes() for name in sample.pop("images")]
    assert shown == [screenshot(number) for number in images]
    assert {name: sample[name] for name in sample if name != "conversations"} == {"id": "x", "reward": 0.5}


LEFT_OUT = [
    ({"messages": say([part("https://x.example/1.png")])}, "samples with images at an address (1)"),
    ({"messages": say("<video>"), "videos": ["a.mp4"]}, "samples with videos (1)"),
    ({"messages": say([{"type": "input_audio"}])}, "samples with input_audio parts (1)"),
    ({"messages": say("a"), "label": False}, "samples with a reply that was rated bad (label false) (1)"),
    (
        {"messages": say("<bbox>"), "objects": {"bbox": [[1, 2, 3, 4]]}},
        "samples with boxes to be filled in (objects) (1)",
    ),
    ({"messages": say("a")[:1]}, "samples without a reply (1)"),
]


@pytest.mark.parametrize(("entry", "said"), LEFT_OUT)
def test_what_no_sample_can_hold_is_counted(tmp_path: Path, entry: dict, said: str, capsys) -> None:
    (tmp_path / "all.json").write_text(json.dumps([entry, {"messages": say("Hi")}]))
    assert len(take_in("ms_swift", tmp_path, tmp_path / "out.json", tmp_path / "all.json")) == 1
    assert f"left out: {said}" in capsys.readouterr().err


def test_an_image_at_an_address_is_kept_as_a_reference(tmp_path: Path, capsys) -> None:
    """Until someone fetches it; what the list of someone else's folder says of names is not believed."""
    address = "https://x.example/a/1.jpg?size=2"
    entries = [{"messages": say([part(one), part(address)])} for one in (address, "http://x.example/a\nb\t../c")]
    (tmp_path / "all.json").write_text(json.dumps([*entries, {"messages": say("Hi")}]))
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "addresses.tsv").write_text(f"../../outside.png\t{address}\n../../other.png\tno address\n\0\n")
    given = ("messages", tmp_path / "data", tmp_path / "out.json", tmp_path / "all.json")
    assert len(take_in(*given)) == 1 and "addresses.tsv: 1 images to fetch" in capsys.readouterr().err
    [line] = (tmp_path / "data" / "addresses.tsv").read_text().splitlines()
    name, told = line.split("\t")
    assert told == address and name.endswith(".jpg") and len(name) == 36
    (tmp_path / "data" / name).write_bytes(screenshot(3))
    samples = take_in(*given)
    assert [sample["images"] for sample in samples] == [[name, name], []]
    assert (tmp_path / "data" / "addresses.tsv").read_text() == ""


BAD = [
    ({"messages": [*say("a", "b")[:1], {"role": "assistant", "content": "b", "weight": 0}]}, "weight 0"),
    ({"messages": say("<image>")}, "1 <image> marks but 0 images"),
    ({"messages": say("a", "<image>"), "images": ["0.png"]}, "in a reply"),
    ({"messages": say([part("../../etc/passwd")])}, "not in"),
    ({"messages": say([part("file:///etc/passwd")])}, "not in"),
    ({"messages": say([part("data:image/png;base64,####")])}, "no base64"),
    ({"messages": say([part("data:image/png;base64,AAAA")])}, "neither PNG"),
    ({"messages": [{"role": "root", "content": "a"}]}, "root"),
    ({"messages": [3]}, "no objects"),
    ({"messages": say("a", 3)}, "neither text nor parts"),
    ({"messages": [*say("a")[:1], {"role": "assistant", "tool_calls": [3]}]}, "without a name"),
    ({"history": [["a"]], "response": "b"}, "pairs"),
    ({"id": "../x", "messages": say([part(URL)])}, "plain name"),
    ({"question": "only"}, "neither turns"),
    (3, "not an object"),
]


@pytest.mark.parametrize(("entry", "said"), BAD)
def test_what_contradicts_itself_is_one_line(tmp_path: Path, entry: Any, said: str) -> None:
    (tmp_path / "all.json").write_text(json.dumps([{"messages": say("Hi")}, entry]))
    with pytest.raises(UserError, match=r"all\.json") as error:
        take_in("messages", tmp_path / "data", tmp_path / "out.json", tmp_path / "all.json")
    assert said in str(error.value) and "\n" not in str(error.value)
    assert {path.name for path in tmp_path.rglob("*")} <= {"all.json", "data"}


@pytest.mark.parametrize("kind", ["messages", "llava", "ms_swift", "llama_factory"])
def test_ours_come_back_and_make_the_same_shards(tmp_path: Path, kind: str) -> None:
    samples, images = write_samples(tmp_path)
    out = export(kind, samples, images, tmp_path / kind)
    files = {"messages": "train.jsonl", "ms_swift": "train.jsonl", "llava": "train.json", "llama_factory": "."}
    shown = tmp_path / "back" if kind == "messages" else out / "images"
    back = take_in("ms_swift" if kind == "llava" else kind, shown, tmp_path / "back.json", out / files[kind])
    assert seen(back, shown) == seen(json.loads(samples.read_text()), images)
    assert shards(tmp_path / "back.json", shown, tmp_path / "s1") == shards(samples, images, tmp_path / "s2")


def test_a_data_set_of_llama_factory_says_which_field_is_what(tmp_path: Path) -> None:
    info = {
        "mine": {
            "file_name": "a.json",
            "formatting": "sharegpt",
            "columns": {"messages": "talk", "system": "rules", "images": "pics"},
            "tags": {"role_tag": "who", "content_tag": "said", "user_tag": "me", "assistant_tag": "it"},
        },
        "hub": {"hf_hub_url": "x/y"},
    }
    talk = [{"who": "me", "said": "<image>Hi"}, {"who": "it", "said": "Ho"}]
    (tmp_path / "dataset_info.json").write_text(json.dumps(info))
    (tmp_path / "a.json").write_text(json.dumps([{"talk": talk, "rules": "Be short.", "pics": ["0.png"]}]))
    pictures(tmp_path, "0.png")
    (sample,) = take_in("llama_factory", tmp_path, tmp_path / "out.json", tmp_path)
    assert [turn["value"] for turn in sample["conversations"]] == ["Be short.\n<image>Hi", "Ho"]
    info["mine"]["file_name"] = "../a.json"
    (tmp_path / "dataset_info.json").write_text(json.dumps(info))
    with pytest.raises(UserError, match="outside"):
        take_in("llama_factory", tmp_path, tmp_path / "out.json", tmp_path)


def test_anthropic_s_system_opens_and_thoughts_that_nobody_can_read_leave_the_rest(
    tmp_path: Path, capsys: pytest.CaptureFixture
) -> None:
    hidden = [{"type": "redacted_thinking", "data": "x"}, {"type": "text", "text": "Ho"}]
    record = {"system": [{"type": "text", "text": "Be kind."}, {"type": "text", "text": "Now."}]}
    (tmp_path / "a.jsonl").write_text(json.dumps({**record, "messages": say("Hi", hidden)}))
    (sample,) = take_in("messages", tmp_path, tmp_path / "out.json", tmp_path / "a.jsonl")
    assert [turn["value"] for turn in sample["conversations"]] == ["Be kind.\nNow.\nHi", "Ho"]
    assert "system" not in sample
    assert "left out: thoughts that are encrypted (1)" in capsys.readouterr().err


@pytest.mark.parametrize("depth", [900, 100_000])
def test_fields_that_are_nested_too_deeply_are_one_line(tmp_path: Path, depth: int) -> None:
    deep = "[" * depth + "]" * depth
    (tmp_path / "a.jsonl").write_text(f'{{"query": "q", "response": "r", "x": {deep}}}\n')
    with pytest.raises(UserError, match="nested too deeply"):
        take_in("messages", tmp_path, tmp_path / "out.json", tmp_path / "a.jsonl")
    assert not (tmp_path / "out.json").exists()


def test_spaces_behind_what_begins_as_base64_take_no_time(tmp_path: Path) -> None:
    spaces = "Qk" + " " * 200_000 + "!"
    (tmp_path / "a.jsonl").write_text(json.dumps({"query": "q", "response": "r", "image": spaces}))
    with pytest.raises(UserError, match="is not in"):
        take_in("messages", tmp_path, tmp_path / "out.json", tmp_path / "a.jsonl")
