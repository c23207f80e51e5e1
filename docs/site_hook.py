"""What MkDocs does not know of this repository: pages outside of docs/, and links to them and to source files.

README.md becomes the home page, examples/<name>/README.md the page examples/<name>/index.md, CONTRIBUTING.md and
CHANGELOG.md pages beside it. Links between all of them are rewritten. A link to another file leads to the repository
(REPOSITORY_URL), or is its words alone. What leads nowhere stays, so that `mkdocs build --strict` names it.
"""

import posixpath
import re
from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

ROOT = Path(__file__).resolve().parent.parent
PAGES = {  # in the repository: in the site
    "README.md": "index.md",
    "CONTRIBUTING.md": "CONTRIBUTING.md",
    "CHANGELOG.md": "CHANGELOG.md",
    **{
        f"examples/{path.parent.name}/README.md": f"examples/{path.parent.name}/index.md"
        for path in ROOT.glob("examples/*/README.md")
    },
}
SOURCES = {there: here for here, there in PAGES.items()}
LINK = re.compile(r"(?<!`)(!?)\[([^\[\]]*(?:\[[^\[\]]*\][^\[\]]*)*)\]\(([^()\s]+)\)")
LIST = re.compile(r"^( *)([-*]|\d+\.) ")


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Each experiment has a page in docs/results/, and nobody need list it."""
    [results] = [section["Results"] for section in config.nav or [] if "Results" in section]
    listed = {page for entry in results for page in entry.values()}
    found = sorted(f"results/{path.name}" for path in ROOT.glob("docs/results/*.md"))
    results.extend(page for page in found if page not in listed)
    return config


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """The pages outside of docs/ join those within."""
    for here, there in PAGES.items():
        files.append(File.generated(config, there, abs_src_path=str(ROOT / here)))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Links as the site needs them, and an empty line before each list, which GitHub does without."""
    there = page.file.src_uri
    here = SOURCES.get(there, f"docs/{there}")
    lines, fenced = [], False
    for line in markdown.split("\n"):
        if line.lstrip().startswith("```"):
            fenced = not fenced
        if not fenced:
            if LIST.match(line) and lines and lines[-1].strip() and not _in_list(lines):
                lines.append("")
            line = LINK.sub(lambda match: _rewritten(match, here, there, config.repo_url or ""), line)
        lines.append(line)
    return "\n".join(lines)


def _in_list(lines: list[str]) -> bool:
    """Whether the last paragraph has begun with an item or is indented below one."""
    for line in reversed(lines):
        if not line.strip():
            return False
        if LIST.match(line):
            return True
    return False


def _rewritten(link: re.Match, here: str, there: str, repository: str) -> str:
    picture, words, target = link.groups()
    path, hash_, anchor = target.partition("#")
    if not path or ":" in path:
        return link.group()
    wanted = posixpath.normpath(posixpath.join(posixpath.dirname(here), path))
    found = wanted if wanted in PAGES else posixpath.join(wanted, "README.md")
    if found in PAGES:
        goal = PAGES[found]
    elif wanted.startswith("docs/"):
        goal = wanted.removeprefix("docs/")
    elif (ROOT / wanted).exists():
        return f"[{words}]({repository.rstrip('/')}/blob/main/{wanted})" if repository else words
    else:
        return link.group()
    return f"{picture}[{words}]({posixpath.relpath(goal, posixpath.dirname(there) or '.')}{hash_}{anchor})"
