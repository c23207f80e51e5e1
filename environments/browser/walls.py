"""Walls: pages by which a website turns an agent away instead of answering it, such as a captcha or "access denied".

A trajectory that ends at one is `blocked`: neither the agent's failure nor a fault of the machine. A wall is a short
page that says so by its HTTP status or in the words that the common services use; a form that holds a captcha among
other things is not one.
"""

import re

MAX_NODES = 40  # walls are short; a page with more to see is content that happens to use such words
REFUSALS = {401: "asks for a login", 403: "forbids access", 407: "asks for a login", 429: "limits requests"}
REFUSALS |= {451: "is barred for legal reasons"}

_TITLES = re.compile(
    r"""RootWebArea\ ['"](?:
    just\ a\ moment | attention\ required! | access\ (?:to\ this\ page\ has\ been\ )?denied |
    pardon\ our\ interruption
    | robot\ check | are\ you\ a\ robot | security\ check | human\ verification | bot\ verification
    | datadome\ captcha | (?:please\ )?verify\ (?:that\ )?you\ are\ (?:a\ )?human
    | you\ have\ been\ blocked | you\ are\ being\ rate\ limited
    )""",
    re.IGNORECASE | re.VERBOSE,
)
_WORDS = re.compile(
    r"""(?:
    verify(?:ing)?\ (?:that\ )?you\ are\ (?:a\ )?human | checking\ (?:if\ the\ site\ connection|your\ browser\ before) |
    unusual\ traffic\ from\ your\ computer | enter\ the\ characters\ you\ see\ below |
    press\ (?:&|and)\ hold\ to\ confirm | complete\ the\ (?:captcha|security\ check)\ (?:below|to) |
    you\ don't\ have\ permission\ to\ access | your\ access\ to\ this\ (?:site|service)\ has\ been\ (?:limited|blocked)
    |     please\ solve\ (?:this|the)\ captcha | requests\ from\ your\ (?:ip|network)\ have\ been\ blocked
    )""",
    re.IGNORECASE | re.VERBOSE,
)


def describe_wall(status: int, text: str, num_nodes: int) -> str:
    """What the wall says, in one line, or "" when the page is none.

    Args:
        status: HTTP status of the document, 0 when unknown.
        text: its accessibility tree, or title and text in that form.
        num_nodes: how much there is on the page.
    """
    if num_nodes > MAX_NODES:
        return ""
    if found := _TITLES.search(text) or _WORDS.search(text):
        return f'the page says "{found[0].split("Area ")[-1].strip(chr(39) + chr(34))}"'
    return f"the website {REFUSALS[status]} (HTTP {status})" if status in REFUSALS else ""
