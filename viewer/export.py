"""Export: the same pages as files that open from disk or any web server, with scripts, style and data inside."""

import base64
import hashlib
import itertools
import json
import re
import sys
from pathlib import Path
from typing import Any

from common.errors import UserError
from viewer.answers import Answers
from viewer.catalog.heads import shortened
from viewer.catalog.opened import OpenedRun
from viewer.film import film

_PAGES = Path(__file__).parent / "pages"
_MODULES = ("source", "dom", "chart", "run", "rows", "reading", "trajectory", "compare", "live", "data", "main")
"""In an order in which each needs only those before it."""
_MAX_PROMPTS = 60
_MAX_COMPARED = 6
_IMPORT = re.compile(r"^import .*\n", re.MULTILINE)
_EXPORT = re.compile(r"^export (?=(?:async )?(?:function|const) (\w+))", re.MULTILINE)


def export_runs(answers: Answers, folder: Path, with_films: bool) -> dict[Path, tuple[str, int]]:
    """Write the opened runs, of several each in a folder below a page that leads to them; returns the pages with the
    run of each and how many trajectories it has."""
    runs = answers.index.runs
    if len(runs) == 1:
        return {folder / "index.html": (runs[0].key, export_run(answers, runs[0], folder, with_films))}
    found = {}
    for number, run in enumerate(runs, start=1):
        count = export_run(answers, run, folder / f"run{number}", with_films, top="../index.html")
        found[folder / f"run{number}" / "index.html"] = (run.key, count)
    folders = {key: page.relative_to(folder).as_posix() for page, (key, _) in found.items()}
    page = _page({"state": json.loads(answers.answer("state", {})), "folders": folders})
    (folder / "index.html").write_text(page, encoding="utf-8")
    return found


def export_run(answers: Answers, run: OpenedRun, folder: Path, with_films: bool = False, top: str | None = None) -> int:
    """Write `index.html` (the run and the table) and a page of each trajectory in `trajectories/`, with a GIF beside it
    where asked for; returns how many. What an earlier export left there goes. `top` is the page that leads here.

    Files are numbered: no name from disk becomes one here.
    """
    pages: dict[str, str] = {}
    (folder / "trajectories").mkdir(parents=True, exist_ok=True)
    for one in run.sets:
        for head in answers.index.heads(one):
            path = f"trajectories/{len(pages) + 1:06d}.html"
            try:
                found = json.loads(answers.answer("trajectory", {"set": one.key, "name": head.name}))
                export_trajectory(answers, found, folder / path, with_films, top="../index.html")
            except OSError:  # a full disk, say
                raise
            except Exception as error:  # whatever one of them holds, the others are exported
                print(f"{one.key}/{head.name} is left out: {shortened(str(error) or repr(error))}", file=sys.stderr)
                continue
            pages[f"{one.key}/{head.name}"] = path
    given = {"run": run.key}
    data = {name: json.loads(answers.answer(name, given)) for name in ("state", "run", "curves", "rows", "thoughts")}
    data["state"]["runs"] = [one for one in data["state"]["runs"] if one["key"] == run.key]
    data |= {"pages": pages, "compared": _compared(answers, run), "top": top}
    (folder / "index.html").write_text(_page(data), encoding="utf-8")
    for path in (folder / "trajectories").iterdir():
        own = re.fullmatch(r"([0-9]{6})\.(html|gif)", path.name)
        if own and (int(own[1]) > len(pages) or (own[2] == "gif" and not with_films)):
            path.unlink()
    return len(pages)


def _compared(answers: Answers, run: OpenedRun) -> dict[str, Any]:
    """Each two of a run's test sets."""
    tests = [one.key for one in run.sets if one.key.endswith("test")][:_MAX_COMPARED]
    return {
        f"{before} {after}": json.loads(answers.answer("compare", {"before": before, "after": after}))
        for before, after in itertools.permutations(tests, 2)
    }


def export_trajectory(
    answers: Answers,
    found: dict[str, Any],
    path: Path,
    with_film: bool,
    with_tokens: bool = False,
    top: str | None = None,
) -> None:
    """Write what `read_detail` found as the HTML file `path`; `top` is the page that leads to it."""
    path.write_text(trajectory_page(answers, found, with_tokens, top), encoding="utf-8")
    if with_film and found["steps"]:
        path.with_suffix(".gif").write_bytes(film(answers, found))


def trajectory_page(answers: Answers, found: dict[str, Any], with_tokens: bool = False, top: str | None = None) -> str:
    """One trajectory as HTML that needs nothing else. Tokens as words take seconds, for which a run has no time."""
    images, prompts = {}, {}
    for step in found["steps"]:
        number = str(step["number"])
        given = {"set": found["set"], "name": found["name"], "number": number}
        try:
            if len(found["steps"]) > _MAX_PROMPTS:  # each holds all steps before it
                raise UserError(f"only trajectories of at most {_MAX_PROMPTS} steps are exported with their prompts")
            prompts[number] = json.loads(answers.answer("prompt", given))
        except UserError as error:
            prompts[number] = [{"role": "not shown", "text": str(error)}]
        try:
            content = answers.screenshot(given)
            images[number] = f"data:image/png;base64,{base64.b64encode(content).decode()}"
        except UserError:
            continue  # the page says that it is missing
    tokens = _tokens(answers, found, with_tokens)
    return _page({"trajectory": found, "images": images, "prompts": prompts, "tokens": tokens, "top": top})


def _tokens(answers: Answers, found: dict[str, Any], wanted: bool) -> Any:
    try:
        if not wanted:
            raise UserError("a page of a whole run holds no words of them")
        return json.loads(answers.answer("tokens", {"set": found["set"], "name": found["name"]}))
    except UserError as error:
        return {"problem": str(error)}


def _page(data: dict[str, Any]) -> str:
    """The viewer's page with everything inline. Only the very script that stands in it may run."""
    script = "\n".join(_as_block((_PAGES / f"{name}.js").read_text()) for name in _MODULES)
    style = (_PAGES / "viewer.css").read_text()
    policy = f"default-src 'none'; script-src {_hash(script)}; style-src {_hash(style)}; img-src data:; base-uri 'none'"
    # so that no text of others ends the element it stands in
    embedded = json.dumps(data, allow_nan=False).replace("<", "\\u003c")
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n<title>Elcano</title>\n'
        f'<link rel="icon" href="data:,">\n<style>{style}</style>\n</head>\n<body>\n<main id="main"></main>\n'
        f'<script type="application/json" id="embedded">{embedded}</script>\n'
        f'<script type="module">{script}</script>\n</body>\n</html>\n'
    )


def _as_block(module: str) -> str:
    """A module in a scope of its own that gives out what it exports: browsers load no modules from files on disk."""
    names = ", ".join(_EXPORT.findall(module))
    body = _EXPORT.sub("", _IMPORT.sub("", module))
    return f"const {{ {names} }} = await (async () => {{\n{body}\nreturn {{ {names} }};\n}})();"


def _hash(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"
