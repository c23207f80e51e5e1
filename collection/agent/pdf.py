"""The text of a PDF file, read in a process of its own: python -m collection.agent.pdf paper.pdf

A PDF comes from a stranger and may be made to keep its reader busy for ever or to fill the memory; the process has
limits on both and cannot harm the collector.
"""

import asyncio
import json
import math
import re
import resource
import sys
from collections import Counter
from pathlib import Path

from common.inherited import for_python

MAX_PAGES = 200
MAX_CHARS = 1_000_000
"""Of all pages together; a thick book has so many. A kilobyte of PDF can say a hundred megabytes, and who reads them
looks at each word."""
MAX_SECONDS = 60
MAX_MEMORY_BYTES = 2 << 30


class PdfError(Exception):
    """The file cannot be read."""


async def read_pdf(path: Path) -> list[str]:
    """The text of each page, at most `MAX_PAGES` and `MAX_CHARS`; a scanned page is empty.

    Raises:
        PdfError: it is no PDF, is encrypted, or takes too long.
    """
    reader = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "collection.agent.pdf", str(path)),
        cwd=Path(__file__).parents[2],
        env=for_python(),
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
    )
    try:
        async with asyncio.timeout(MAX_SECONDS):
            output, _ = await reader.communicate()
    except (TimeoutError, asyncio.CancelledError) as error:
        reader.kill()
        await reader.wait()
        if isinstance(error, asyncio.CancelledError):
            raise
        raise PdfError("it takes too long to read") from None
    if reader.returncode != 0:
        raise PdfError("it is damaged, encrypted or no PDF")
    return json.loads(output)


def excerpt(pages: list[str], question: str, max_chars: int) -> str:
    """The pages that fit into `max_chars`, each under its number: those that share rare words with the question."""
    words = [Counter(re.findall(r"\w+", page.lower())) for page in pages]
    asked = set(re.findall(r"\w+", question.lower()))
    pages_with = Counter(word for found in words for word in found if word in asked)

    def score(number: int) -> float:
        return sum(math.log(1 + len(pages) / pages_with[word]) for word in asked if words[number][word])

    chosen, left = {}, max_chars
    for number in sorted(range(len(pages)), key=lambda number: (-score(number), number)):
        if left <= 0:
            break
        chosen[number] = pages[number][:left]
        left -= len(chosen[number])
    return "\n".join(f"[page {number + 1}]\n{chosen[number].strip()}" for number in sorted(chosen))


def main() -> None:
    """Print the pages as a JSON list."""
    from pypdf import PdfReader  # only this process needs it

    resource.setrlimit(resource.RLIMIT_CPU, (MAX_SECONDS, MAX_SECONDS))
    resource.setrlimit(resource.RLIMIT_AS, (MAX_MEMORY_BYTES, MAX_MEMORY_BYTES))
    pages = PdfReader(sys.argv[1]).pages
    text: list[str] = []
    left = MAX_CHARS
    for number in range(min(len(pages), MAX_PAGES)):
        text.append(pages[number].extract_text()[:left] if left else "")
        left -= len(text[-1])
    print(json.dumps([page.encode(errors="replace").decode() for page in text]))


if __name__ == "__main__":
    main()
