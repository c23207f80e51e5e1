"""Collect for online learning, for as long as it goes on: groups of rollouts, judged and handed to the trainer.

    python collection/pool.py --run_dir runs/online --api_localhost http://127.0.0.1:8080/predict --headless \\
        --group_size 6 --groups_per_step 8 --max_lag 2 --max_iter 8 --temperature 0.6 --seed 0

Tasks are those of <run>/tasks.jsonl, drawn epoch after epoch; lines may be appended while it runs. Each group of
rollouts goes to <run>/trajectories/, whose layout is in data/online_run.py. Nothing waits for a step's end: the next
rollout begins as soon as a browser is free, as long as the trainer can learn from its group before it is more than
--max_lag versions old. Start it again after whatever ended it, and it goes on.
"""

import contextlib
import dataclasses
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from runpy import run_path

try:
    from collection.campaign.campaign import full
    from collection.campaign.collectors import this_process
    from collection.campaign.lease import leases
    from collection.campaign.opening import opened, run_until_stopped, say
    from collection.campaign.options import judge_key, make_pace, make_policy, num_sessions
    from collection.campaign.overview import print_overview
    from collection.campaign.pacing import site_of
    from collection.config.commands import PoolConfig
    from collection.config.tasks import TaskFlags
    from collection.judges import Judge
    from collection.judges.named import make_judge
    from collection.online.patience import PatientPolicy
    from collection.online.pool import Pool
    from collection.online.status import PoolStatus
    from collection.online.tasks import GrowingTasks
    from collection.online.versions import Versions
    from common.cli import run
    from common.defaults import TEST_TASKS
    from common.errors import UserError
    from common.full_disk import FullDiskError, full_disk_error
    from common.options.key_flags import hide_keys
    from common.processes import served
    from data.online_run import OnlineRun
    from data.task import SITES, SITES_PORT, Task, read_tasks
    from environments.world import World
except ModuleNotFoundError as missing:  # not the python of the virtual environment
    sys.exit(run_path(str(Path(__file__).resolve().parents[1] / "common" / "not_installed.py"))["say"](missing))


def main(config: PoolConfig) -> int | None:
    """Collect until it is stopped, or `--num_groups` are complete."""
    if config.test_file is not None or config.output_dir != TaskFlags.output_dir:
        raise UserError("--test_file and --output_dir follow from --run_dir; leave them out")
    online = OnlineRun(config.run_dir)
    config = dataclasses.replace(config, test_file=online.tasks, output_dir=online.trajectories)
    with _sites_served(config) as config, opened(config, TEST_TASKS) as (config, world, tasks):
        if config.dry_run:
            print_overview(tasks)
            return world.check(tasks)
        judge, ledger = make_judge(
            config, config.output_dir, tasks, judge_key(config, config.eval_api_base), config.api_localhost
        )
        assert judge is not None  # as `PoolConfig` makes sure
        run_until_stopped(_collect(config, world, tasks, judge))
        if ledger is not None:
            print(ledger.report(), file=sys.stderr)
    return None


@contextlib.contextmanager
def _sites_served(config: PoolConfig) -> Iterator[PoolConfig]:
    """The embedded websites, where tasks begin there and `--sites_port` says of no others. What answers at their usual
    port may be another run's, and end with it."""
    if config.env != "sites" or config.sites_port is not None or config.dry_run or not _begin_at_sites(config):
        yield config
        return
    with served("environments.sites", SITES_PORT) as port:
        say([f"the embedded websites are on port {port} until the end"])
        yield dataclasses.replace(config, sites_port=port)


def _begin_at_sites(config: PoolConfig) -> bool:
    origins = {f"{site}.localhost:{SITES_PORT}" for site in SITES}
    return any(site_of(task) in origins for task in read_tasks(OnlineRun(config.run_dir).tasks))


async def _collect(config: PoolConfig, world: World, tasks: Sequence[Task], judge: Judge) -> None:
    online = OnlineRun(config.run_dir)
    status = PoolStatus(online.folder / "state" / "pool.json")
    policy, pace = PatientPolicy(make_policy(config), status.say), make_pace(config, config.env, config.site_interval_s)
    versions = Versions(online, policy)
    try:
        await world.restore()
        await world.snapshot()
        world.check(tasks)
        await policy.check()
        await versions.look()
        with leases(config.output_dir) as held:
            if not held.take("pool/"):
                raise UserError(f"another pool collects into {config.output_dir}; stop it first")
            growing = GrowingTasks(config, world, list(tasks), status.say)
            pool = Pool(config, world, growing, versions, held, judge, pace, status)
            async with this_process(
                config, config.max_iter, world, tasks, policy, pace, num_sessions(config.num_sessions)
            ) as join:
                await pool.run(join)
    except Exception as error:
        if isinstance(error, FullDiskError) or full_disk_error(error):
            folders = (folder for group in online.groups().values() for folder in group.glob("task*"))
            raise full(config.output_dir, folders, error) from error
        raise
    finally:
        await policy.close()


if __name__ == "__main__":
    hide_keys()
    run(PoolConfig, main, description="Collect groups of rollouts for online learning.")
