"""`/metrics`: the engine's and the service's numbers, of one server or of several replicas."""

import itertools
from collections.abc import Iterator

from fastapi.responses import PlainTextResponse
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily, Metric
from prometheus_client.exposition import generate_latest
from prometheus_client.parser import text_string_to_metric_families
from prometheus_client.registry import Collector

from server.engine.stats import EngineStats
from server.service import Service

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


class ServiceMetrics(Collector):
    """What `/metrics` says now; `responses` counts HTTP responses by status."""

    def __init__(self, service: Service, responses: dict[int, int]):
        self._service, self._responses = service, responses

    def collect(self) -> Iterator[Metric]:
        engine, stats = self._service.engine, EngineStats()
        stats.add(self._service.retired)
        stats.add(engine.stats)
        for name, text in _COUNTERS.items():
            yield CounterMetricFamily(f"elcano_{name}", text, getattr(stats, name))
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
            yield GaugeMetricFamily(f"elcano_{name}", text, value)
        for field, (name, text) in _HISTOGRAMS.items():
            histogram = getattr(stats, field)
            bounds, counts = (*histogram.bounds, "+Inf"), itertools.accumulate(histogram.counts)
            buckets = [(str(bound), count) for bound, count in zip(bounds, counts, strict=True)]
            yield HistogramMetricFamily(f"elcano_{name}", text, buckets, histogram.sum)
        responses = CounterMetricFamily("elcano_responses", "HTTP responses by status", labels=["status"])
        for status, count in sorted(self._responses.items()):
            responses.add_metric([str(status)], count)
        yield responses
        weights = GaugeMetricFamily("elcano_weights_info", "The weights that are served", labels=["version"])
        weights.add_metric([engine.model.weights_version], 1)
        yield weights


class ReplicasMetrics(Collector):
    """Several servers' `/metrics`, by replica, as one: each sample has a label that says which replica it is from."""

    def __init__(self, texts: dict[int, str]):
        self._texts = texts

    def collect(self) -> Iterator[Metric]:
        merged: dict[str, Metric] = {}
        for replica, text in self._texts.items():
            for family in text_string_to_metric_families(text):
                into = merged.setdefault(family.name, Metric(family.name, family.documentation, family.type))
                for sample in family.samples:
                    into.add_sample(sample.name, sample.labels | {"replica": str(replica)}, sample.value)
        yield from merged.values()


def render(collector: Collector) -> PlainTextResponse:
    """The answer to a scrape, in Prometheus' text format."""
    return PlainTextResponse(generate_latest(collector), media_type="text/plain; version=0.0.4")
