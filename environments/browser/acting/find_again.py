"""A node that the page has drawn anew since it was observed, found again by what it is and what stands around it."""

from collections.abc import Sequence
from difflib import SequenceMatcher

from environments.browser.observation.observe import observe
from environments.browser.observation.tree import AXNode
from environments.browser.page.page import Page
from environments.environment import Observation

ALIKE = 0.6
BESIDE = 5  # nodes on each side that tell one of several alike from the others
Look = tuple[str, str, str]  # role, name, and what tells it from others that read alike, where that is known


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
    is_certain = same and _is_like(_look(before), _look(same[0])) and not _has_twins(_looks(seen), _look(before))
    return same[0] if is_certain else None


def _is_same(one: AXNode, other: AXNode) -> bool:
    """Whether they are one node of the document."""
    kinds = ("backendDOMNodeId", "frameId")
    return "backendDOMNodeId" in one and all(one.get(kind) == other.get(kind) for kind in kinds)


def _is_like(one: Look, other: Look) -> bool:
    """A counter or a clock in a name may have gone on."""
    return one[0] == other[0] and SequenceMatcher(None, one[1], other[1]).ratio() >= ALIKE


def _has_twins(looks: Sequence[Look], look: Look) -> bool:
    """Whether others read nearly the same: then the little that differs tells which is which, as a number in a list."""
    return sum(_is_like(look, other) for other in looks) > 1


def align(before: Sequence[Look], index: int, after: Sequence[Look]) -> int | None:
    """Where the node at `index` stands in the list of now. One of several alike is known by what stands before and
    after it: one whose row is gone is not taken for the next.
    """
    look = before[index]
    if before.count(look) == 1 and after.count(look) == 1:
        return after.index(look)
    for block in SequenceMatcher(None, before, after, autojunk=False).get_matching_blocks():
        end, place = block.a + block.size, block.b + index - block.a
        if block.a <= index < end:
            first, last = _beside(before, index)
            begins = index > block.a or index == place == 0
            ends = index < end - 1 or (index == len(before) - 1 and place == len(after) - 1)
            return place if begins and ends and block.a <= first and last < end else None
    return None


def _beside(looks: Sequence[Look], index: int) -> tuple[int, int]:
    """The first and the last of those around it that lie between it and the next that look the same."""
    first, last = index, index
    while first > max(0, index - BESIDE) and looks[first - 1] != looks[index]:
        first -= 1
    while last < min(len(looks) - 1, index + BESIDE) and looks[last + 1] != looks[index]:
        last += 1
    return first, last


def _looks(seen: Observation) -> list[Look]:
    return [_look(node) for node in seen.nodes.values()]


def _look(node: AXNode) -> Look:
    role, name = (str(node.get(kind, {}).get("value", "")) for kind in ("role", "name"))
    return role, name, str(node.get("row", ""))
