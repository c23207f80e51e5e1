"""What our samples have beside turns and images, in the records of others: rewards, scores, whatever a set had.

Most of it stands beside the turns, where other trainers find it. A name that says something to a reader (`answer`,
`system`, `label`, `image_path`) would be read as that, so such fields stand apart, as JSON under `elcano`.
"""

from collections.abc import Callable, Mapping
from typing import Any

from common.errors import UserError
from common.files import parse_json
from data.shards.shard import RESERVED
from toolkits.readers.interchange.image_fields import FIELDS
from toolkits.readers.interchange.spellings import ANSWERS, QUESTIONS, TURNS

OWN = "elcano"
_READ = {
    *(OWN, *RESERVED, *TURNS, *QUESTIONS, *ANSWERS, *FIELDS),
    *("input", "history", "reward_model", "system", "tools", "functions", "label", "objects"),
    *("videos", "video", "audios", "audio", "text", "texts", "caption", "txt", "file_names"),
}


def beside(extra: Mapping[str, Any], as_json: Callable[[Any], str]) -> dict[str, Any]:
    """The fields of a sample as they stand beside its turns."""
    apart = {name: value for name, value in extra.items() if name in _READ or name.startswith("rejected")}
    rest = {name: value for name, value in extra.items() if name not in apart}
    return rest | ({OWN: as_json(apart)} if apart else {})


def take_own(where: str, entry: dict[str, Any]) -> dict[str, Any]:
    """What stands apart in a record, taken out of it.

    Raises:
        UserError: it is no JSON object.
    """
    own = entry.pop(OWN, None)
    try:
        own = parse_json(own) if isinstance(own, str) else own
    except ValueError:
        own = ()
    if own is not None and not isinstance(own, dict):
        raise UserError(f"{where}: its {OWN} is no JSON object")
    return {name: value for name, value in (own or {}).items() if name not in RESERVED}


def of_our_shards(entry: dict[str, Any], num_images: int) -> dict[str, Any]:
    """The `json` of a sample in a shard of ours, with all that is neither turn nor image apart; another one as it is.
    Ours say how many images stand beside them."""
    if not {"id", "conversations"} <= entry.keys() or entry.get("num_images") != num_images or "images" in entry:
        return entry
    apart = {name: value for name, value in entry.items() if name not in RESERVED}
    return {"id": entry["id"], "conversations": entry["conversations"], OWN: apart}
