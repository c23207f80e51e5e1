"""The same work on many items, over processes, with a progress bar on terminals."""

import multiprocessing
import sys
from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from typing import Any, TypeVar

from common.errors import UserError
from common.processes import die_with_parent, num_cores

Item = TypeVar("Item")
Result = TypeVar("Result")

_work: Callable[[int], Any]  # set in each worker


def run_parallel(
    work: Callable[[Item], Result], items: Sequence[Item], num_workers: int, label: str, chunk: int = 1
) -> Generator[Result, None, None]:
    """`work` of each item, in the order of `items`; in this process when there is no more than one chunk of them.

    Workers are forks, so `work` and `items` need not be picklable, only results. An error in one ends all.
    """
    num_workers = min(num_workers or num_cores(), -(-len(items) // chunk))
    if num_workers <= 1:
        yield from _with_progress(map(work, items), len(items), label)
        return
    context = multiprocessing.get_context("fork")
    start = (lambda index: work(items[index]),)
    with ProcessPoolExecutor(num_workers, context, _start_worker, start) as pool:
        results = pool.map(_call, range(len(items)), chunksize=chunk)
        try:
            yield from _with_progress(results, len(items), label)
        except BrokenProcessPool:
            raise UserError(f"{label}: a worker was killed (out of memory?); give fewer --num_workers") from None
        finally:
            pool.shutdown(cancel_futures=True)  # waits: as Python ends, it writes to the pipe that a pool still closes


def _start_worker(work: Callable[[int], Any]) -> None:
    global _work
    die_with_parent()
    _work = work


def _call(index: int) -> Any:
    return _work(index)


def _with_progress(results: Iterator[Result], total: int, label: str) -> Iterator[Result]:
    if not sys.stderr.isatty():
        yield from results
        return
    from rich.console import Console  # imported here: it takes longer than a small conversion
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn(label), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True)) as bar:
        task = bar.add_task(label, total=total)
        for result in results:
            yield result
            bar.advance(task)
