"""`torch.save` files of plain data, read without torch and without running what they say.

PAE, DigiRL, Digi-Q and WebRL keep trajectories so: a zip whose `data.pkl` holds lists and dicts of strings, numbers,
numpy arrays and tensors. Everything else is refused.
"""

import math
import re
import zipfile
from pathlib import Path
from typing import Any

import numpy

from common.errors import UserError
from common.safe_pickle import STORAGES, ZIP_DAMAGE, budget_for, empty_dict, refuse, refuse_state, safe_unpickle

_MOST_REPEATED = 1 << 20
"""Numbers of a tensor that `expand` made: a few bytes of a file could else stand for any number of them."""
_PLAIN_DTYPE = re.compile(r"[<>|=]?(?:[biufc]\d+|[SU]\d+|\?)")


def read_torch_file(path: str | Path) -> Any:
    """The object of a `torch.save` file; tensors become numpy arrays.

    Raises:
        UserError: naming the file, when it is none, is damaged, or holds anything but plain data.
    """
    try:
        with zipfile.ZipFile(path) as archive:
            return _Reader(archive, Path(path).stat().st_size).load()
    except FileNotFoundError:
        raise UserError(f"{path}: no such file") from None
    except IsADirectoryError:
        raise UserError(f"{path}: a folder, not a file of torch.save") from None
    except UserError as error:
        raise UserError(f"{path}: {error}") from None
    except ZIP_DAMAGE as error:
        hint = "if torch < 1.6 wrote it, load and save it with a newer one where you trust it"
        raise UserError(f"{path}: not a file of torch.save, or damaged ({error}); {hint}") from None


class _Reader:
    """What it makes of one file: each storage is read once, and all arrays together stay in proportion to the file."""

    def __init__(self, archive: zipfile.ZipFile, num_bytes: int):
        self.archive, self._num_bytes, self._left = archive, num_bytes, budget_for(num_bytes)
        self._storages: dict[str, numpy.ndarray] = {}
        names = [name for name in archive.namelist() if name.rpartition("/")[2] == "data.pkl"]
        if len(names) != 1:
            raise UserError("not a file of torch.save: it holds no data.pkl")
        self.prefix = names[0].removesuffix("data.pkl")

    def load(self) -> Any:
        order = f"{self.prefix}byteorder"
        if order in self.archive.namelist() and self._read(order) != b"little":
            raise UserError("written on a big-endian machine, which is not supported")
        content = self._read(f"{self.prefix}data.pkl")
        return safe_unpickle(content, self._find, self._storage, num_bytes=self._num_bytes)

    def _find(self, module: str, name: str) -> Any:
        """Functions of its own, which count what they make."""
        if (module, name) == ("torch._utils", "_rebuild_tensor_v2"):
            return lambda *arguments: self._counted(_tensor(*arguments))
        if (module, name) == ("_codecs", "encode"):
            return lambda *arguments: self._counted(_encode(*arguments))
        return _GLOBALS[module, name] if (module, name) in _GLOBALS else refuse(module, name)

    def _counted(self, made: Any) -> Any:
        self._left -= made.nbytes if isinstance(made, numpy.ndarray) else len(made)
        if self._left < 0:
            raise UserError("refused: its tensors refer to the same bytes over and over, beyond all proportion")
        return made

    def _read(self, name: str) -> bytes:
        if self.archive.getinfo(name).compress_type != zipfile.ZIP_STORED:
            raise UserError(f"its {name} is compressed, which torch.save never does")
        return self.archive.read(name)  # checks the zip's checksum

    def _storage(self, pid: Any) -> numpy.ndarray:
        kind, storage, key, _, _ = pid
        if kind != "storage" or not isinstance(storage, _StorageType) or not str(key).isdecimal():
            raise UserError("refused: the pickle refers to something that is no tensor")
        place = f"{key}.{storage.dtype}"
        if place not in self._storages:
            self._storages[place] = self._counted(_numbers(self._read(f"{self.prefix}data/{key}"), storage.dtype))
        return self._storages[place]


