import torch
from torch.nn import functional


def _no_bias(bias):
    assert not bias, "the models here have none"


class _Weighted(torch.nn.Module):
    """y = x W^T; with fused accumulation the gradient of W is added to `main_grad`, as TransformerEngine does."""

    def _make(self, out_features, in_features, tp_size, parallel_mode, params_dtype, device, fuse_wgrad_accumulation):
        assert tp_size == 1
        self.parallel_mode, self.fused = parallel_mode, fuse_wgrad_accumulation
        shape = (out_features, in_features)
        self.weight = torch.nn.Parameter(torch.empty(shape, dtype=params_dtype, device=device))

    def _multiply(self, x):
        if self.fused and self.weight.requires_grad:
            return _Accumulating.apply(x, self.weight)
        return functional.linear(x, self.weight)


class _Accumulating(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, weight):
        ctx.save_for_backward(x, weight)
        return functional.linear(x, weight)

    @staticmethod
    def backward(ctx, gradient):
        x, weight = ctx.saved_tensors
        weight.main_grad += (gradient.flatten(0, -2).t() @ x.flatten(0, -2)).float()
        weight.grad_added_to_main_grad = True
        return gradient @ weight, torch.zeros_like(weight)


class Linear(_Weighted):
    def __init__(
        self,
        in_features,
        out_features,
        sequence_parallel,
        fuse_wgrad_accumulation,
        tp_group,
        tp_size,
        get_rng_state_tracker,
        init_method,
        bias,
        return_bias,
        parallel_mode,
        params_dtype,
        device,
        rng_tracker_name=None,
        ub_name=None,
    ):
        super().__init__()
        _no_bias(bias)
        self._make(out_features, in_features, tp_size, parallel_mode, params_dtype, device, fuse_wgrad_accumulation)

    def forward(self, x, is_first_microbatch=None):
        return self._multiply(x)


class LayerNormLinear(_Weighted):
    def __init__(
        self,
        in_features,
        out_features,
        eps,
        sequence_parallel,
        fuse_wgrad_accumulation,
        tp_group,
        tp_size,
        get_rng_state_tracker,
        init_method,
        bias,
        return_bias,
        parallel_mode,
        return_layernorm_output,
        zero_centered_gamma,
        normalization,
        params_dtype,
        device,
        ub_name=None,
    ):
        super().__init__()
        _no_bias(bias)
        assert normalization == "RMSNorm"
        self.eps = eps
        self.layer_norm_weight = torch.nn.Parameter(torch.ones(in_features, dtype=params_dtype, device=device))
        self.layer_norm_weight.sequence_parallel = sequence_parallel
        self._make(out_features, in_features, tp_size, parallel_mode, params_dtype, device, fuse_wgrad_accumulation)

    def forward(self, x, is_first_microbatch=None):
        return self._multiply(functional.rms_norm(x, x.shape[-1:], self.layer_norm_weight, self.eps))


class RMSNorm(torch.nn.RMSNorm):
    def __init__(self, hidden_size, eps, sequence_parallel, zero_centered_gamma, params_dtype, device):
        super().__init__(hidden_size, eps=eps, dtype=params_dtype, device=device)
        self.weight.sequence_parallel = sequence_parallel


class LayerNorm(RMSNorm):
    """Not used: the models here have RMSNorm."""


class GroupedLinear(torch.nn.Module):
    """A base class of Megatron's."""
