"""`/metrics`: the engine's and the service's numbers in Prometheus' text format."""

from collections.abc import Iterable

from server.service import Service
from server.stats import EngineStats, Histogram

_COUNTERS = {
    "steps": "Forward passes of the model",
    "decode_tokens": "Tokens computed for replies",
    "draft_tokens": "Of those, tokens that were guessed",
    "kept_tokens": "Of those, tokens that the model drew too",
    "chunk_tokens": "Prompt tokens computed",
    "prompt_tokens": "Prompt tokens asked for",
    "cached_tokens": "Prompt tokens taken from the prefix cache",
    "generated_tokens": "Tokens of finished replies",
    "finished": "Requests finished",
    "dropped": "Requests cancelled or expired",
    "out_of_memory": "Times that memory ran out",
    "image_hits": "Images whose features were known",
    "image_misses": "Images encoded",
}
_HISTOGRAMS = {
    "queue_s": ("queue_seconds", "Time in the queue"),
    "first_token_s": ("first_token_seconds", "Time to the first token"),
    "total_s": ("request_seconds", "Time to the whole reply"),
}


def render(service: Service, responses: dict[int, int]) -> str:
    """All metrics; `responses` counts HTTP responses by status."""
    engine, stats = service.engine, EngineStats()
    stats.add(service.retired)
    stats.add(engine.stats)
    lines: list[str] = []
    for name, text in _COUNTERS.items():
        lines += _metric(f"{name}_total", "counter", text, [("", getattr(stats, name))])
    gauges = {
        "queue_length": ("Requests that wait", engine.num_waiting),
        "running": ("Requests that hold a slot", engine.num_running),
        "batch_size": ("Sequences in the newest decode step", engine.stats.batch_size if engine.num_running else 0),
        "tokens_per_second": ("Generated tokens per second, lately", round(engine.stats.tokens_per_s, 2)),
        "kv_cache_bytes": ("Memory of keys and values", engine.kv_bytes),
        "image_feature_bytes": ("Memory of the image features that are kept", engine.cache.nbytes),
        "memory_budget_bytes": ("What keys, values and image features may take", engine.memory.budget.total_bytes),
    }
    for name, (text, value) in gauges.items():
        lines += _metric(name, "gauge", text, [("", value)])
    for field, (name, text) in _HISTOGRAMS.items():
        lines += _histogram(name, text, getattr(stats, field))
    counts = [(f'{{status="{status}"}}', count) for status, count in sorted(responses.items())]
    lines += _metric("responses_total", "counter", "HTTP responses by status", counts)
    version = [(f'{{version="{engine.model.weights_version}"}}', 1)]
    lines += _metric("weights_info", "gauge", "The weights that are served", version)
    return "\n".join(lines) + "\n"


def _metric(name: str, kind: str, text: str, values: Iterable[tuple[str, float]]) -> list[str]:
    head = [f"# HELP elcano_{name} {text}", f"# TYPE elcano_{name} {kind}"]
    return head + [f"elcano_{name}{labels} {value}" for labels, value in values]


def _histogram(name: str, text: str, histogram: Histogram) -> list[str]:
    values, total = [], 0
    for bound, count in zip((*histogram.bounds, "+Inf"), histogram.counts, strict=True):
        total += count
        values.append((f'_bucket{{le="{bound}"}}', total))
    values += [("_sum", round(histogram.sum, 6)), ("_count", total)]
    return _metric(name, "histogram", text, values)
