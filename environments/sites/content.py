"""Everything the embedded sites show, drawn from one seed."""

import dataclasses

from environments.sites.encyclopedia import content as encyclopedia
from environments.sites.forum import content as forum
from environments.sites.gallery import content as gallery
from environments.sites.shop import content as shop
from environments.sites.timetable import content as timetable
from environments.sites.words import FILLER, SPLITS, Words


@dataclasses.dataclass(frozen=True)
class Content:
    shop: shop.Shop
    encyclopedia: encyclopedia.Encyclopedia
    forum: forum.Forum
    timetable: timetable.Timetable
    gallery: gallery.Gallery


def build(seed: int) -> Content:
    """The same content for the same seed; all sites draw from one source of names, so no name occurs twice."""
    words, shares = Words(seed), {**SPLITS, FILLER: 1}
    return Content(
        shop.build(words, shares),
        encyclopedia.build(words, shares),
        forum.build(words, shares),
        timetable.build(words, shares),
        gallery.build(words),
    )
