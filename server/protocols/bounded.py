"""Bounded: how much a request's body may hold of anything, counted before the pieces are looked at.

A body of the largest size may hold a hundred million pieces; each that is wrong costs a kilobyte and tens of
microseconds to say so, in the thread that answers everybody.
"""

from typing import Annotated, Any, TypeVar

from pydantic import BaseModel, ConfigDict, Field, model_validator

MAX_ITEMS = 10_000
MAX_FIELDS = 200

Item = TypeVar("Item")
Items = Annotated[list[Item], Field(max_length=MAX_ITEMS, fail_fast=True)]
"""A list whose first wrong item ends the reading."""


class Bounded(BaseModel):
    """An object of few fields."""

    @model_validator(mode="before")
    @classmethod
    def _few_fields(cls, fields: Any) -> Any:
        if isinstance(fields, dict) and len(fields) > MAX_FIELDS:
            raise ValueError(f"{len(fields)} fields are too many; give at most {MAX_FIELDS}")
        return fields


class Exact(Bounded):
    """An object without unknown fields; null is the same as no field."""

    model_config = ConfigDict(extra="forbid")

    @model_validator(mode="before")
    @classmethod
    def _without_nulls(cls, fields: Any) -> Any:
        is_object = isinstance(fields, dict)
        return {name: value for name, value in fields.items() if value is not None} if is_object else fields
