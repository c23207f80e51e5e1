from transformer_engine.pytorch import distributed, ops, optimizers
from transformer_engine.pytorch.attention import DotProductAttention
from transformer_engine.pytorch.fp8 import fp8_model_init
from transformer_engine.pytorch.module import GroupedLinear, LayerNorm, LayerNormLinear, Linear, RMSNorm
