"""What no machine has is told at a run's start, not when its stage comes, hours later."""

import re
import subprocess
import sys
from pathlib import Path

from tests.conftest import ROOT
from tests.elcano.ray_nodes import NEEDS_RAY

RECIPE = """
import dataclasses
from pathlib import Path
from elcano.recipe import load_recipe
from elcano.resources import Needs, Resources

def recipe():
    known = load_recipe(Path("examples/quickstart/recipe.py"))
    return dataclasses.replace(known, needs=Needs(training=Resources(num_gpus=99)))
"""

ASKS = """
from common.errors import UserError
from common.ray_cluster.cluster import Node
from elcano.ray_cluster import place
from elcano.resources import Needs, Resources

def ask(nodes, **needs):
    place.nodes = lambda: nodes
    try:
        place.check_needs(Needs(**needs))
        print("nothing")
    except UserError as error:
        print(error)

one, two = Node("a", "10.0.0.1", 4, 0, 8, "cpu"), Node("b", "10.0.0.2", 4, 0, 8, "")
ask([one, two], training=Resources(num_cores=8))
ask([one, two], serving=Resources(num_gpus=1))
ask([one, two], browsing=Resources(partition="x"))
ask([one, two], training=Resources(num_nodes=5))
ask([one, two], training=Resources(num_nodes=2, num_cores=4, partition="cpu"))
ask([one, two], training=Resources(num_nodes=2, num_cores=4), browsing=Resources(partition="cpu"))
ask([one], training=Resources(num_nodes=5))
"""


def test_a_run_begins_nothing_that_this_machine_cannot_end(tmp_path: Path) -> None:
    recipe, output = tmp_path / "recipe.py", tmp_path / "run"
    recipe.write_text(RECIPE)
    words = [sys.executable, "-m", "elcano.cli", "run", recipe, "--output_dir", output]
    done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 2 and not output.exists()
    assert re.fullmatch(r"error: needs.training needs 99 GPUs, and \d+ are visible on this machine\n", done.stderr)


@NEEDS_RAY
def test_a_ray_cluster_is_asked_before() -> None:
    """In a process of its own: Ray reads its settings as it is imported."""
    done = subprocess.run([sys.executable, "-c", ASKS], cwd=ROOT, capture_output=True, text=True)
    go_on = "start such nodes before the run, or ask for less in the recipe"
    there = "there is 4 cores, 0 GPUs, 8 GiB; 4 cores, 0 GPUs, 8 GiB, partition=cpu"
    assert done.stdout.splitlines() == [
        f"needs.training: no node of the Ray cluster has 8 cores; {there}; {go_on}",
        f"needs.serving: no node of the Ray cluster has 1 GPUs; {there}; {go_on}",
        f"needs.browsing: no node of the Ray cluster has the label partition=x; {there}; {go_on}",
        f"needs.training: the Ray cluster has 2 nodes, not num_nodes=5; {go_on}",
        "needs.training: 1 node of the Ray cluster has 4 cores, the label partition=cpu, not num_nodes=2; " + go_on,
        "nothing",
        "needs.training: the Ray cluster has 1 node, not num_nodes=5; " + go_on,
    ], done.stderr
