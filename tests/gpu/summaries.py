"""How the figures of a line read in one line of text."""

from typing import Any


def ceilings(found: Any) -> str:
    return f"{found['bf16_tflops']:.3g} TFLOP/s in bf16, {found['memory_tb_per_s']:.3g} TB/s"


def attention(found: Any) -> str:
    said = [
        f"{name} {one['tflops']:.0f} TFLOP/s, {one['times_plain_bf16']:.2f} times plain bf16's error"
        if "tflops" in one
        else f"{name} taken by the meta function"
        for name, one in found.items()
    ]
    return "; ".join(said)


def parity(found: Any) -> str:
    return found["lines"][0]["summary"]


def training(found: Any) -> str:
    """Of a row that learns, scores, or is transformers'."""
    parts = [f"{found['layers']} layers", f"{found['samples_per_s']:.2f} samples/s"]
    parts.append(f"{found['tokens_per_s']:.0f} tokens/s")
    if not found["forward_only"]:
        parts.append(f"MFU {'unknown' if found['mfu'] is None else format(found['mfu'], '.1%')}")
    if "optimizer_seconds" in found:
        seconds = {name: found[f"{name}_seconds"] for name in ("step", "vision", "optimizer")}
        parts.append(
            "{step:.2f} s a step (tower and connector {vision:.2f}, optimizer {optimizer:.2f})".format(**seconds)
        )
    if found.get("peak_memory_gib"):
        said = f" ({found['dry_run_gib']:.1f} by --dry_run)" if "dry_run_gib" in found else ""
        parts.append(f"{found['peak_memory_gib']:.1f} GiB{said}")
    return ", ".join(parts) + _floor(found)


def serving(found: Any) -> str:
    known = f", {found['prompt_tokens_cached']:.0%} of the prompts known" if "prompt_tokens_cached" in found else ""
    return (
        f"{found['agents']} agents: {found['requests_per_s']:.2f} requests/s, p50 {found['p50_s']:.2f} s, "
        f"p95 {found['p95_s']:.2f} s, {found['prompt_tokens_per_s']:.0f} + {found['reply_tokens_per_s']:.0f} tokens/s"
        f"{known}{_floor(found)}"
    )


def online(found: Any) -> str:
    best = min(found["versions"], key=lambda version: version["total_s"])
    return (
        f"{found['bytes'] / 1e9:.2f} GB: {best['total_s']:.1f} s until the server replies with it (published "
        f"{best['published_s']:.1f}, reloaded {best['reloaded_s']:.1f}); a copy takes {found['copied_s']:.1f}"
    )


def soak(found: Any) -> str:
    wrong = sum(found[name] for name in ("crossed", "wrong_version", "errors"))
    said = f"{found['replies']} replies, {wrong} wrong, {found['reloads']} reloads"
    refused = (
        f"; memory ran out {found['out_of_memory']} times, {found['asked_again']} refused and asked again, survived"
    )
    return said + (refused if found["out_of_memory"] else "")


def candidates(found: Any) -> str:
    each = f"{found['candidates'] - 1} candidates of each"
    return f"{found['samples_per_s']:.2f} samples/s, {each}: {found['reply_tokens_per_s']:.0f} tokens/s"


def small_critic(found: Any) -> str:
    return f"fitted to {found['fitted_samples_per_s']:.0f} samples/s, judges {found['judged_samples_per_s']:.0f}/s"


def _floor(found: Any) -> str:
    return f", {found['share_of_floor']:.0%} of the floor" if "share_of_floor" in found else ""
