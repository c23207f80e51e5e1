"""The lines of `tests/gpu/short.py`, in their order: what each runs, for how long at most, and how its figures read."""

import dataclasses
from collections.abc import Callable
from pathlib import Path
from typing import Any


@dataclasses.dataclass(frozen=True)
class Config:
    """Measure what one GPU can prove."""

    cpu: bool = False
    """Small forms on two cores: proves the lines, not the machine."""
    budget_s: float = 540.0
    """All lines together."""
    only: tuple[str, ...] = ()
    """Only these lines. None: all."""
    output_dir: Path = Path("runs/gpu")
    """Receives gpu.json, logs and what the lines write."""
    scratch: Path = Path("/dev/shm")
    """Receives policies of 4B and 8B (9 and 18 GB)."""

    def policy(self, shape: str) -> Path:
        """Where the policy of a shape lies."""
        return (self.output_dir.absolute() if self.cpu else self.scratch) / f"elcano-{shape}"


@dataclasses.dataclass(frozen=True)
class Line:
    """`arguments` are those of `python -m module`, which writes figures as JSON to its `--output`, or as gpu.json
    into an `--output_dir` of its own; `summary` makes a line of text of it."""

    name: str
    limit_s: float
    module: str
    arguments: Callable[[Config], dict[str, Any]]
    summary: Callable[[Any], str] = str
    has_folder: bool = False

    def output(self, config: Config) -> Path:
        folder = config.output_dir.absolute()
        return folder / self.name / "gpu.json" if self.has_folder else folder / f"{self.name}.json"

    def has_lost(self, config: Config) -> bool:
        """Whether what it made in memory for other lines is gone, as on a fresh machine."""
        made = self.arguments(config).get("folder")
        return made is not None and not Path(made).exists()


def lines() -> list[Line]:
    """In their order."""
    train, baseline = "benchmarks.training_gpu", "benchmarks.training_gpu_baseline"
    packed = {"seq_len": 32768, "sample_len": 4096, "rows": 1, "steps": 3, "ac": "full"}
    padded = {"seq_len": 4096, "sample_len": 3500, "rows": 8, "steps": 3, "ac": "full", "packing": False}
    few = {"samples": 8, "sample_len": 4096, "steps": 3}
    return [
        Line("ceilings", 40, "tests.gpu.ceilings", _cpu({}, {}), _ceilings),
        Line("parity", 90, "tests.gpu", _parity, _parity_summary, has_folder=True),
        Line(
            "training_qwen3_vl_4b", 75, train, _training("qwen3-vl-4b", packed, freeze_vision=False), _training_summary
        ),
        Line("transformers_qwen3_vl_4b", 60, baseline, _baseline("qwen3-vl-4b", few), _training_summary),
        Line("policy", 60, "tests.gpu.policy", _policy("qwen3-vl-4b"), _policy_summary),
        Line("serving_one", 60, "benchmarks.serving", _serving("1x4000", "published"), _serving_summary),
        Line("serving_many", 90, "benchmarks.serving", _serving("16x4000 64x4000", "micro_batching"), _serving_summary),
        Line("scoring_qwen3_vl_8b", 45, train, _scoring("qwen3-vl-8b", packed), _scoring_summary),
        Line(
            "training_qwen3_vl_8b", 75, train, _training("qwen3-vl-8b", packed, freeze_vision=True), _training_summary
        ),
        Line(
            "training_idefics2_8b", 75, train, _training("idefics2-8b", packed, freeze_vision=False), _training_summary
        ),
        Line("reload", 45, "tests.server.soak", _soak({}), _soak_summary),
        Line("out_of_memory", 45, "tests.server.soak", _soak({"starve_every": 40}), _soak_summary),
        Line("publishing_8b", 60, "benchmarks.online_publish", _publishing, _publishing_summary),
        Line("critic_features_qwen3_vl_8b", 45, train, _scoring("qwen3-vl-8b", packed, "features"), _scoring_summary),
        Line("policy_8b", 60, "tests.gpu.policy", _policy("qwen3-vl-8b"), _policy_summary),
        Line("candidates_qwen3_vl_8b", 90, "tests.gpu.candidates", _candidates, _candidates_summary),
        Line(
            "critic_training_qwen3_vl_8b",
            75,
            train,
            _training("qwen3-vl-8b", packed | {"write": "values"}, freeze_vision=True),
            _training_summary,
        ),
        Line("small_critic", 30, "tests.gpu.small_critic", _small_critic, _small_critic_summary),
        Line("training_padded", 60, train, _training("qwen3-vl-4b", padded, freeze_vision=False), _training_summary),
        Line(
            "transformers_compiled", 75, baseline, _baseline("qwen3-vl-4b", few | {"compile": True}), _training_summary
        ),
        Line(
            "serving_without_caches",
            60,
            "benchmarks.serving",
            _serving("16x4000", "ours_without_caches"),
            _serving_summary,
        ),
    ]


def _cpu(flags: dict[str, Any], small: dict[str, Any]) -> Callable[[Config], dict[str, Any]]:
    return lambda config: {**small, "cpu": True} if config.cpu else flags


def _parity(config: Config) -> dict[str, Any]:
    return {"only": ["parity_with_our_layers"]} | ({"cpu": True} if config.cpu else {})


def _training(shape: str, flags: dict[str, Any], freeze_vision: bool) -> Callable[[Config], dict[str, Any]]:
    def arguments(config: Config) -> dict[str, Any]:
        if config.cpu:
            small = {"seq_len": 1024, "sample_len": 512 if flags.get("packing", True) else 900, "rows": 1, "steps": 1}
            return {"shape": shape, "cpu": True, **{**flags, **small}, "freeze_vision": str(freeze_vision)}
        return {"shape": shape, "tp": 1, **flags, "freeze_vision": str(freeze_vision)}

    return arguments


