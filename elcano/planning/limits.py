"""What bounds the steps a second of a collection: by arithmetic alone, before anything is simulated."""

import math
from dataclasses import dataclass

from elcano.planning.options import PlanConfig
from elcano.planning.simulation import Setting
from elcano.planning.speeds import StageSpeed


@dataclass(frozen=True)
class Limit:
    """`steps_per_s` at most, because of `what`."""

    what: str
    steps_per_s: float


def limits(speed: StageSpeed, setting: Setting, num_sites: int) -> list[Limit]:
    """The lowest first."""
    page, alone_s = speed.a_step(), _alone_s(speed)
    computed = min(setting.max_batch_size, setting.sessions / setting.replicas)
    found = [
        Limit("browsers", setting.sessions / alone_s),
        Limit("servers", setting.replicas * speed.server.replies_per_s(computed)),
    ]
    if setting.collector_s_a_step:
        found.append(Limit("collectors", setting.nodes / setting.collector_s_a_step))
    if page.work_s:
        found.append(Limit("cores", setting.nodes * setting.cores / page.work_s))
    if setting.driver_mb_s:
        found.append(Limit("driver", setting.driver_mb_s / speed.mb_a_step))
    if setting.site_interval_s:
        steps_a_turn = speed.num_steps / (speed.num_steps + len(speed.episodes))  # a page that opens takes a turn, too
        found.append(Limit("site_interval_s", num_sites / setting.site_interval_s * steps_a_turn))
    if setting.site_concurrency:
        found.append(Limit("site_concurrency", num_sites * setting.site_concurrency / alone_s))
    return sorted(found, key=lambda limit: limit.steps_per_s)


def sessions_for_one_server(speed: StageSpeed, max_batch_size: int) -> int:
    """How many sessions, if none ever waited, would ask for as much as one server replies at its best."""
    return math.ceil(speed.server.replies_per_s(max_batch_size) * _alone_s(speed))


def _alone_s(speed: StageSpeed) -> float:
    """A step of a session that waits for no other."""
    page = speed.a_step()
    return page.delay_s + page.work_s + speed.server.alone_s


def breaks(setting: Setting, config: PlanConfig) -> list[str]:
    """What does not work at all at this size, in words."""
    said, most = [], setting.replicas * (setting.max_batch_size + setting.max_queue)
    needed_gib = math.ceil(setting.sessions / setting.nodes) * config.mb_a_session / 1024
    if config.memory_gib and needed_gib > config.memory_gib:
        said.append(f"memory: sessions take {needed_gib:.0f} GiB a node, which has {config.memory_gib:g}")
    if setting.sessions > most:
        said.append(
            f"server queue: {setting.sessions} sessions may ask at once; servers hold {most} requests (each "
            "max_batch_size + max_queue) and refuse others with 429"
        )
    return said
