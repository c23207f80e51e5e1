"""Propose new tasks: from sites' names, from demonstrations, from examples, or from tasks that failed.

    python collection/propose_tasks.py --method names --sites_file tasks.jsonl --num_tasks 100 \\
        --api_model gpt-4o --test_files test.jsonl --output_file proposed.jsonl
    python collection/propose_tasks.py --method demos --results_dir runs/IL/trajectories ...
    python collection/propose_tasks.py --method self_instruct --seed_files IL.jsonl ...
    python collection/propose_tasks.py --method evolve --seed_files optim-1.jsonl --check_feasibility \\
        --results_dir runs/optim-1/trajectories --critic_scores scores.jsonl ...
    python collection/propose_tasks.py --method given --seed_files proposed.jsonl --critic_scores scores.jsonl ...

Proposals that say the same as a known task, leak from the test files, or fail a check are left out; what became of all
of them stands in `<output_file>.report.json`. Sites are those of --sites_file, or of the seeds and demonstrations.
"""

import json
import random
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from collection.config.proposals import ProposalsConfig
from collection.endpoints.keys import base_key, endpoint_key
from collection.judges.endpoint.endpoint import Endpoint
from collection.judges.endpoint.ledger import PRICES, Budget, Ledger
from collection.judges.endpoint.reply_cache import ReplyCache
from collection.proposers.filters import Filters, critic_window, model_says_feasible
from collection.proposers.leaks import TestSplit
from collection.proposers.oracle_report import add_ground_truth, is_embedded, oracle_report, outside_test_split
from collection.proposers.sources import Site, from_demos, from_examples, from_failures, from_names, sites_of
from common.cli import run
from common.errors import UserError
from common.files import write_json
from common.options.key_flags import hide_keys
from common.shown.tables import Table, print_table
from data.task import Task, read_tasks, write_tasks

MAX_ROUNDS = 6  # requests for a site until it has its tasks; each asks for what is still missing


def main(config: ProposalsConfig) -> None:
    """Propose, filter, write the tasks and the report."""
    seeds = [task for file in config.seed_files for task in read_tasks(file)]
    tests = [task for file in config.test_files for task in read_tasks(file)]
    is_given = config.method == "given"
    endpoint = None if is_given and not config.check_feasibility else make_endpoint(config)
    sources = [] if is_given else make_sources(config, seeds)
    known = [] if is_given else [task.ques for task in seeds]
    filters = Filters(TestSplit([task.ques for task in tests], known), config.max_similarity)
    for ques in known:
        filters.known.add(ques)
    if all(is_embedded(each.web) for each in sources or seeds):
        filters.checks.append(("test_leak", outside_test_split))
    if config.check_feasibility and endpoint is not None:
        filters.checks.append(("infeasible", lambda task: model_says_feasible(endpoint, task)))
    if config.critic_scores is not None:
        filters.checks.append(("outside_critic_window", critic_window(config.critic_scores, config.critic_window)))
    if is_given or endpoint is None:
        raw, tasks = seeds, evenly([task for task in seeds if filters.passes(task)], config.num_tasks)
    else:
        proposer, share = Proposer(config, endpoint, filters), -(-config.num_tasks // len(sources))
        tasks = [task for source in sources for task in proposer.propose(source, share)][: config.num_tasks]
        raw = proposer.raw
    report = {
        "wanted": config.num_tasks,
        "written": len(tasks),
        **filters.counts,
        **({"cost": endpoint.ledger.report()} if endpoint else {}),
    }
    report |= oracle_report(raw, tasks)
    if config.ground_truth:
        tasks = add_ground_truth(tasks)
        report["written"] = len(tasks)
    if not tasks:
        raise UserError(f"no proposal passed the filters: {filters.counts}")
    write_tasks(config.output_file, tasks)
    write_json(config.output_file.with_name(config.output_file.name + ".report.json"), report)
    print_report(report)


def evenly(tasks: Sequence[Task], num_tasks: int) -> list[Task]:
    """At most so many of them, the first ones of each site, from all sites alike as far as they have them."""
    counts: Counter[str] = Counter()
    places = []
    for place, task in enumerate(tasks):
        places.append((counts[task.web_name], place))
        counts[task.web_name] += 1
    return [tasks[place] for place in sorted(place for _, place in sorted(places)[:num_tasks])]


@dataclass
class Proposer:
    """Asks until a site has its tasks; `raw` keeps all proposals as they came, for the report."""

    config: ProposalsConfig
    endpoint: Endpoint
    filters: Filters
    raw: list[Task] = field(default_factory=list)

    def propose(self, source: Site, num_tasks: int) -> list[Task]:
        """At most `num_tasks` tasks for one site."""
        config, kept = self.config, []
        for number in range(MAX_ROUNDS):
            missing = num_tasks - len(kept)
            if missing <= 0:
                break
            rng = random.Random(f"{config.seed} {source.web_name} {number}")
            wanted = min(config.tasks_per_request, missing + missing // 2 + 2)
            for ques in source.ask(self.endpoint, wanted, rng, config.temperature, self.filters.counts):
                task = Task(
                    id=f"{source.web_name}-{config.id_prefix}--{len(kept):03d}",
                    ques=ques,
                    web=source.web,
                    web_name=source.web_name,
                )
                self.raw.append(task)
                if len(kept) < num_tasks and self.filters.passes(task):
                    kept.append(task)
        return kept


def make_endpoint(config: ProposalsConfig) -> Endpoint:
    """The proposing model, with a ledger and remembered replies beside the output file."""
    folder = config.output_file.parent / ".proposals"
    prices = PRICES.get(config.api_model)
    ledger = Ledger(folder / f"{config.output_file.stem}.costs.jsonl", Budget(config.budget_usd, None, prices))
    key = endpoint_key(config.api_base, base_key(config.api_key))
    return Endpoint(config.api_model, key, config.api_base, ReplyCache(folder / "replies"), ledger)


def make_sources(config: ProposalsConfig, seeds: Sequence[Task]) -> list[Site]:
    """One source per site; what a method needs is there, as `ProposalsConfig` makes sure."""
    if config.method == "names":
        assert config.sites_file is not None
        return from_names(sites_of(read_tasks(config.sites_file)))
    if config.method == "self_instruct":
        return from_examples(seeds, config.num_examples)
    assert config.results_dir is not None
    if config.method == "demos":
        return from_demos(config.results_dir, config.num_imgs, config.num_trees)
    return from_failures(seeds, config.results_dir, config.num_examples)


def print_report(report: dict[str, Any]) -> None:
    """What became of the proposals, to standard output."""
    table = Table(["fate"], sentences=["proposals"])
    for name, value in report.items():
        table.add(name, json.dumps(value) if isinstance(value, dict) else str(value))
    print_table(table)


if __name__ == "__main__":
    hide_keys()
    run(ProposalsConfig, main, description="Propose new tasks.")
