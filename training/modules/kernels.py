"""Which kernels a run computes with: chosen from what is installed, the GPU, the precision and whether adapters learn.

megatron-core 0.16.1 asks for TransformerEngine and apex wherever it needs one of their parts, and imports without them
as well (its TransformerEngine layers are then mocks). So each package is looked for here, once and by the parts that
are used of it, and what cannot be used is hidden: then everybody comes to the same answer.

    installed                   layers, norms      attention             rotary   Adam    gradient accumulation
    no GPU                      Megatron, PyTorch  blocks                plain    torch   plain
    GPU                         Megatron, PyTorch  variable-length flash plain    torch   plain
    GPU, apex                   Megatron, apex     variable-length flash plain    apex    fused
    GPU, TransformerEngine      TE                 TE                    fused    TE      plain
    GPU, TE, apex               TE                 TE                    fused    TE      fused (by apex)
    with adapters               Megatron's layers with adapters; TE's or apex's norms; attention as above; not fused
    in fp32, or with head sizes that are no multiple of 8 up to 256: attention in blocks; fp32 accumulates plainly

What no fused kernel takes is refused before the start (`check_attention`).
"""

import dataclasses
import functools
import importlib
import importlib.metadata
import importlib.util
import sys
from typing import TYPE_CHECKING, Any, Literal

import torch
from packaging.requirements import Requirement
from packaging.version import InvalidVersion, Version

from common.errors import UserError
from models.language import mrope_section
from models.registry import family_of
from training.modules import cpu_adaptor

if TYPE_CHECKING:
    from training.layout import Layout

UseTE = bool | None  # None: where it is installed
_TE, _APEX, _FUSED_WGRAD = "transformer_engine", "apex", "fused_weight_gradient_mlp_cuda"
_ANY_HEADS = 128
_FLASH_CAPABILITY = (8, 0)  # the oldest GPUs that flash attention's kernels run on


@dataclasses.dataclass(frozen=True)
class Installed:
    """What can be used here."""

    gpu: bool = False
    flash: bool = False
    """The GPU is one that flash attention runs on."""
    transformer_engine: str = ""
    """Its version; empty: none that can be used."""
    apex_adam: bool = False
    apex_norm: bool = False
    apex_wgrad: bool = False
    """The extension that adds a weight's gradient to its fp32 sum inside the matrix product."""
    unused: tuple[str, ...] = ()
    """What is installed and not used, and why."""


_found = Installed()  # as `prepare` found it


@dataclasses.dataclass(frozen=True)
class Kernels:
    """The choice."""

    layers: Literal["te", "megatron"] = "megatron"
    norm: Literal["te", "apex", "torch"] = "torch"
    attention: Literal["te", "varlen", "blocks"] = "blocks"
    """TransformerEngine's; PyTorch's variable-length flash attention; scaled dot products block by block."""
    rope_fusion: bool = False
    optimizer: Literal["te", "apex", "torch"] = "torch"
    gradient_accumulation_fusion: bool = False
    compiled: bool = False
    """Element-wise chains are compiled into one kernel."""

    def __str__(self) -> str:
        names = {"te": "TransformerEngine", "megatron": "Megatron", "torch": "PyTorch", "apex": "apex"}
        attention = {"te": "TransformerEngine", "varlen": "flash, variable length", "blocks": "in blocks"}
        parts = [
            f"layers {names[self.layers]}",
            f"norms {names[self.norm]}",
            f"attention {attention[self.attention]}",
            f"rotary {'fused' if self.rope_fusion else 'plain'}",
            f"Adam {names[self.optimizer]}",
            f"gradient accumulation {'fused' if self.gradient_accumulation_fusion else 'plain'}",
        ]
        return ", ".join(parts)


def prepare(use_te: UseTE = None) -> None:
    """Call it once in a process that runs Megatron, before Megatron is imported.

    Raises:
        UserError: `use_te`, but TransformerEngine cannot be used.
    """
    global _found
    _found = look(use_te)
    if not _found.transformer_engine:
        _hide(_TE, "transformer_engine_torch")
    if not _found.apex_adam:
        _hide(_APEX, "amp_C")
    if not _found.apex_wgrad:
        _hide(_FUSED_WGRAD)
    cpu_adaptor.install()


