import torch


class FusedAdam(torch.optim.AdamW):
    def __init__(self, params, lr=1e-3, betas=(0.9, 0.999), eps=1e-8, adam_w_mode=True, weight_decay=0.0):
        assert adam_w_mode
        super().__init__(params, lr=lr, betas=betas, eps=eps, weight_decay=weight_decay)


FusedSGD = torch.optim.SGD


def multi_tensor_applier(function, overflow, lists, *arguments):
    return function(2048 * 32, overflow, lists, *arguments)


def multi_tensor_l2norm(chunk_size, overflow, lists, per_tensor):
    norms = torch.stack([tensor.float().norm() for tensor in lists[0]])
    return norms.norm(), norms if per_tensor else None


def multi_tensor_scale(chunk_size, overflow, lists, scale):
    for source, destination in zip(*lists, strict=True):
        destination.copy_(source * scale)
