"""Which files of a folder are a checkpoint's weights, in the order of transformers. Imports no torch: a server refuses
a folder before it loads anything.

`model.safetensors` before the shards that `model.safetensors.index.json` names, both before `pytorch_model.bin` and its
shards. What else lies there (variants, `consolidated.safetensors`, folders) is not read. Two sets of weights of one
format, which readers would choose from differently, are refused.
"""

import dataclasses
from pathlib import Path

from common.errors import UserError
from common.files import read_json, read_object

_SETS = (("model.safetensors", "model-*.safetensors"), ("pytorch_model.bin", "pytorch_model-*.bin"))
"""A whole checkpoint's file, and how those of one in parts are called."""
_OTHERS = ("*.safetensors", "*.bin", "*.pth", "*.gguf", "*.h5", "*.msgpack", "*.onnx", "adapter_config.json")
"""What else a folder without weights may have, to say it."""


@dataclasses.dataclass(frozen=True)
class WeightFiles:
    """The files of one set of weights, and the index that names them, where they are several."""

    paths: tuple[Path, ...]
    index: Path | None = None

    @property
    def are_pickles(self) -> bool:
        """Not safetensors."""
        return self.paths[0].suffix != ".safetensors"


def find_weight_files(folder: Path) -> WeightFiles:
    """The files that hold a checkpoint's weights.

    Raises:
        UserError: there are none, two sets of one format, shards that no index names, or fewer than it names.
    """
    for single, shards in _SETS:
        whole, index = folder / single, folder / f"{single}.index.json"
        named = sorted(set(weight_map(index).values())) if index.exists() else []
        if whole.is_file():
            if others := [name for name in named if name != single and (folder / name).is_file()]:
                raise UserError(
                    f"{folder}: holds two sets of weights, {single} and the files that {index.name} names "
                    f"({others[0]} and {len(others) - 1} more), of which programs take one or the other; "
                    f"move {single} away, or the index with its files"
                )
            return WeightFiles((whole,))
        if named:
            return WeightFiles(tuple(_beside(index, name) for name in named), index)
        if found := sorted(folder.glob(shards)):
            raise UserError(
                f"{folder}: has {found[0].name}, but no {index.name} that says which files belong together; "
                f"fetch it, or rename a single file to {single}"
            )
    lying = sorted({path.name for pattern in _OTHERS for path in folder.glob(pattern)})
    found_here = f" (what lies here is {', '.join(lying[:3])})" if lying else ""
    raise UserError(
        f"{folder}: no model.safetensors or pytorch_model.bin here, nor an index of one{found_here}; "
        "this must be a Hugging Face checkpoint"
    )


def weight_map(index: Path) -> dict[str, str]:
    """Names of tensors to files, as an index has them; `UserError` where it has none."""
    content = read_json(index)
    files = content.get("weight_map") if isinstance(content, dict) else None
    if not isinstance(files, dict) or not files or not all(isinstance(name, str) for name in files.values()):
        raise UserError(f"{index}: has no weight_map of names to files")
    return files


def check_metadata(files: WeightFiles) -> None:
    """`UserError` where transformers, which loads for a server, stumbles over an index; converters do without."""
    if files.index and not isinstance(read_object(files.index).get("metadata"), dict):
        raise UserError(
            f'{files.index}: has no metadata, without which transformers loads nothing; write "metadata": {{}} into it'
        )


def _beside(index: Path, name: str) -> Path:
    if Path(name).name != name or not (index.parent / name).is_file():
        raise UserError(f"{index}: names the file {name!r}, which is not in this folder")
    return index.parent / name