@functools.cache
def look(use_te: UseTE = None) -> Installed:
    """What can be used in this process; see `prepare` for what it raises."""
    if not torch.cuda.is_available():
        if use_te:
            raise UserError("TE=true: there is no GPU here, and TransformerEngine runs on GPUs only")
        return Installed()
    version, why_no_te = ("", "TE=false") if use_te is False else _transformer_engine()
    if use_te and not version:
        raise UserError(f"TE=true: {why_no_te or 'TransformerEngine is not installed'}; see docs/howto/gpu.md")
    adam, why_no_apex = _apex()
    return Installed(
        gpu=True,
        flash=not on_old_gpu(),
        transformer_engine=version,
        apex_adam=adam,
        apex_norm=adam and _imports("fused_layer_norm_cuda", "apex.normalization"),
        apex_wgrad=_imports(_FUSED_WGRAD),
        unused=tuple(why for why in (why_no_te, why_no_apex) if why),
    )


def choose(found: Installed, bf16: bool, head_dim: int, adapters: bool) -> Kernels:
    """For a model with attention heads of `head_dim` numbers; with `adapters` the layers' own weights do not learn."""
    if not found.gpu:
        return Kernels()
    te = bool(found.transformer_engine)
    flash = takes_flash(bf16, head_dim)
    return Kernels(
        layers="te" if te and not adapters else "megatron",
        norm="te" if te else "apex" if found.apex_norm else "torch",
        attention="te" if te and flash else "varlen" if flash and found.flash else "blocks",
        rope_fusion=te,
        optimizer="te" if te else "apex" if found.apex_adam else "torch",
        gradient_accumulation_fusion=found.apex_wgrad and bf16 and not adapters,
        compiled=True,
    )


def adam(use_te: UseTE = None) -> str:
    """Whose Adam steps here: each keeps its count of steps in a place of its own, which the others do not read."""
    return choose(look(use_te), bf16=True, head_dim=_ANY_HEADS, adapters=False).optimizer


def takes_flash(bf16: bool, head_dim: int) -> bool:
    """Whether flash attention knows such heads."""
    return bf16 and head_dim % 8 == 0 and head_dim <= 256


def on_old_gpu() -> bool:
    """Whether the GPU is older than flash attention's kernels."""
    return torch.cuda.is_available() and torch.cuda.get_device_capability() < _FLASH_CAPABILITY


def cpu_lacks_bf16() -> bool:
    """Whether computing is by a CPU that multiplies matrices in bfloat16 only by a detour."""
    return not torch.cuda.is_available() and not torch.ops.mkldnn._is_mkldnn_bf16_supported()


def check_attention(kernels: Kernels, found: Installed, bf16: bool, head_dim: int, masked: bool) -> None:
    """`UserError` when PyTorch has no fused kernel for attention in blocks on this GPU.

    In bf16 none runs on GPUs older than Ampere, and from Ampere on none takes a mask with head sizes that are no
    multiple of 8; in fp32 these must be one of 4.

    Args:
        masked: a window shorter than the sequence, or context parallelism.
    """
    if not found.gpu or kernels.attention != "blocks":
        return
    if bf16 and not found.flash:
        raise UserError("PR=bf16: this GPU is older than Ampere, where attention has no bf16 kernel; give PR=fp32")
    if not bf16 and found.flash and head_dim % 4:
        raise UserError(f"PR=fp32: no attention kernel takes heads of {head_dim} numbers; they must be a multiple of 4")
    if bf16 and head_dim % 8 and (masked or head_dim > 256):
        wayout = "give PR=fp32, or a model whose head size is" if head_dim % 4 == 0 else "the head size must be"
        raise UserError(
            f"PR=bf16: no attention kernel takes heads of {head_dim} numbers"
            f"{' with a sliding window or CP' if masked else ''}; {wayout} a multiple of 8"
        )


def chosen(hf: Any, layout: "Layout", adapters: bool) -> Kernels:
    """In this process, after `prepare`."""
    text = hf.get_text_config()
    kernels = choose(_found, layout.bf16, text.head_dim, adapters)
    # TransformerEngine rotates all rows of a micro-batch alike, so tokens with positions of their own go without it;
    # and of packed rows Megatron does not tell it that neighbors are rotated.
    if mrope_section(text) or family_of(hf).rotates_neighbors:
        return dataclasses.replace(kernels, rope_fusion=False)
    return kernels


