"""What is in files of columns: of each its samples, its numbers, how many are not 0, their mean and their extremes.

python toolkits/inspect_columns.py --column_files digirl.parquet scores.parquet
"""

import dataclasses
from pathlib import Path

from common import cli
from common.errors import UserError
from data.shards.columns import print_columns, read_record


@dataclasses.dataclass(frozen=True)
class Config:
    """Show files of columns."""

    column_files: tuple[Path, ...]
    """Parquet files made by training/make_columns.sh, training/score.sh or by hand."""


def main(config: Config) -> None:
    """A table of each file, and what it was made of where it says so."""
    if not config.column_files:
        raise UserError("--column_files is missing")
    for path in config.column_files:
        print_columns(path)
        if record := read_record(path):
            print("made of " + ", ".join(f"{name} {value}" for name, value in record.items() if value))


if __name__ == "__main__":
    cli.run(Config, main, description=__doc__)
