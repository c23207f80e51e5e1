"""JSON schemas as requests bring them, drawn at random: small enough that a policy which draws any token alike ends."""

import random
from typing import Any

_WORDS = ["id", "text", "verdict", "a b", "größe", "日本", 'quo"te', "back\\slash", "e", "nested"]


def drawn_schema(rng: random.Random, depth: int = 0) -> dict[str, Any]:
    """Of any type; on the outside an object."""
    kinds = ["object"] if depth == 0 else ["string", "integer", "number", "boolean", "null", "enum", "const", "pattern"]
    if 0 < depth < 3:
        kinds += ["object", "array", "anyOf"]
    match rng.choice(kinds):
        case "object":
            names = rng.sample(_WORDS, rng.randint(0 if depth else 1, 4))
            required = [name for name in names if rng.random() < 0.6]
            properties = {name: drawn_schema(rng, depth + 1) for name in names}
            return {"type": "object", "properties": properties, "required": required, "additionalProperties": False}
        case "array":
            least = rng.randint(0, 2)
            return {
                **{"type": "array", "items": drawn_schema(rng, depth + 1)},
                **{"minItems": least, "maxItems": least + rng.randint(0, 2)},
            }
        case "anyOf":
            return {"anyOf": [drawn_schema(rng, depth + 1) for _ in range(rng.randint(1, 3))]}
        case "string":
            return {"type": "string", "maxLength": rng.randint(0, 12)}
        case "integer":
            low = rng.randint(-50, 50)
            return {"type": "integer", "minimum": low, "maximum": low + rng.randint(0, 300)}
        case "number":
            return {"type": "number", "minimum": -2, "maximum": 7.5}
        case "enum":
            return {"enum": rng.sample(["SUCCESS", "NOT SUCCESS", 3, None, True, "ü"], rng.randint(1, 4))}
        case "const":
            return {"const": rng.choice([1, "only", False])}
        case "pattern":
            return {"type": "string", "pattern": rng.choice([r"^[a-z]{2,5}$", r"^\d{4}-\d\d$", r"^(yes|no)$"])}
        case plain:
            return {"type": plain}
