"""What an interpreter lacks for `tests/gpu.sh --short`, one module a line; needs nothing itself."""

import importlib.util

MODULES = (
    *("torch", "transformers", "torchvision", "safetensors", "tokenizers", "sentencepiece", "numpy", "PIL", "pyarrow"),
    *("psutil", "rich", "httpx", "xxhash", "prometheus_client", "tensorboard", "matplotlib"),  # on the image
    *("tyro", "megatron.core", "megatron.energon", "fastapi", "uvicorn", "pydantic", "orjson", "zlib_ng"),
    *("webdataset", "llguidance", "attrs"),  # tests/gpu_wheels.txt
)


def is_missing(module: str) -> bool:
    """Whether it cannot be found."""
    try:
        return importlib.util.find_spec(module) is None
    except ModuleNotFoundError:
        return True


if __name__ == "__main__":
    print("\n".join(filter(is_missing, MODULES)))
