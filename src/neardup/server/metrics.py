"""``/metrics``: counts of the service in the text format of Prometheus, kept on the event loop without a lock."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Mapping
from itertools import accumulate

BOUNDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)
"""Upper bounds of the buckets of the latency histogram, in seconds."""
Values = Mapping[str, tuple[str, float]]
"""Name of a value to what it is, in words, and its number."""


class Metrics:
    """Counters of one service."""

    def __init__(self) -> None:
        self._requests: Counter[tuple[str, str, int]] = Counter()
        self._seconds: defaultdict[str, float] = defaultdict(float)
        """What the requests of each route took in all."""
        self._buckets: defaultdict[str, list[int]] = defaultdict(lambda: [0] * (len(BOUNDS) + 1))
        self.refused: Counter[str] = Counter()
        self.bytes_in = 0
        self.in_flight = 0
        self.begun = 0
        """Requests whose head was read and that are not answered; more than ``in_flight`` before their turn."""
        self.held = 0
        """Bytes of bodies and lines that have arrived and are not answered yet, of all requests together."""

    def observe(self, route: str, method: str, status: int, seconds: float) -> None:
        self._requests[route, method, status] += 1
        self._buckets[route][bisect_left(BOUNDS, seconds)] += 1
        self._seconds[route] += seconds

    def text(self, *, gauges: Values, counters: Values) -> str:
        """Everything counted, with ``gauges`` and ``counters`` that others keep."""
        lines = [
            *_head("neardup_requests_total", "counter", "Requests answered."),
            *(
                f"neardup_requests_total{_labels(route=route, method=method, status=status)} {count}"
                for (route, method, status), count in sorted(self._requests.items())
            ),
            *_head("neardup_request_seconds", "histogram", "Seconds from the head of a request to its answer."),
        ]
        for route, counts in sorted(self._buckets.items()):
            below = list(accumulate(counts))
            for bound, count in zip((*BOUNDS, "+Inf"), below, strict=True):
                lines.append(f"neardup_request_seconds_bucket{_labels(route=route, le=bound)} {count}")
            lines.append(f"neardup_request_seconds_sum{_labels(route=route)} {self._seconds[route]:.6f}")
            lines.append(f"neardup_request_seconds_count{_labels(route=route)} {below[-1]}")
        lines += _head("neardup_refused_total", "counter", "Requests and connections refused, by reason.")
        for reason, count in sorted(self.refused.items()):
            lines.append(f"neardup_refused_total{_labels(reason=reason)} {count}")
        counters = {"neardup_received_bytes_total": ("Bytes of bodies received.", self.bytes_in), **counters}
        gauges = {"neardup_requests_in_flight": ("Requests at work.", self.in_flight), **gauges}
        for kind, values in (("counter", counters), ("gauge", gauges)):
            for name, (about, value) in values.items():
                lines += [*_head(name, kind, about), f"{name} {value}"]
        return "\n".join(lines) + "\n"


def _head(name: str, kind: str, about: str) -> list[str]:
    return [f"# HELP {name} {about}", f"# TYPE {name} {kind}"]


def _labels(**labels: object) -> str:
    """Labels in braces. Their values are our own words, methods and paths: none needs escapes but a method."""
    quoted = (f'{name}="{str(value).translate(_ESCAPES)}"' for name, value in labels.items())
    return f"{{{','.join(quoted)}}}"


_ESCAPES = str.maketrans({"\\": r"\\", '"': r"\"", "\n": r"\n"})
