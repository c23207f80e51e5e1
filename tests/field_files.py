"""Example files in OpenWebVoyager's formats, of our own making, with its names and numbers but none of its texts."""

import io
import itertools
import json
import pickle
import shutil
import tarfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

_STATIC = Path(__file__).resolve().parent / "fixtures" / "openwebvoyager"
_WEBVOYAGER = (
    "Allrecipes,Amazon,Apple,ArXiv,BBC News,Booking,Cambridge Dictionary,Coursera,ESPN,GitHub,Google Flights,"
    "Google Map,Google Search,Huggingface,Wolfram Alpha"
).split(",")
_MIND2WEB = {
    "Entertainment": "eventbrite nyc ticketcenter boardgamegeek store.steampowered imdb rottentomatoes tvguide discogs "
    "last.fm soundcloud foxsports sports.yahoo",
    "Shopping": "uniqlo ebay target cvs ikea",
    "Travel": "ryanair enterprise agoda amtrak mbta thetrainline us.megabus airbnb koa marriott flightaware nps.gov "
    "spothero resy yelp",
}
_OTHER_WEB = {
    "Entertainment": "stubhub nba",
    "Shopping": "cars shopping.google",
    "Travel": "recreation.gov tripadvisor",
}
_TEST, _IL = "data_for_test", "data_for_training/IL"
_QUESTIONS = (
    "Name three things that the newest entry about number {number} says.",
    "Which offer with number {number} is the cheapest on March {day}, 2024?",
    "Search for 'number {number}' and read out\nthe first result.",
    "Open the help page and find out how to return order {number}.",
    "What is planned from {day} December 2023 to January 4, 2024 in hall {number}?",
)


def write_field_files(folder: Path) -> Path:
    """The folder as OpenWebVoyager's examples lie in it: trajectories, json, images, tar and tasks."""
    shutil.copytree(_STATIC, folder, dirs_exist_ok=True)
    (trajectory,) = (folder / "trajectories").iterdir()
    (folder / "images").mkdir()
    example = folder / "json" / "example.json"
    for step, sample in enumerate(json.loads(example.read_text()), start=1):
        shutil.copy(trajectory / f"screenshot{step}.png", folder / "images" / sample["images"][-1])
    _write_tar(folder / "tar", json.loads(example.read_text()), folder / "images")
    _write_tasks(folder / "tasks")
    return folder


def _write_tar(folder: Path, samples: list[dict[str, Any]], images: Path) -> None:
    """As the published converter: of each sample the repr of its turns and a pickle of its images."""
    folder.mkdir()
    with tarfile.open(folder / "openwebvoyager-000000.tar", "w") as tar:
        for sample in samples:
            files = [io.BytesIO((images / name).read_bytes()) for name in sample["images"]]
            parts = {
                "conversations": str(sample["conversations"]).encode(),
                "input_image": pickle.dumps(files, protocol=4),
            }
            for part, content in parts.items():
                info = tarfile.TarInfo(f"{sample['id'].replace('.', '_')}.{part}")
                info.size = len(content)
                tar.addfile(info, io.BytesIO(content))
    listed = [{"url": "openwebvoyager-000000.tar", "nsamples": len(samples)}]
    (folder / "shardlist.json").write_text(json.dumps(listed, indent=4))


def _write_tasks(folder: Path) -> None:
    general = [{"web_name": "", "web": "https://www.google.com/"}]
    files = {
        f"{_TEST}/WebVoyager_test": (643, "{web_name}--{number}", _webvoyager()),
        f"{_TEST}/example": (1, "Google Flights--5{number}", _webvoyager()[10:11]),
        f"{_TEST}/mind2web_test_cross_task": (112, "Mind2Web-test-{website}--{number:03d}", _mind2web(_MIND2WEB)),
        f"{_TEST}/mind2web_test_cross_web": (106, "Mind2Web-test-{website}--{number:03d}", _mind2web(_OTHER_WEB)),
        f"{_IL}/general_google_search_460q": (460, "Google Search--general--{number:03d}", general),
        f"{_IL}/mind2web_human_extend_165q": (
            165,
            "Mind2Web-{website}-human-extend--{number:03d}",
            _mind2web(_MIND2WEB),
        ),
        f"{_IL}/mind2web_selected_web_516q": (516, "Mind2Web-{website}--{number:03d}", _mind2web(_MIND2WEB)),
        f"{_IL}/webvoyager_extend_300q": (300, "{web_name}--extend--{number}", _webvoyager()),
        f"{_IL}/webvoyager_human_extend_75q": (75, "WebVoyager-{web_name}-human-extend--{number:03d}", _webvoyager()),
    }
    for stage in (1, 2, 3):
        name = f"data_for_training/optim_iter{stage}/{{}}_for_iter{stage}"
        files[f"{name.format('webvoyager')}_150q"] = (150, f"{{web_name}}--{stage}{{number:03d}}", _webvoyager())
        ids = f"Mind2Web-{{website}}-extend--{stage}{{number:03d}}"
        files[f"{name.format('mind2web')}_330q"] = (330, ids, _mind2web(_MIND2WEB))
    for name, (count, ids, sites) in files.items():
        path = folder / f"{name}.jsonl"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("\n".join(map(json.dumps, _tasks(count, ids, sites))))  # without a last line end, as released


def _tasks(count: int, ids: str, sites: Sequence[dict[str, str]]) -> Iterator[dict[str, str]]:
    """As many tasks of each site as of the others."""
    for number, question in zip(range(count), itertools.cycle(_QUESTIONS)):
        site = sites[number % len(sites)]
        ques = question.format(number=number, day=1 + number % 28)
        task = {**site, "id": ids.format(**site, number=number // len(sites)), "ques": ques}
        yield {name: value for name, value in task.items() if value}


def _webvoyager() -> list[dict[str, str]]:
    return [{"web_name": name, "web": f"https://{name.replace(' ', '').lower()}.example/"} for name in _WEBVOYAGER]


def _mind2web(domains: dict[str, str]) -> list[dict[str, str]]:
    return [
        {"domain": domain, "subdomain": domain, "website": name, "web": f"https://{name}.example"}
        for domain, names in domains.items()
        for name in names.split()
    ]
