"""Goals are held or not held by the figures of a GPU, and not measured without one."""

from typing import Any

from tests.gpu import goals
from tests.gpu.result import Result


def held(**figures: Any) -> dict[str, str]:
    results = {name.replace("__", "."): Result(name, figures=found) for name, found in figures.items()}
    return {one["goal"].partition(":")[0]: one["held"] for one in goals.judged(results)}


def row(**changed: Any) -> dict[str, Any]:
    base = {"mfu": 0.41, "layers": 36, "samples_per_s": 3.0, "gpu": "NVIDIA H200"}
    return base | {"peak_memory_gib": 95.0, "dry_run_gib": 100.0} | changed


def test_mfu_and_memory() -> None:
    good = held(training__qwen3_vl_4b_packed_learned=row())
    assert good["memory within 10% of --dry_run"] == "held"
    bad = held(
        training__qwen3_vl_4b_packed_learned=row(mfu=0.39, peak_memory_gib=111.0),
        training__qwen3_vl_8b_packed_learned=row(mfu=0.39, peak_memory_gib=89.0),
    )
    assert bad["MFU of at least 40%, tower counted"] == bad["memory within 10% of --dry_run"] == "not held"


def test_serving_is_judged_at_64_agents_only() -> None:
    ours, one = {"agents": 64, "requests_per_s": 9.0}, {"agents": 1, "requests_per_s": 0.4}
    goal = "serving at least 20 times one generate a request at 64 agents"
    assert held(serving__ours_64=ours, serving__generate_1=one)[goal] == "held"
    assert held(serving__ours_64=ours | {"requests_per_s": 7.0}, serving__generate_1=one)[goal] == "not held"
    assert held(serving__ours_64=ours | {"agents": 2}, serving__generate_1=one)[goal] == "not measured"


def test_without_a_gpu_nothing_is_held() -> None:
    found = held(training__qwen3_vl_4b_packed_learned=row(mfu=None, gpu="none"))
    assert set(found.values()) == {"not measured"}
