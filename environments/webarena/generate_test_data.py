"""WebArena's generate_test_data: fill in the sites' addresses, write one file per task, and a task file for us.

    export SHOPPING=http://host:7770 SHOPPING_ADMIN=http://host:7780/admin REDDIT=... GITLAB=... MAP=... WIKIPEDIA=...
    python environments/webarena/generate_test_data.py --raw_file config_files/wa/test_webarena_lite.raw.json

Writes beside the raw file `test_webarena_lite.json`, `test_webarena_lite/<number>.json` as WebArena does, and
`test_webarena_lite.jsonl`, which `collection/run.py --test_file ... --judge webarena` takes.
"""

import json
from dataclasses import dataclass
from pathlib import Path

from common import cli
from common.files import write_json
from data.task import write_tasks
from environments.webarena.addresses import addresses_from_environment
from environments.webarena.tasks import read_configurations, to_tasks


@dataclass(frozen=True)
class Config:
    """Fill in the addresses of WebArena's sites."""

    raw_file: Path
    """WebArena's raw configuration file, such as test.raw.json or test_webarena_lite.raw.json."""
    state_dir: Path = Path()
    """Where the login states lie that the configurations name, such as ./.auth/shopping_state.json."""


def main(config: Config) -> None:
    """Write the three."""
    configurations = read_configurations(config.raw_file, addresses_from_environment())
    tasks = to_tasks(configurations, config.state_dir)
    name = config.raw_file.name.removesuffix(".json").removesuffix(".raw")
    folder = config.raw_file.with_name(name)
    for number, configuration in enumerate(configurations):
        write_json(folder / f"{number}.json", configuration)
    write_json(config.raw_file.with_name(f"{name}.json"), configurations)
    write_tasks(config.raw_file.with_name(f"{name}.jsonl"), tasks)
    print(json.dumps({"tasks": len(tasks), "written": str(config.raw_file.with_name(f"{name}.jsonl"))}))


if __name__ == "__main__":
    cli.run(Config, main, description=__doc__)