def _scoring(shape: str, flags: dict[str, Any], write: str = "logprobs") -> Callable[[Config], dict[str, Any]]:
    train = _training(shape, flags, freeze_vision=True)
    return lambda config: train(config) | {"forward_only": True, "write": write}


def _baseline(shape: str, flags: dict[str, Any]) -> Callable[[Config], dict[str, Any]]:
    small = {"samples": 1, "sample_len": 512, "steps": 1}
    return lambda config: {"shape": shape, **flags, **({"cpu": True, **small} if config.cpu else {})}


def _policy(shape: str) -> Callable[[Config], dict[str, Any]]:
    return lambda config: {
        **{"shape": shape, "folder": config.policy(shape)},
        **({"tiny": True, "device": "cpu"} if config.cpu else {}),
    }


def _candidates(config: Config) -> dict[str, Any]:
    small = {"device": "cpu", "num_samples": 4, "num_candidates": 3, "max_new_tokens": 8} if config.cpu else {}
    return {"policy": config.policy("qwen3-vl-8b"), **small}


def _small_critic(config: Config) -> dict[str, Any]:
    return {"num_samples": 256, "num_features": 64, "train_iters": 100} if config.cpu else {}


def _serving(settings: str, baseline: str) -> Callable[[Config], dict[str, Any]]:
    def arguments(config: Config) -> dict[str, Any]:
        sides = {"sides": [baseline, "ours"], "num_workers": 1, "model_name_or_path": config.policy("qwen3-vl-4b")}
        if config.cpu:
            return sides | {"quick": True, "device": "cpu"}
        large = {"max_batch_size": 64, "prefill_chunk": 2048, "repeats": 1, "device": "cuda:0"}
        return sides | large | {"settings": settings.split()}

    return arguments


def _soak(flags: dict[str, Any]) -> Callable[[Config], dict[str, Any]]:
    def arguments(config: Config) -> dict[str, Any]:
        size = {"duration_s": 12, "num_episodes": 2} if config.cpu else {"duration_s": 25, "num_episodes": 4}
        return {"device": "cpu" if config.cpu else "cuda:0", "num_clients": 4, "reload_every_s": 4, **size, **flags}

    return arguments


def _publishing(config: Config) -> dict[str, Any]:
    size = {"num_layers": 1, "repeats": 1} if config.cpu else {"num_layers": 16, "repeats": 2, "device": "cuda"}
    return {"work_dir": (config.output_dir if config.cpu else config.scratch).absolute() / "publishing", **size}


def _ceilings(found: Any) -> str:
    return f"{found['bf16_tflops']:.3g} TFLOP/s in bf16, {found['memory_tb_per_s']:.3g} TB/s"


def _parity_summary(found: Any) -> str:
    return found["lines"][0]["summary"]


def _training_summary(found: Any) -> str:
    mfu = "unknown" if found["mfu"] is None else f"{found['mfu']:.1%}"
    said = f", {found['dry_run_gib']:.1f} by --dry_run" if "dry_run_gib" in found else ""
    memory = f", {found['peak_memory_gib']:.1f} GiB{said}" if found["peak_memory_gib"] else ""
    return (
        f"{found['layers']} layers: {found['samples_per_s']:.2f} samples/s, {found['tokens_per_s']:.0f} tokens/s, "
        f"MFU {mfu}{memory}"
    )


def _policy_summary(found: Any) -> str:
    return f"{found['bytes'] / 1e9:.2f} GB"


def _soak_summary(found: Any) -> str:
    wrong = sum(found[name] for name in ("crossed", "wrong_version", "errors"))
    said = f"{found['replies']} replies, {wrong} wrong, {found['reloads']} reloads"
    refused = (
        f"; memory ran out {found['out_of_memory']} times, {found['asked_again']} refused and asked again, survived"
    )
    return said + (refused if found["out_of_memory"] else "")


def _candidates_summary(found: Any) -> str:
    each = f"{found['candidates'] - 1} candidates of each"
    return f"{found['samples_per_s']:.2f} samples/s, {each}: {found['reply_tokens_per_s']:.0f} tokens/s"


def _small_critic_summary(found: Any) -> str:
    return f"fitted to {found['fitted_samples_per_s']:.0f} samples/s, judges {found['judged_samples_per_s']:.0f}/s"


def _publishing_summary(found: Any) -> str:
    wall = {name: min(wall for wall, _ in found[name]) for name in ("published", "copied")}
    return (
        f"{found['bytes'] / 1e9:.1f} GB: published in {wall['published']:.1f} s, copied in {wall['copied']:.1f}, "
        f"loaded in {min(found['loaded']):.1f}"
    )


def _scoring_summary(found: Any) -> str:
    return f"{found['layers']} layers: {found['samples_per_s']:.2f} samples/s, {found['tokens_per_s']:.0f} tokens/s"


def _serving_summary(found: Any) -> str:
    def told(row: dict[str, Any]) -> str:
        known = f" ({row['prompt_tokens_cached']:.0%} of the prompts known)" if "prompt_tokens_cached" in row else ""
        return f"{row['side']}, {row['agents']} agents: {row['requests_per_s']['median']:.2f} requests/s{known}"

    return "; ".join(map(told, found["rows"]))


if __name__ == "__main__":  # says what will be done without the time that torch takes to load
    print(", ".join(f"{line.name} ({line.limit_s:.0f} s at most)" for line in lines()))
