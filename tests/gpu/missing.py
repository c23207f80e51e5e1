"""What an interpreter lacks for `tests/gpu.sh --short`, one module a line; needs nothing itself."""

import importlib.util
import shutil

MODULES = (
    *("torch", "transformers", "torchvision", "safetensors", "tokenizers", "sentencepiece", "numpy", "PIL", "pyarrow"),
    *("psutil", "rich", "httpx", "xxhash", "prometheus_client", "tensorboard", "matplotlib"),  # on the image
    *("tyro", "megatron.core", "megatron.energon", "fastapi", "uvicorn", "pydantic", "orjson", "zlib_ng"),
    *("webdataset", "llguidance", "attrs"),  # tests/gpu_wheels.txt
)
_OPTIONAL = ("triton", "transformer_engine", "apex", "flash_attn")
_COMPILERS = ("cc", "gcc", "clang")
"""Of which triton and torch.compile take one."""


def is_missing(module: str) -> bool:
    """Whether it cannot be found."""
    try:
        return importlib.util.find_spec(module) is None
    except ModuleNotFoundError:
        return True


def lacking() -> list[str]:
    """All of what is not here, also what lines can do without."""
    found = list(filter(is_missing, (*MODULES, *_OPTIONAL)))
    return found if any(map(shutil.which, _COMPILERS)) else [*found, "a C compiler"]


if __name__ == "__main__":
    print("\n".join(filter(is_missing, MODULES)))
