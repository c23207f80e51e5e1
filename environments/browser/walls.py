"""Walls: pages by which a website turns an agent away instead of answering it, such as a captcha or "access denied".

A trajectory that ends at one is `blocked`: neither the agent's failure nor a fault of the machine. One sign is not
enough, since articles, songs, products and help pages use the same words, and websites forbid pages of their own with
HTTP 403. A wall is a short page with next to nothing to do on it, that shows two signs, one of them specific to walls.
"""

import re

MAX_NODES = 40  # walls are short; a page with more to see is content that happens to use such words
MAX_LINKS = 4  # to the service's terms, to another image, to a help page
REFUSALS = {
    **{401: "asks for a login", 403: "forbids access", 407: "asks for a login", 429: "limits requests"},
    451: "is barred for legal reasons",
}
_SIGNAL_STATUSES = {*REFUSALS, 405, 503}  # what challenges are sent with, besides 200

_TITLES = re.compile(
    r"""(?:
    just\ a\ moment(?:\.\.\.|…) | attention\ required! | access\ (?:to\ this\ page\ has\ been\ )?denied
    | pardon\ our\ interruption | one\ more\ step | ddos.guard | checking\ your\ browser
    | robot\ check | (?:are\ )?you\ (?:are\ )?(?:not\ )?a\ robot\?? | security\ (?:check|verification|challenge)
    | (?:human|bot|robot)\ verification | captcha(?:\ challenge)? | datadome\ captcha | verify\ you\ are\ (?:a\ )?human
    | please\ verify\ (?:that\ )?you\ are\ (?:a\ )?human | (?:sorry,\ )?you\ have\ been\ blocked | (?:request\ )?blocked
    | you\ are\ being\ rate\ limited | too\ many\ requests | (?:error\ )?(?:403|429)?[\s:-]*forbidden
    )[\s.!…]*(?:[|-].*)?""",
    re.IGNORECASE | re.VERBOSE,
)
_WORDS = re.compile(
    r"""(?:
    (?:verify(?:ing)?|confirm|prove)\ (?:that\ )?you(?:\ are|'re)\ (?:a\ human|human|not\ a\ (?:ro)?bot)
    | checking\ (?:if\ the\ site\ connection|your\ browser)
    | needs\ to\ review\ the\ security\ of\ your\ connection | performing\ security\ verification
    | unusual\ (?:traffic|activity)\ (?:from|coming\ from|on)\ your | enter\ the\ (?:characters|letters)\ you\ see
    | (?:press|click)\ (?:&|and)\ hold | slide\ (?:right\ )?to\ (?:verify|complete|continue)
    | (?:complete|solve)\ (?:the|this)\ (?:captcha|puzzle|security\ check|challenge)
    | made\ us\ think\ (?:that\ )?you\ (?:are|were|might\ be)\ a\ (?:ro)?bot
    | (?:automated|robotic)\ (?:requests|queries|access)
    | you\ (?:don't|do\ not)\ have\ permission\ to\ access .{0,300}? \ on\ this\ server
    | you\ (?:have\ been|are)\ (?:blocked|being\ rate\ limited|unable\ to\ access)
    | your\ (?:access|ip(?:\ address)?|request|requests|network)\ (?:to\ this\ (?:site|service)\ )?
      (?:has|have|was|is)\ (?:been\ )?(?:limited|blocked|banned)
    | requests?\ (?:from\ your\ (?:ip|network)\ )?(?:has|have|was|were|could\ not)\ be(?:en)?\ (?:blocked|satisfied)
    | (?:sent|received|making)\ too\ many\ requests | enable\ (?:javascript\ and\ )?cookies\ to\ continue
    | request\ unsuccessful\.?\ incapsula
    )""",
    re.IGNORECASE | re.VERBOSE | re.DOTALL,
)
_CHALLENGE = re.compile(
    r"""(?:RootWebArea|Iframe|checkbox|img|image|textbox|slider|button)\ ['"][^'"\n]{0,40}
    (?:captcha|not\ a\ robot|security\ challenge|verify\ you\ are\ human|human\ challenge|characters\ you\ see
    |slide\ to)""",
    re.IGNORECASE | re.VERBOSE,
)
_TRACE = re.compile(
    r"\b(?:ray id|reference\s*#|(?:incident|support|request|event|block) id\b|error code:? 1\d{3}|reference id)",
    re.IGNORECASE,
)
_TITLE = re.compile(r"""RootWebArea (['"])(.*?)\1(?=\s|$)""")
_SUBJECT = re.compile(r"captcha", re.IGNORECASE)  # a title that pages about it have too
_CONTROL = re.compile(r"(?mi)^\s*(?:\[\d+\] )?(?:button|checkbox|image|img|iframe|slider|textbox)\b")
_LINK = re.compile(r"""(?m)^\s*(?:\[\d+\] )?link\b""")
_FIELD = re.compile(
    r"(?mi)^\s*(?:\[\d+\] )?(?:textbox|searchbox|combobox|radio|spinbutton|menuitem|tab)\b"
    r"(?!.*(?:captcha|characters|letters))"
)
_NAMES = re.compile(r"""(['"])(.+?)\1(?=\s|$)""")


def describe_wall(status: int, text: str, num_nodes: int, is_start: bool = False) -> str:
    """What the wall says, in one line, or "" when the page is none.

    Args:
        status: HTTP status of the document, 0 when unknown.
        text: its accessibility tree, or title, controls and text in that form.
        num_nodes: how much there is on the page.
        is_start: whether the task begins here, so that no page of the website was seen yet.
    """
    num_links = len(_LINK.findall(text))
    if num_nodes > MAX_NODES or num_links > MAX_LINKS or _FIELD.search(text):
        return ""
    title = found[2].strip() if (found := _TITLE.search(text)) else ""
    titled = bool(_TITLES.fullmatch(title))
    words, challenge = _WORDS.search(text), _CHALLENGE.search(text.partition("\n")[2])
    specific = [sign for sign in (words, challenge, _TRACE.search(text)) if sign]
    is_signalled = status in _SIGNAL_STATUSES
    if _SUBJECT.fullmatch(title) and num_links and not (is_signalled or challenge or _CONTROL.search(text)):
        return ""  # there is nothing to solve, and a way on
    is_dead_end = not num_links and " button " not in text
    if specific and (titled or is_signalled or (len(specific) > 1 and not num_links)):
        return f'the page says "{title if titled else " ".join(specific[0][0].split())}"'
    if titled and is_dead_end and all(name.strip(" .!") == title.strip(" .!") for _, name in _NAMES.findall(text)):
        return f'the page says "{title}", and nothing else'
    if status in REFUSALS and is_dead_end and (is_start or status in (401, 407)):
        return f"the website {REFUSALS[status]} (HTTP {status})"
    return ""
