"""300 trajectories that a hostile website, model or file would leave behind. What runs sets `window.caught`."""

import json
import os
import shutil
import zlib
from pathlib import Path

from data.outcome import Verdict
from tests.toolkits.trajectories import screenshot, write_trajectory

RUN = "window.caught=1"
TEXTS = [
    f"<script>{RUN}</script>",
    f"</script><script>{RUN}</script>",
    f"<img src=x onerror={RUN}>",
    f'"><svg onload={RUN}>',
    f"'><body onpageshow={RUN}>",
    f"</style><script>{RUN}</script>",
    f"</title><script>{RUN}</script>",
    f"--><script>{RUN}</script>",
    f"]]><script>{RUN}</script>",
    f"<iframe srcdoc='<script>parent.{RUN}</script>'>",
    f"<a href='javascript:{RUN}'>x</a>",
    f"javascript:{RUN}",
    f"data:text/html,<script>{RUN}</script>",
    f"<style>*{{background:url(javascript:{RUN})}}</style>",
    f"<math><mtext></form><form><mglyph><style></math><img src onerror={RUN}>",
    "<base href=http://127.0.0.1:9/>",
    "<meta http-equiv=refresh content=0;url=http://127.0.0.1:9/>",
    "%3Cscript%3E",
    "\\u003cscript\\u003e",
    "&lt;script&gt;",
    f"${{{RUN}}}",
    f"{{{{constructor.constructor('{RUN}')()}}}}",
    f"`;{RUN};`",
    f"';{RUN};//",
    f"\u2028{RUN}\u2029",
    "../../../../etc/passwd",
    "..%2f..%2fetc%2fpasswd",
    "/etc/passwd",
    "file:///etc/passwd",
    "$(touch caught) `touch caught`; touch caught",
    "__proto__",
    "constructor",
    "toString",
    "\u202egpj.exe",
    "\ud800",
    "\x00\x1b[2J\x07",
    "' OR 1=1; DROP TABLE heads; --",
    "x" * 100_000,
    "\U0001f600" * 500,
    "a\u0300" * 3000,
]


def write_hostile(results: Path) -> int:
    """Returns how many folders named task... there are."""
    plain = write_trajectory(results, "Plain--0", num_steps=3, verdict=Verdict.FAILURE)

    def another(name: str) -> Path:
        return shutil.copytree(plain, results / name)

    for number, text in enumerate(TEXTS):
        _with_text(another(f"taskText--{number}"), text)
        another(
            f"task{''.join(letter for letter in text if letter not in '/' and ord(letter) > 31)[:40]}--{number}".encode(
                errors="replace"
            ).decode()
        )
    kinds = [_broken_json, _missing_image, _no_image, _huge_image, _huge_tree]
    kinds += [_wrong_types, _links, _deep, _unfinished, _odd_boxes]
    for place, kind in enumerate(kinds):
        for number in range(22):
            kind(another(f"taskBroken--{place}{number:02d}"), number)
    another("task\n<b>line")
    another(os.fsdecode(b"task\xff\xfe"))
    (results / "taskLink").symlink_to("/etc")
    (results / "task").mkdir()
    (results / f"taskX--run{'9' * 30}").mkdir()
    return len(list(results.glob("task*")))


def _with_text(folder: Path, text: str) -> None:
    """The text in every place that has one."""
    summary = json.loads((folder / "trajectory.json").read_text())
    summary |= {
        "answer": text,
        "reason": text,
        "status": text,
        "provenance": {"policy": text, text: text, "viewport": [text, text]},
    }
    summary["task"] |= {"ques": text, "web": text, "web_name": text}
    (folder / "trajectory.json").write_text(json.dumps(summary))
    steps = [json.loads(line) for line in (folder / "steps.jsonl").read_text().splitlines()]
    for step in steps:
        step |= {"url": text, "reply": f"Thought: {text}\n\nAction: Click [1]", "feedback": text, "notes": text}
        step |= {"weights_version": text, "timings_s": {text: 1.0}}
        step["actions"] = [
            {"kind": text, "css": [[1e14, 5]], "viewport": [1e-300, 1], "arguments": {text: text, "keys": [text]}},
            {"kind": [text], "css": [[3, 5], text, [1e-300, 1e-300]], "viewport": [1, text], "arguments": text},
            text,
        ]
        (folder / f"accessibility_tree{step['number']}.txt").write_bytes(f"[1] link '{text}'".encode(errors="replace"))
    (folder / "steps.jsonl").write_text("".join(json.dumps(step) + "\n" for step in steps))
    outcome = {"verdict": "failure", "reason": text, "judge": text, "raw": text, "prompt_hash": text}
    (folder / "outcome.json").write_text(json.dumps(outcome))


