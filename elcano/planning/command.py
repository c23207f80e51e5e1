"""`elcano plan`: read what was measured, plan, print."""

from elcano.console import console
from elcano.planning.measured import read_run
from elcano.planning.options import PlanConfig
from elcano.planning.plan import Planner
from elcano.planning.table import print_limits, print_sizes, print_stages
from elcano.recipe import load_recipe


def plan(config: PlanConfig) -> None:
    """One size: all stages. Several: the last exploration of each.

    Raises:
        UserError: the recipe or the measured run cannot be used.
    """
    planner = Planner(load_recipe(config.recipe), read_run(config.measured), config)
    if len(config.nodes) > 1:
        sizes = []
        for nodes in config.nodes:
            console.print(f"simulating {nodes} {'node' if nodes == 1 else 'nodes'} ...")  # minutes for 10,000 sessions
            sizes.append(planner.explore(nodes))
        print_sizes(sizes, config)
        return
    stages = list(planner.plan(config.nodes[0]))
    print_stages(stages, config.nodes[0])
    browsing = [stage for stage in stages if stage.collected]
    explored = [stage for stage in browsing if stage.name.endswith("/explore")]
    print_limits((explored or browsing)[-1], config)
