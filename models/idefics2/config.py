"""idefics2's configuration: read from a Hugging Face folder and checked."""

from pathlib import Path
from typing import TYPE_CHECKING

from common.errors import UserError
from common.files import read_json
from models.language import check_text

if TYPE_CHECKING:
    from transformers import Idefics2Config


def read_config(folder: Path) -> "Idefics2Config":
    """The Hugging Face configuration in `folder`.

    Raises:
        UserError: there is none, it is not an idefics2, or it asks for what this model does not compute.
    """
    path = Path(folder) / "config.json"
    fields = read_json(path)
    if fields.get("model_type") != "idefics2":
        raise UserError(f"{path}: model_type is {fields.get('model_type')!r}, this is the idefics2 trainer")
    from transformers import Idefics2Config

    config = Idefics2Config.from_dict(fields)
    check_text(path, config.text_config)
    return config
