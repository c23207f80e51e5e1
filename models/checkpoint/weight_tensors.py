"""The tensors of a checkpoint's weight files, opened from their headers alone."""

from pathlib import Path

from common.errors import UserError
from models.checkpoint.safetensors_file import open_safetensors
from models.checkpoint.stored_tensor import StoredTensor
from models.checkpoint.torch_archive import read_archive
from models.checkpoint.weight_files import find_weight_files, weight_map


def open_weights(folder: Path) -> dict[str, StoredTensor]:
    """Every tensor of a folder's weights by name.

    Raises:
        UserError: as `find_weight_files`, a file is damaged, a tensor lies in two, or not where an index says.
    """
    files = find_weight_files(folder)
    opened = {path.name: open_file(path) for path in files.paths}
    place = {name: file for file, content in opened.items() for name in content}
    for file, content in opened.items():
        if twice := next((name for name in content if place[name] != file), None):
            raise UserError(f"{folder}: {twice} lies in {file} and in {place[twice]}")
    for name, file in weight_map(files.index).items() if files.index else ():
        if name not in opened[file]:
            raise UserError(f"{files.index}: says that {file} has {name}, but it has not")
    return {name: tensor for content in opened.values() for name, tensor in content.items()}


def open_file(path: Path) -> dict[str, StoredTensor]:
    """The tensors of one safetensors or `.bin` file."""
    if path.suffix == ".safetensors":
        return open_safetensors(path)
    content = read_archive(path)
    if not isinstance(content, dict) or not all(isinstance(name, str) for name in content):
        raise UserError(f"{path}: not a file of named tensors")
    return {name: tensor for name, tensor in content.items() if isinstance(tensor, StoredTensor)}