def _broken_json(folder: Path, number: int) -> None:
    name = ("trajectory.json", "steps.jsonl", "outcome.json", "boxes1.json")[number % 4]
    (folder / name).write_bytes((b"{", b"\xff\xfe", b"[1, 2]", b"null", b"{}\n{\n")[number // 4 % 5])


def _missing_image(folder: Path, number: int) -> None:
    (folder / f"screenshot{1 + number % 3}.png").unlink()


def _no_image(folder: Path, number: int) -> None:
    text = TEXTS[number].encode(errors="replace")
    (folder / "screenshot1.png").write_bytes(
        (f"<svg onload='{RUN}'/>".encode(), text, b"", b"\x89PNG\r\n\x1a\n")[number % 4]
    )


def _huge_image(folder: Path, number: int) -> None:
    head = b"IHDR" + (60_000).to_bytes(4) + (60_000).to_bytes(4) + b"\x08\x02\x00\x00\x00"
    content = b"\x89PNG\r\n\x1a\n" + (13).to_bytes(4) + head + zlib.crc32(head).to_bytes(4)
    (folder / "screenshot1.png").write_bytes(content)


def _huge_tree(folder: Path, number: int) -> None:
    line = f"\t[{number}] link '<script>{RUN}</script>'\n"
    (folder / "accessibility_tree1.txt").write_text(line * 20_000)


def _wrong_types(folder: Path, number: int) -> None:
    wrong = (None, 3, [1], {"a": {}}, "text", True, 1e308, -(10**300), float("nan"), float("inf"))[number % 10]
    summary = json.loads((folder / "trajectory.json").read_text())
    content = (
        dict.fromkeys(summary, wrong) if number < 10 else summary | {"task": dict.fromkeys(summary["task"], wrong)}
    )
    (folder / "trajectory.json").write_text(json.dumps(content))
    step = json.loads((folder / "steps.jsonl").read_text().splitlines()[0])
    lists = {"logprobs": [wrong], "token_ids": [wrong], "timings_s": {"open_s": wrong}}
    steps = [dict.fromkeys(step, wrong), step | lists, wrong]
    (folder / "steps.jsonl").write_text("".join(json.dumps(one) + "\n" for one in steps))


def _links(folder: Path, number: int) -> None:
    names = ("trajectory.json", "steps.jsonl", "outcome.json", "accessibility_tree1.txt", "screenshot1.png")
    path = folder / names[number % 5]
    path.unlink()
    if number < 5:
        path.symlink_to("/etc/passwd")
    elif number < 10:
        os.mkfifo(path)
    elif number < 15:
        path.mkdir()
    else:
        path.symlink_to("/dev/zero")


def _deep(folder: Path, number: int) -> None:
    depth = 500 * (number + 1)
    (folder / "outcome.json").write_text("[" * depth + "]" * depth)
    (folder / "trajectory.json").write_text('{"task": ' * depth + "1" + "}" * depth)


def _unfinished(folder: Path, number: int) -> None:
    (folder / "trajectory.json").unlink()
    content = (folder / "steps.jsonl").read_bytes()
    (folder / "steps.jsonl").write_bytes(content[: number * len(content) // 22])


def _odd_boxes(folder: Path, number: int) -> None:
    odd = (None, [], [1], ["a", "b", "c", "d"], [0, 0, -5, 1e300], {"union_bound": "x"}, "<b>", 5)[number % 8]
    (folder / "boxes1.json").write_text(json.dumps({"1": odd, RUN: odd, "__proto__": odd}))
    (folder / "screenshot9.png").write_bytes(screenshot(9))
