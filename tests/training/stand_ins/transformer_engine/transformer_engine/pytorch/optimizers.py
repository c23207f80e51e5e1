import torch

from tests.training import fused_adam


class FusedAdam(fused_adam.FusedAdam):
    """TransformerEngine's: the class is asked where it comes from."""


FusedSGD = torch.optim.SGD


def multi_tensor_applier(function, overflow, lists, *arguments):
    return function(2048 * 32, overflow, lists, *arguments)


def multi_tensor_l2norm(chunk_size, overflow, lists, per_tensor):
    norms = torch.stack([tensor.float().norm() for tensor in lists[0]])
    return norms.norm(), norms if per_tensor else None


def multi_tensor_scale(chunk_size, overflow, lists, scale):
    for source, destination in zip(*lists, strict=True):
        destination.copy_(source * scale)
