"""Everything the embedded sites show, drawn from one seed."""

import dataclasses
from collections.abc import Mapping
from typing import Any, TypeVar

from environments.sites.encyclopedia import content as encyclopedia
from environments.sites.forum import content as forum
from environments.sites.gallery import content as gallery
from environments.sites.shop import content as shop
from environments.sites.timetable import content as timetable
from environments.sites.words import FILLER, FIRST_SPLITS, LATER_SPLITS, Words

Site = TypeVar("Site", bound=Any)


@dataclasses.dataclass(frozen=True)
class Content:
    shop: shop.Shop
    encyclopedia: encyclopedia.Encyclopedia
    forum: forum.Forum
    timetable: timetable.Timetable
    gallery: gallery.Gallery


def build(seed: int) -> Content:
    """The same content for the same seed; all sites draw from one source of names, so no name occurs twice."""
    words = Words(seed)
    first = _draw(words, {**FIRST_SPLITS, FILLER: 1})
    later = _draw(words.later(), LATER_SPLITS)
    sites = [_join(one, other) for one, other in zip(first, later, strict=True)]
    return Content(*sites, gallery.build(words))


def _draw(words: Words, shares: Mapping[str, int]) -> list[Any]:
    return [site.build(words, shares) for site in (shop, encyclopedia, forum, timetable)]


def _join(one: Site, other: Site) -> Site:
    """A site with what both hold: all its fields are mappings, and lists of the same key follow each other."""
    both = {}
    for name, held in vars(one).items():
        more = vars(other)[name]
        both[name] = held | more | {key: held[key] + more[key] for key in held.keys() & more.keys()}
    return type(one)(**both)
