"""Resuming megatron-core 0.16.1's distributed optimizer when its Adam is PyTorch's, without TransformerEngine and apex.

Three things go wrong upstream: there is no state to load into, the step is looked up where Megatron itself left it out,
and all parameters come back sharing one step tensor, which then counts once for each of them.
"""

import functools

import torch
from megatron.core.optimizer import MegatronOptimizer
from megatron.core.optimizer.distrib_optimizer import HAVE_APEX_OR_TE, DistributedOptimizer


def prepare_loading(optimizer: MegatronOptimizer) -> None:
    """Call before the optimizer's state dict is asked for."""
    for part in _affected(optimizer):
        part._init_optimizer_states_with_dummy_values()
        part._set_main_param_and_optimizer_states = functools.partial(_set_states, part)


def finish_loading(optimizer: MegatronOptimizer) -> None:
    """Call after the state is loaded."""
    for part in _affected(optimizer):
        for state in part.optimizer.state.values():
            state["step"] = state["step"].clone()


def _affected(optimizer: MegatronOptimizer) -> list[DistributedOptimizer]:
    parts = getattr(optimizer, "chained_optimizers", [optimizer])
    return [] if HAVE_APEX_OR_TE else [part for part in parts if isinstance(part, DistributedOptimizer)]


def _set_states(part: DistributedOptimizer, model_param: torch.nn.Parameter, tensors: dict[str, torch.Tensor]) -> None:
    """Megatron's method of this name, but without the step, which comes from the parameter group."""
    group, order = part.model_param_group_index_map[model_param]
    main = part.optimizer.param_groups[group]["params"][order]
    for key, destination in {"param": main, **part.optimizer.state[main]}.items():
        if key != "step":
            destination.copy_(tensors[key])
