"""What the model of a configuration consists of: transformers' own model, made without memory for its weights."""

import dataclasses
from typing import Any

import torch

from common.errors import UserError
from models.family import Family
from models.weight_table import find_spelling


@dataclasses.dataclass(frozen=True)
class Blueprint:
    """Of every weight of a family's table, by its name there: its shape, and its module's name in memory. `linear` are
    the weights of linear layers, `head` the output layer's, where it is no word embedding. `others` are parameters that
    the table does not have, by their names in memory."""

    shapes: dict[str, tuple[int, ...]]
    modules: dict[str, str]
    linear: frozenset[str]
    head: str | None
    others: frozenset[str]


def blueprint(family: Family, config: Any) -> Blueprint:
    """Of the model that `config`, as `family.read_config` gives it, describes.

    Raises:
        UserError: it describes none, such as layers of a negative size.
    """
    try:
        with torch.device("meta"):
            model = family.auto_model().from_config(config)
    except Exception as error:  # transformers and torch raise many kinds
        line = (str(error).strip().splitlines() or [type(error).__name__])[0]
        raise UserError(f"config.json describes no model ({line})") from None
    parameters = model.state_dict()
    shapes, modules, others = {}, {}, {name for name, _ in model.named_parameters()}
    for name in (name for weight in family.weight_table(config) for name in weight.hf):
        in_memory = find_spelling(name, family.spellings, parameters)
        assert in_memory is not None, name
        others.discard(in_memory)
        shapes[name], modules[name] = tuple(parameters[in_memory].shape), in_memory.rpartition(".")[0]
    layers = dict(model.named_modules())
    kinds = {name: layers.get(module) for name, module in modules.items() if name.endswith(".weight")}
    head = next((name for name, layer in kinds.items() if layer is model.get_output_embeddings()), None)
    linear = (name for name, layer in kinds.items() if isinstance(layer, torch.nn.Linear))
    return Blueprint(shapes, modules, frozenset(linear), head, frozenset(others))
