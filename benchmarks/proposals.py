"""How good proposed tasks are, by the embedded sites' oracle.

    python benchmarks/proposals.py [--num_tasks 100] [--run_dir runs/quickstart]

Starts the stand-in proposer and proposes from names and from examples, with the model's feasibility check; with the
output folder of a run also from its teacher's demonstrations (as text, the stand-in sees no images)
and from the tasks that it failed in its first exploration. Prints what came out beside the same proposals before the
filters (the baseline).
"""

import dataclasses
import re
import subprocess
import sys
import tempfile
from pathlib import Path

from common import cli
from common.files import read_json
from common.processes import die_with_parent

ROOT = Path(__file__).resolve().parent.parent
TASKS = ROOT / "data" / "tasks"
METHODS = {
    "names": ["--sites_file", str(TASKS / "IL.jsonl")],
    "self_instruct": ["--seed_files", str(TASKS / "IL.jsonl")],
}


@dataclasses.dataclass(frozen=True)
class Config:
    """Measure proposers."""

    num_tasks: int = 100
    """Tasks wanted from each method."""
    run_dir: Path | None = None
    """Output folder of the quickstart, whose trajectories demos and evolve start from."""

    def methods(self) -> dict[str, list[str]]:
        """The flags of each method."""
        if self.run_dir is None:
            return METHODS
        demos = ["--results_dir", str(self.run_dir / "IL" / "trajectories"), "--num_trees", "3", "--num_imgs", "0"]
        failed = ["--results_dir", str(self.run_dir / "optim-1" / "trajectories")]
        return METHODS | {
            "demos": [*demos, "--seed_files", str(TASKS / "IL.jsonl")],
            "evolve": [*failed, "--seed_files", str(TASKS / "optim-1.jsonl")],
        }


def main(config: Config) -> None:
    """One line per method."""
    command = [sys.executable, "collection/stand_in.py", "--model", "proposer", "--port", "0"]
    server = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True, preexec_fn=die_with_parent)
    try:
        url = re.search(r"http\S+", server.stdout.readline())[0]
        with tempfile.TemporaryDirectory() as folder:
            for method, source in config.methods().items():
                report = propose(Path(folder) / f"{method}.jsonl", method, source, url, config.num_tasks)
                print(
                    method, f"written {report['written']}", report["oracle_kept"], "before:", report["oracle_proposed"]
                )
    finally:
        server.terminate()
        server.wait()


def propose(output: Path, method: str, source: list[str], url: str, num_tasks: int) -> dict:
    """The report of one command."""
    command = [sys.executable, "collection/propose_tasks.py", "--method", method, "--output_file", str(output)]
    command += ["--num_tasks", str(num_tasks), "--test_files", str(TASKS / "test.jsonl"), "--check_feasibility"]
    command += ["--api_model", "proposer", "--api_base", url, *source]
    subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.DEVNULL)
    return read_json(output.with_name(output.name + ".report.json"))


if __name__ == "__main__":
    cli.run(Config, main, description=__doc__)
