"""Stands for TransformerEngine 2.10 where there is no GPU: the names and arguments that megatron-core 0.16.1 uses, the
arithmetic in plain PyTorch, on one rank. Tests put this folder on the path and pretend CUDA.
"""

from transformer_engine import common, pytorch

__version__ = "2.10.0"
