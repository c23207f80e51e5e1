"""What an episode changed: the records of a state compared with those of the seed.

A record is a flat dict with a `kind`, such as a ticket with all its fields. An edit removes a record and adds another.
"""

import hashlib
import json
from collections import Counter
from collections.abc import Iterable
from typing import Any


def changes(before: Iterable[dict[str, Any]], after: Iterable[dict[str, Any]]) -> dict[str, list[dict[str, Any]]]:
    """`added` and `removed` records, in an order of their own."""
    old, new = Counter(map(_key, before)), Counter(map(_key, after))
    return {"added": _records(new - old), "removed": _records(old - new)}


def digest(records: Iterable[dict[str, Any]]) -> str:
    """The same for the same records, in whatever order."""
    return hashlib.sha256("\n".join(sorted(map(_key, records))).encode()).hexdigest()[:16]


def _key(record: dict[str, Any]) -> str:
    return json.dumps(record, sort_keys=True, ensure_ascii=False)


def _records(keys: Counter[str]) -> list[dict[str, Any]]:
    return [json.loads(key) for key in sorted(keys.elements())]
