"""A node that the page has drawn anew since it was observed, found again by what it is and what stands around it."""

from collections import Counter
from collections.abc import Sequence
from difflib import SequenceMatcher

from environments.browser.observe import observe
from environments.browser.page import Page
from environments.browser.tree import AXNode
from environments.environment import Observation

ALIKE = 0.6
Look = tuple[str, str]  # role and name


async def find_again(page: Page, seen: Observation, label: int) -> AXNode | None:
    """The node that had this label, as the page has it now; None where that is not certain. A node may be there and
    show another thing by now, as lists do that use their rows again: the thing is what was chosen.
    """
    now = await observe(page, "released", "marks" if "mark" in seen.nodes[label] else "tree")
    place = align(_looks(seen), list(seen.nodes).index(label), _looks(now))
    if place is not None:
        return list(now.nodes.values())[place]
    before = seen.nodes[label]
    same = [node for node in now.nodes.values() if _is_same(before, node)]
    return same[0] if same and _is_like(_look(before), _look(same[0])) else None


def _is_same(one: AXNode, other: AXNode) -> bool:
    """Whether they are one node of the document."""
    kinds = ("backendDOMNodeId", "frameId")
    return "backendDOMNodeId" in one and all(one.get(kind) == other.get(kind) for kind in kinds)


def _is_like(one: Look, other: Look) -> bool:
    """A counter or a clock in a name may have gone on."""
    return one[0] == other[0] and SequenceMatcher(None, one[1], other[1]).ratio() >= ALIKE


def align(before: Sequence[Look], index: int, after: Sequence[Look]) -> int | None:
    """Where the node at `index` stands in the list of now. One of several alike is known by a neighbor that is not: a
    row that was moved is found where it went, one that is gone is not taken for the next.
    """
    counts = Counter(before), Counter(after)

    def is_one(look: Look) -> bool:
        return all(count[look] == 1 for count in counts)

    look = before[index]
    if is_one(look):
        return after.index(look)
    blocks = SequenceMatcher(None, before, after, autojunk=False).get_matching_blocks()
    block = next((block for block in blocks if block.a <= index < block.a + block.size), None)
    if block is None:
        return None
    is_same = list(before) == list(after)
    ours = _own(before, index, block.a, block.a + block.size)
    if is_same or any(is_one(before[other]) for other in ours):
        return block.b + index - block.a
    return None


def _own(before: Sequence[Look], index: int, start: int, end: int) -> range:
    """The part of the block around the node that reaches to the next ones like it."""
    look = before[index]
    first = next((other + 1 for other in range(index - 1, start - 1, -1) if before[other] == look), start)
    last = next((other for other in range(index + 1, end) if before[other] == look), end)
    return range(first, last)


def _looks(seen: Observation) -> list[Look]:
    return [_look(node) for node in seen.nodes.values()]


def _look(node: AXNode) -> Look:
    return str(node.get("role", {}).get("value", "")), str(node.get("name", {}).get("value", ""))