def _numbers(content: bytes, dtype: str) -> numpy.ndarray:
    if dtype == "bfloat16":  # which numpy has not
        return (numpy.frombuffer(content, "<u2").astype("<u4") << 16).view("<f4")
    return numpy.frombuffer(content, numpy.dtype(dtype).newbyteorder("<"))


class _StorageType:
    def __init__(self, dtype: str):
        self.dtype = dtype

    __setstate__ = refuse_state


class _Array:
    """What numpy's pickles build: made empty, then told its shape and bytes."""

    value = numpy.zeros(0)

    @property
    def nbytes(self) -> int:
        return self.value.nbytes

    def __setstate__(self, state: Any) -> None:
        _, shape, dtype, fortran, content = state
        order = "F" if fortran else "C"
        self.value = numpy.frombuffer(content, dtype.value).reshape(shape, order=order)


class _DType:
    def __init__(self, code: str, *_: Any):
        if not _PLAIN_DTYPE.fullmatch(code):
            raise UserError(f"refused: an array of {code!r}, which is not plain numbers")
        self.value = numpy.dtype(code)

    def __setstate__(self, state: Any) -> None:
        if state[1] in "<>":
            self.value = self.value.newbyteorder(state[1])


def _scalar(dtype: _DType, content: bytes) -> Any:
    return numpy.frombuffer(content, dtype.value, count=1)[0].item()


def _encode(text: str, encoding: str) -> bytes:
    if encoding != "latin1":
        raise UserError(f"refused: the pickle encodes to {encoding!r}")
    return text.encode("latin1")


def _no_bytes(*content: Any) -> bytes:
    """How the pickles of torch.save write `b""`, which an empty array holds."""
    if content:
        refuse("builtins", "bytes")
    return b""


def _tensor(
    storage: numpy.ndarray, offset: int, size: tuple[int, ...], stride: tuple[int, ...], *_: Any
) -> numpy.ndarray:
    count, is_repeated = math.prod(size), 0 in stride
    if min((offset, *size, *stride), default=0) < 0 or len(size) != len(stride):
        raise UserError("a tensor does not fit its storage")
    if count > (_MOST_REPEATED if is_repeated else storage.size):
        raise UserError(f"a tensor of {count} numbers does not fit its storage, which has {storage.size}")
    if not count:
        return numpy.zeros(size, storage.dtype)
    strides = [step * storage.itemsize for step in stride]
    view = numpy.ndarray(size, storage.dtype, storage, offset * storage.itemsize, strides)
    return view if is_repeated else view.copy()


NUMPY: dict[tuple[str, str], Any] = {
    ("numpy", "ndarray"): _Array,
    ("numpy", "dtype"): _DType,
    **{(f"numpy.{core}.multiarray", "_reconstruct"): lambda *_: _Array() for core in ("core", "_core")},
    **{(f"numpy.{core}.multiarray", "scalar"): _scalar for core in ("core", "_core")},
}
"""What numpy's own pickles name."""
_GLOBALS: dict[tuple[str, str], Any] = {
    ("collections", "OrderedDict"): empty_dict,
    **{(module, "bytes"): _no_bytes for module in ("builtins", "__builtin__")},
    **NUMPY,
    **{("torch", name): _StorageType(dtype) for name, dtype in STORAGES.items()},
}


def plain(value: Any) -> Any:
    """An array of `read_torch_file` as nested lists, one of a single number as that number."""
    found = as_array(value)
    if found is None:
        return value
    return found.item() if found.size == 1 else found.tolist()


def as_array(value: Any) -> numpy.ndarray | None:
    """An array or a tensor of `read_torch_file`; None for anything else."""
    found = value.value if isinstance(value, _Array) else value
    return found if isinstance(found, numpy.ndarray) else None
