"""energon's loader state as plain values, so that reading it back can run no code."""

import dataclasses
from typing import Any

import numpy
from megatron.energon.flavors.webdataset.sample_loader import SliceState
from megatron.energon.rng import SystemRngState
from megatron.energon.savable_loader import SavableDataLoaderState, SavableDatasetCheckpoint, SavableDatasetState
from megatron.energon.state import FlexState

_TYPES = {
    cls.__name__: cls
    for cls in (SavableDataLoaderState, SavableDatasetCheckpoint, SavableDatasetState, SliceState, SystemRngState)
}
_TYPE = "type of energon"


def to_plain(state: Any) -> Any:
    """Dataclasses, `FlexState`s and arrays become dicts that name their type; everything inside them likewise."""
    if dataclasses.is_dataclass(state):
        fields = {field.name: to_plain(getattr(state, field.name)) for field in dataclasses.fields(state)}
        return {_TYPE: type(state).__name__, **fields}
    if isinstance(state, FlexState):
        return {_TYPE: "FlexState", **{key: to_plain(value) for key, value in state.items()}}
    if isinstance(state, numpy.ndarray):
        return {_TYPE: "ndarray", "dtype": str(state.dtype), "values": state.tolist()}
    if isinstance(state, dict):
        return {key: to_plain(value) for key, value in state.items()}
    if type(state) in (list, tuple):
        return type(state)(to_plain(value) for value in state)
    return state


def from_plain(plain: Any) -> Any:
    """The inverse of `to_plain`."""
    if isinstance(plain, dict):
        values = {key: from_plain(value) for key, value in plain.items() if key != _TYPE}
        match plain.get(_TYPE):
            case None:
                return values
            case "FlexState":
                return FlexState(values)
            case "ndarray":
                return numpy.array(values["values"], dtype=values["dtype"])
            case name:
                return _TYPES[name](**values)
    if type(plain) in (list, tuple):
        return type(plain)(from_plain(value) for value in plain)
    return plain
