"""elcano view opens what inspect_data.py leaves; what is none is refused, and nothing of it becomes a path."""

import base64
import json
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from common.errors import UserError
from data.data_report import MARK
from tests.viewer.conftest import TOKEN
from viewer.__main__ import main
from viewer.answers import Answers
from viewer.app import create_app
from viewer.catalog.index import Index
from viewer.options import ViewConfig
from viewer.reports import open_reports

JPEG = b"\xff\xd8\xff\xe0rest"


def report(path: Path, **more: object) -> Path:
    tiles = [{"id": "a", "action": "Click [1]", "jpeg": base64.b64encode(JPEG).decode()}, {"jpeg": "PHN2Zz4="}]
    told = {"kind": MARK, "data": "a.json", "samples": 3, "actions": {"Click": 2}, "leaks": {"val": {"alike": 1}}}
    path.write_text(json.dumps({**told, "characters (median, longest)": [5, 9], "tiles": tiles, **more}))
    return path


def asked(tmp_path: Path, *files: Path) -> TestClient:
    answers = Answers(Index([], tmp_path / "index.sqlite"), open_reports(files))
    cookies = {"elcano_view_8090": TOKEN}
    return TestClient(create_app(answers, TOKEN), "http://localhost:8090", cookies=cookies)


def test_a_report_is_answered(tmp_path: Path) -> None:
    client = asked(tmp_path, report(tmp_path / "report.json"))
    assert client.get("/answer/state").json()["reports"] == ["report.json"]
    told = client.get("/answer/report", params={"report": "report.json"}).json()
    assert told["data"] == "a.json" and told["tiles"][0] == {"id": "a", "action": "Click [1]"}
    assert ["samples", 3] in told["numbers"] and ["actions", [["Click", 2]]] in told["numbers"]
    assert ["leaks", [["val", [["alike", 1]]]]] in told["numbers"] and ["characters (median, longest)", "5, 9"] in told[
        "numbers"
    ]
    tile = client.get("/tile", params={"report": "report.json", "number": 0})
    assert tile.content == JPEG and tile.headers["content-type"] == "image/jpeg"
    for wanted in ({"number": 1}, {"number": 9}, {"number": "-1"}, {"number": 0, "report": "../report.json"}):
        assert client.get("/tile", params={"report": "report.json", **wanted}).status_code in (404, 422)


def test_what_is_no_report_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text('{"kind": "something"}')
    with pytest.raises(UserError, match=r"a\.json: no folder, and no report of toolkits/inspect_data.py"):
        main(ViewConfig((tmp_path / "a.json",)))
    (tmp_path / "deep.json").write_text(f'{{"kind": "{MARK}", "a": {"[" * 900}{"]" * 900}}}')
    with pytest.raises(UserError, match=r"deep\.json: nested too deeply"):
        open_reports([tmp_path / "deep.json"])
    (tmp_path / "link.json").symlink_to(report(tmp_path / "report.json"))
    with pytest.raises(UserError, match="links are not followed"):
        open_reports([tmp_path / "link.json"])
    with pytest.raises(UserError, match="a report is one file already"):
        main(ViewConfig((tmp_path / "report.json",), export=tmp_path / "shown"))
