"""What a proposing model starts from, site by site: a name, demonstrations, examples, or failed tasks."""

import random
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from collection.evaluation.summary import read_attempts
from collection.judges.endpoint.endpoint import Endpoint
from collection.judges.verdict_judge import image_part
from collection.proposers import prompts
from collection.proposers.parsing import parse_proposals
from common.errors import UserError
from data.task import Task
from data.trajectory import Trajectory, is_complete, list_trajectories, read_trajectory

MAX_TOKENS = 2048
DEMOS_PER_REQUEST = 4

Request = Callable[[int, random.Random], list[dict[str, Any]]]


@dataclass(frozen=True)
class Site:
    """A site and how to ask for tasks on it: `request(num_tasks, rng)` gives the messages."""

    web_name: str
    web: str
    request: Request

    def ask(
        self, endpoint: Endpoint, num_tasks: int, rng: random.Random, temperature: float, counts: Counter[str]
    ) -> list[str]:
        """Instructions as they came; JudgeFault when no reply could be read."""
        messages = self.request(num_tasks, rng)
        reply = endpoint.ask(messages, parse_proposals, temperature, rng.randrange(2**31), MAX_TOKENS)
        counts["unreadable"] += reply.meaning.num_unreadable
        return reply.meaning.ques


def sites_of(tasks: Sequence[Task]) -> dict[str, str]:
    """Front page by site name, of the sites that tasks are on."""
    return {task.site: "{0.scheme}://{0.netloc}/".format(urlsplit(task.web)) for task in tasks}


def from_names(sites: dict[str, str]) -> list[Site]:
    """PAE's first proposer: the model knows the site by name."""

    def request(name: str, web: str) -> Request:
        line = prompts.site_line(name, web)
        return lambda num_tasks, rng: prompts.request(prompts.FROM_NAMES, [line], num_tasks)

    return [Site(name, web, request(name, web)) for name, web in sites.items()]


def from_demos(results_dir: Path, num_images: int, num_trees: int) -> list[Site]:
    """PAE's second proposer: screenshots (and texts) of what a person did; some demonstrations with each request."""
    demos: dict[tuple[str, str], list[Trajectory]] = defaultdict(list)
    for folder in list_trajectories(results_dir):
        if is_complete(folder) and (demo := read_trajectory(folder)).ended_by_others is None and demo.steps:
            web = "{0.scheme}://{0.netloc}/".format(urlsplit(demo.web))
            demos[(urlsplit(demo.web).hostname or web).partition(".")[0].capitalize(), web].append(demo)
    if not demos:
        raise UserError(f"{results_dir}: holds no complete demonstration")

    def request(name: str, web: str, shown: Sequence[Trajectory]) -> Request:
        def ask(num_tasks: int, rng: random.Random) -> list[dict[str, Any]]:
            lines, images = [prompts.site_line(name, web)], []
            for demo in rng.sample(shown, min(DEMOS_PER_REQUEST, len(shown))):
                lines += prompts.page_lines(demo.trees[-num_trees:] if num_trees else [])
                last = demo.steps[-num_images:] if num_images else []
                images += [image_part(demo.screenshot(step.number)) for step in last]
            return prompts.request(prompts.FROM_DEMOS, lines, num_tasks, images)

        return ask

    return [Site(name, web, request(name, web, shown)) for (name, web), shown in demos.items()]


def from_examples(seeds: Sequence[Task], num_examples: int, system: str = prompts.SELF_INSTRUCT) -> list[Site]:
    """OpenWebVoyager's proposer: self-instruct from examples on the same site, others with each request."""
    by_site: dict[str, list[Task]] = defaultdict(list)
    for task in seeds:
        by_site[task.site].append(task)

    def request(name: str, web: str, examples: Sequence[Task]) -> Request:
        def ask(num_tasks: int, rng: random.Random) -> list[dict[str, Any]]:
            shown = rng.sample(examples, min(num_examples, len(examples)))
            lines = [prompts.site_line(name, web), *prompts.example_lines(shown)]
            return prompts.request(system, lines, num_tasks)

        return ask

    sites = sites_of(seeds)
    return [Site(name, sites[name], request(name, sites[name], examples)) for name, examples in by_site.items()]


def from_failures(seeds: Sequence[Task], results_dir: Path, num_examples: int) -> list[Site]:
    """WebRL's proposer: variants of tasks that were tried and never solved; other ends say nothing."""
    attempts = read_attempts(results_dir)

    def failed(task: Task) -> bool:
        judged = [attempt.outcome for attempt in attempts.get(task.id, []) if attempt.outcome and attempt.proves]
        return bool(judged) and not any(outcome.success for outcome in judged)

    failures = [task for task in seeds if failed(task)]
    if not failures:
        raise UserError(f"{results_dir}: no task of --seed_files failed there, so there is nothing to evolve from")
    return from_examples(failures, num_examples, prompts.EVOLVE)
