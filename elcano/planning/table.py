"""What `elcano plan` prints."""

from collections.abc import Sequence

from common.tables import Table, print_table
from elcano.console import console, duration
from elcano.planning.limits import breaks, limits, sessions_for_one_server
from elcano.planning.options import PlanConfig
from elcano.planning.plan import PlannedStage
from elcano.planning.simulation import SPENT

_WAITS = {"page": "page", "reply": "own reply", "server": "server", "cores": "cores", "collector": "collector"}
_WAITS |= {"seat": "seat", "site": "site", "driver": "driver"}

_WIDE = 160  # columns, where nobody's terminal has a width


def print_stages(stages: Sequence[PlannedStage], nodes: int) -> None:
    """Each stage with its seconds; of those that browse, what their sessions waited for."""
    figures = ("time", "sessions", "servers", "steps/s", *_WAITS.values(), "servers busy", "cores busy")
    title = f"{nodes} node{'s' if nodes > 1 else ''}: stages and what their sessions spend their time on, %"
    table = Table(["stage"], figures, title=title)
    for stage in stages:
        table.add(stage.name, duration(stage.seconds), *_browsing(stage))
    table.add("all", duration(sum(stage.seconds for stage in stages)), is_total=True)
    print_table(table, console, None if console.is_terminal else _WIDE)


def _browsing(stage: PlannedStage) -> list[str]:
    found, setting = stage.collected, stage.setting
    if found is None:
        return []
    all_s = sum(found.waits[what] for what in SPENT if what != "idle") or 1
    return [
        str(setting.sessions),
        str(setting.replicas),
        f"{found.steps_per_s:.1f}",
        *(str(round(100 * found.waits[what] / all_s)) for what in _WAITS),
        f"{found.server_busy:.0%}",
        f"{found.cores_busy:.0%}",
    ]


def print_limits(stage: PlannedStage, config: PlanConfig) -> None:
    """What bounds a stage that browses, the lowest first, and what does not work."""
    speed, setting = stage.speed, stage.setting
    console.print(f"{stage.name}, steps/s at most, by arithmetic ({stage.collected.steps_per_s:.1f} simulated):")
    for limit in limits(speed, setting, stage.num_sites):
        console.print(f"  {limit.steps_per_s:8.1f}  {limit.what}")
    enough = sessions_for_one_server(speed, setting.max_batch_size)
    console.print(f"  {enough} sessions that never wait keep one server busy", soft_wrap=True)
    for line in _broken(stage, config):
        console.print(f"  breaks: {line}", soft_wrap=True, markup=False)


def print_sizes(stages: Sequence[PlannedStage], config: PlanConfig) -> None:
    """One line a size: the same stage on more and more nodes."""
    figures = ("nodes", "sessions", "servers", "steps/s", "time", "servers busy", "cores busy", "at most, steps/s")
    table = Table([], figures, ["because of"], title=f"{stages[0].name}, by nodes")
    for stage in stages:
        found, setting = stage.collected, stage.setting
        first = limits(stage.speed, setting, stage.num_sites)[0]
        table.add(
            str(setting.nodes),
            str(setting.sessions),
            str(setting.replicas),
            f"{found.steps_per_s:.1f}",
            duration(stage.seconds),
            f"{found.server_busy:.0%}",
            f"{found.cores_busy:.0%}",
            f"{first.steps_per_s:.1f}",
            first.what,
        )
    print_table(table, console, None if console.is_terminal else _WIDE)
    for stage in stages:
        for line in _broken(stage, config):
            console.print(f"{stage.setting.nodes} nodes break: {line}", soft_wrap=True, markup=False)


def _broken(stage: PlannedStage, config: PlanConfig) -> list[str]:
    said = breaks(stage.setting, config)
    if stage.collected.stopped:
        said.append(f"the collector stops after {duration(stage.collected.seconds)}: {stage.collected.stopped}")
    elif stage.collected.num_lost:
        said.append(f"{stage.collected.num_lost} trajectories are lost to refused requests")
    return said