def report(kernels: Kernels) -> list[str]:
    """The lines for a run's log: what was chosen, and what is installed but left alone."""
    where = torch.cuda.get_device_name() if _found.gpu else "CPU"
    if _found.transformer_engine:
        where += f", TransformerEngine {_found.transformer_engine}"
    elif _found.gpu:
        where += ", without TransformerEngine"
    lines = [f"kernels ({where}): {kernels}"]
    return lines + ([f"not used: {'; '.join(_found.unused)}"] if _found.unused else [])


def check_context_parallel(kernels: Kernels, window: int | None, text: Any, layout: "Layout", packing: bool) -> None:
    """`UserError` for what TransformerEngine's context parallelism cannot do (its `attn_forward_func_with_cp`).

    A sliding window is computed in its all-to-all form, which cuts the heads over the ranks instead of the sequence and
    knows no packed samples.
    """
    cp, tp = layout.context_parallel, layout.tensor_parallel
    if kernels.attention != "te" or cp == 1 or window is None:
        return
    wayout = "give a smaller CP, or TE=false for attention that gathers keys and values"
    for name, count in (("attention", text.num_attention_heads), ("key/value", text.num_key_value_heads)):
        if count // tp % cp:
            raise UserError(
                f"CP={cp}: TransformerEngine attends within a sliding window only when CP divides the {name} heads "
                f"of a rank, here {count} / TP={tp} = {count // tp}; {wayout}"
            )
    if packing:
        raise UserError(
            f"CP={cp} and PACKING=true: TransformerEngine attends within a sliding window on unpacked samples only; "
            "give PACKING=false, CP=1 or TE=false"
        )


def _transformer_engine() -> tuple[str, str]:
    """(version, ""), or ("", why it cannot be used)."""
    try:
        package = importlib.import_module(_TE)
    except ModuleNotFoundError as error:
        return "", "" if error.name == _TE else f"TransformerEngine does not import ({_first_line(error)})"
    except Exception as error:  # shared libraries that do not fit raise OSError, RuntimeError and others
        return "", f"TransformerEngine does not import ({_first_line(error)})"
    try:
        version = str(getattr(package, "__version__", "")) or importlib.metadata.version("transformer-engine")
        fits = Version(version) in accepted_te().specifier
    except (importlib.metadata.PackageNotFoundError, InvalidVersion):
        return "", "TransformerEngine has no version"
    if not fits:
        return "", f"TransformerEngine {version} (megatron-core wants {accepted_te().specifier})"
    for module in ("transformer_engine.pytorch", "transformer_engine.pytorch.optimizers"):
        try:
            importlib.import_module(module)
        except Exception as error:
            return "", f"TransformerEngine {version} does not import {module} ({_first_line(error)})"
    return version, ""


@functools.cache
def accepted_te() -> Requirement:
    """The versions that the installed megatron-core names in its own metadata."""
    for line in importlib.metadata.requires("megatron-core") or ():
        requirement = Requirement(line)
        if requirement.name == "transformer-engine":
            requirement.specifier.prereleases = True
            return requirement
    raise RuntimeError("megatron-core names no versions of TransformerEngine")


def _apex() -> tuple[bool, str]:
    """(NVIDIA's apex with its CUDA extensions is here, or else why what is called apex cannot be used)."""
    if _imports("amp_C", "apex.optimizers", "apex.multi_tensor_apply"):
        return True, ""
    present = sys.modules.get(_APEX) is not None or importlib.util.find_spec(_APEX) is not None
    return False, "apex (not NVIDIA's, or built without its CUDA extensions)" if present else ""


def _imports(*names: str) -> bool:
    try:
        for name in names:
            importlib.import_module(name)
    except Exception:  # as above
        return False
    return True


def _hide(*packages: str) -> None:
    """Let imports of `packages` fail in this process, those of their modules as well."""
    for package in packages:
        for name in [name for name in sys.modules if name.startswith(f"{package}.")]:
            del sys.modules[name]
        sys.modules[package] = None  # type: ignore[assignment]


def _first_line(error: Exception) -> str:
    return (str(error) or type(error).__name__).splitlines()[0]
