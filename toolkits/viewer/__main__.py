"""See what agents saw, thought and were worth, live and afterwards: elcano view runs/quickstart

    elcano view runs/a runs/b                        http://localhost:8090/, on this machine only
    elcano view runs/quickstart --export shown       the same pages as files
    elcano view runs/a --host 0.0.0.0                for other machines, with a token in the address

Opens runs, folders of trajectories (OpenWebVoyager's released ones, too), and folders that hold some.
"""

import secrets
from pathlib import Path

import uvicorn

from common import cli
from common.errors import UserError
from common.files import make_folder
from common.processes import listen
from toolkits.viewer.answers import Answers
from toolkits.viewer.app import create_app
from toolkits.viewer.export import export_run
from toolkits.viewer.index import Index
from toolkits.viewer.options import ViewConfig

_LOOPBACK = ("127.0.0.1", "localhost", "::1")


def main(config: ViewConfig) -> None:
    """Serve until stopped, or export."""
    index = Index(config.runs)
    if not index.runs:
        raise UserError(f"{', '.join(map(str, config.runs))}: holds no trajectories (folders task...) and no run")
    if config.export:
        _export(Answers(index), config.export)
        return
    listener = listen(config.port, config.host)
    token = "" if config.host in _LOOPBACK else secrets.token_urlsafe(16)
    app = create_app(Answers(index), token)
    index.start()
    host, port = "localhost" if not token else config.host, listener.getsockname()[1]
    print(f"look at http://{host}:{port}/{f'?token={token}' if token else ''} (Ctrl-C ends it)", flush=True)
    uvicorn.Server(uvicorn.Config(app, log_level="warning", access_log=False)).run(sockets=[listener])


def _export(answers: Answers, folder: Path) -> None:
    answers.index.refresh()
    for number, run in enumerate(answers.index.runs):
        target = folder if len(answers.index.runs) == 1 else folder / f"run{number + 1}"
        make_folder(target, "--export")
        print(f"{target / 'index.html'}: {run.key}, {export_run(answers, run, target)} trajectories")


if __name__ == "__main__":
    cli.run(ViewConfig, main, description=__doc__, program="elcano view")
