"""Metrics of the resident server in the Prometheus text format."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

if TYPE_CHECKING:
    from opencode_memory.store.reports import Stats

PREFIX: Final = "opencode_memory"
CONTENT_TYPE: Final = "text/plain; version=0.0.4; charset=utf-8"
_SECONDS: Final = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0)


class Metrics:
    """Counters and gauges of one server."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self.calls = self._counter("tool_calls", "Tool calls by outcome: ok, refused, error.", "tool", "outcome")
        self.seconds = Histogram(
            f"{PREFIX}_tool_seconds",
            "Duration of tool calls.",
            ["tool"],
            buckets=_SECONDS,
            registry=self.registry,
        )
        self.recalls = self._counter("recalls", "Recalls by result: hit, miss.", "result")
        self.requests = self._counter("http_requests", "HTTP requests by path and status.", "path", "status")
        self.refused = self._counter("http_refused", "HTTP requests that a guard refused, by reason.", "reason")
        self.late = self._counter(
            "late_messages", "Messages without memories because of a late answer, by cause.", "cause"
        )
        self.worker_starts = self._counter("worker_starts", "Starts of the worker process.")
        self.up = self._gauge("healthy", "1 if the server is healthy.")
        self.memories = self._gauge("memories", "Memories by status.", "status")
        self.bytes = self._gauge("bytes", "Bytes on disk by part.", "part")
        self.pending = self._gauge("pending_embeddings", "Memories that wait to be embedded.")
        self.lag = self._gauge("index_lag", "Texts that are not yet in the full-text index.")
        self.vectors = self._gauge("vectors", "Vectors in the vector index.")
        self.projects = self._gauge("projects", "Projects.")

    def read(self, stats: Stats | None, *, healthy: bool) -> bytes:
        """Render all metrics as text.

        Args:
            stats: Current statistics of the store; None keeps the previous values.
            healthy: Whether the server is healthy.
        """
        self.up.set(healthy)
        if stats is not None:
            self._update(stats)
        return generate_latest(self.registry)

    def refuse(self, reason: str) -> None:
        """Count a request that a guard refused."""
        self.refused.labels(reason).inc()

    def _update(self, stats: Stats) -> None:
        for status, number in stats.by_status.items():
            self.memories.labels(status).set(number)
        for part, size in (("store", stats.store_bytes), ("words", stats.lexical_bytes), ("graph", stats.graph_bytes)):
            self.bytes.labels(part).set(size)
        self.pending.set(stats.pending_embeddings)
        self.lag.set(stats.lexical_tail)
        self.vectors.set(stats.vectors)
        self.projects.set(stats.projects)

    def add_gauge(self, name: str, about: str, read: Callable[[], float]) -> None:
        """Add a gauge whose value is read at each scrape."""
        self._gauge(name, about).set_function(read)

    def _counter(self, name: str, about: str, *labels: str) -> Counter:
        return Counter(f"{PREFIX}_{name}", about, labels, registry=self.registry)

    def _gauge(self, name: str, about: str, *labels: str) -> Gauge:
        return Gauge(f"{PREFIX}_{name}", about, labels, registry=self.registry)
