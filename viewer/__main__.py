"""See what agents saw, thought and were worth, live and afterwards: elcano view runs/quickstart

    elcano view runs/a runs/b                        on this machine only; open the address that it prints
    elcano view runs/quickstart --export shown       the same pages as files; --gif true: a GIF of each, too
    elcano view results/taskShop--3 --export shown   those of one trajectory
    elcano view runs/a --host 0.0.0.0                for other machines, too
    elcano view report.json                          what toolkits/inspect_data.py found

Opens runs, folders of trajectories (OpenWebVoyager's released ones, too), and folders that hold some.
"""

import json
import secrets
import socket
import sys
from collections.abc import Sequence
from pathlib import Path
from urllib.parse import quote

from common import cli
from common.errors import UserError
from common.files import make_folder
from common.network.serving import serve_app
from common.processes import listen
from viewer.answers import Answers
from viewer.app import create_app
from viewer.catalog.index import Index
from viewer.catalog.opened import IN_TRAJECTORIES
from viewer.catalog.reading import is_file
from viewer.export import export_runs, export_trajectory
from viewer.options import ViewConfig
from viewer.reports import open_reports

_LOOPBACK = ("127.0.0.1", "localhost", "::1")
_EVERYWHERE = ("0.0.0.0", "::", "")  # not addresses that another machine could open


def main(config: ViewConfig) -> None:
    """Serve until stopped, or export."""
    if config.gif and not config.export:
        raise UserError("--gif is written beside exported pages; give --export FOLDER, too")
    files = [path for path in config.runs if path.is_file()]
    folders = [path for path in config.runs if path not in files]
    single, reports = _single(folders), open_reports(files)
    if reports and config.export:
        raise UserError(f"{files[0]}: a report is one file already; --export is of runs and trajectories")
    index = Index([single.parent] if single else folders)
    if not index.runs and not reports:
        raise UserError(f"{', '.join(map(str, config.runs))}: holds no trajectories (folders task...) and no run")
    if config.export:
        try:
            _export(Answers(index), config.export, config, single)
        except OSError as error:  # a full disk, say
            raise UserError(f"--export: {error.filename or config.export}: {error.strerror}") from None
        return
    listener = listen(config.port, config.host)
    token = secrets.token_urlsafe(16)  # on loopback, too: other users of this machine reach that
    app = create_app(Answers(index, reports), token)
    sys.setswitchinterval(0.0005)  # answers wait less for the thread that reads folders
    index.start()
    port = listener.getsockname()[1]
    host = "localhost" if config.host in _LOOPBACK else config.host
    host = socket.gethostname() if host in _EVERYWHERE else host
    host = f"[{host}]" if ":" in host else host  # IPv6
    step = f"#/t/{quote(index.runs[0].sets[0].key, safe='')}/{quote(single.name)}/1" if single else ""
    print(f"look at http://{host}:{port}/?token={token}{step} (Ctrl-C ends it)", flush=True)
    serve_app(app, listener)


def _single(roots: Sequence[Path]) -> Path | None:
    """The trajectory folder that was given, if it is one."""
    if len(roots) != 1:
        return None
    path = roots[0].resolve()
    is_single = path.name.startswith("task") and any(is_file(path / name) for name in IN_TRAJECTORIES)
    return path if is_single else None


def _export(answers: Answers, folder: Path, config: ViewConfig, single: Path | None) -> None:
    answers.index.refresh()
    make_folder(folder, "--export")
    if single:
        [one] = [one for run in answers.index.runs for one in run.sets if one.path == single.parent]
        found = json.loads(answers.answer("trajectory", {"set": one.key, "name": single.name}))
        export_trajectory(answers, found, folder / "index.html", config.gif, with_tokens=True)
        print(f"{folder / 'index.html'}: {single.name}")
        return
    for page, (run, count) in export_runs(answers, folder, config.gif).items():
        print(f"{page}: {run}, {count} trajectories")


if __name__ == "__main__":
    cli.run(ViewConfig, main, description=__doc__, program="elcano view")
