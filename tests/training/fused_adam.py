"""What the stand-ins for TransformerEngine and apex step with."""

import torch


class FusedAdam(torch.optim.Optimizer):
    """Adam as both have it: steps are counted by group, and a parameter has no state before its first."""

    def __init__(self, params, lr=1e-3, betas=(0.9, 0.999), eps=1e-8, adam_w_mode=True, weight_decay=0.0):
        assert adam_w_mode
        super().__init__(params, {"lr": lr, "betas": betas, "eps": eps, "weight_decay": weight_decay})

    @torch.no_grad()
    def step(self, closure=None):
        for group in self.param_groups:
            if group["params"]:
                group["step"] = group.get("step", 0) + 1
            for parameter in group["params"]:
                if parameter.grad is not None:
                    self._step(parameter, group)

    def _step(self, parameter, group):
        state, (first, second) = self.state[parameter], group["betas"]
        for name in ("exp_avg", "exp_avg_sq"):
            if name not in state:
                state[name] = torch.zeros_like(parameter)
        state["exp_avg"].lerp_(parameter.grad, 1 - first)
        state["exp_avg_sq"].mul_(second).addcmul_(parameter.grad, parameter.grad, value=1 - second)
        spread = (state["exp_avg_sq"] / (1 - second ** group["step"])).sqrt() + group["eps"]
        parameter.mul_(1 - group["lr"] * group["weight_decay"])
        parameter.addcdiv_(state["exp_avg"], spread, value=-group["lr"] / (1 - first ** group["step"]))
