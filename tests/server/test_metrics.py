"""``/metrics``: what is counted, and that Prometheus could read it."""

from __future__ import annotations

import re

from starlette.testclient import TestClient
from tests.server.conftest import ROSES

from neardup.server.metrics import BOUNDS, Metrics

_LINE = re.compile(r'[a-z_]+(?:\{[a-z]+="[^"\n]*"(?:,[a-z]+="[^"\n]*")*\})? -?[0-9.e+]+')


def test_requests_are_counted_by_route_and_status(client: TestClient) -> None:
    for _ in range(3):
        client.post("/query", json={"text": "a"})
    client.post("/query", json={})
    client.get("/documents/rose")
    client.get("/documents/absent")
    client.get("/made/up/path")
    client.request("BREW", "/query")
    answer = client.get("/metrics")
    assert answer.headers["content-type"].startswith("text/plain; version=0.0.4")
    lines = answer.text.splitlines()
    assert 'neardup_requests_total{route="/query",method="POST",status="200"} 3' in lines
    assert 'neardup_requests_total{route="/query",method="POST",status="422"} 1' in lines
    assert 'neardup_requests_total{route="/documents/{id}",method="GET",status="200"} 1' in lines
    assert 'neardup_requests_total{route="/documents/{id}",method="GET",status="404"} 1' in lines
    assert 'neardup_requests_total{route="other",method="GET",status="404"} 1' in lines
    assert 'neardup_requests_total{route="/query",method="other",status="405"} 1' in lines
    assert 'neardup_request_seconds_count{route="/query"} 5' in lines
    assert f"neardup_documents {len(ROSES)}" in lines
    assert "neardup_requests_in_flight 1" in lines
    assert "neardup_received_bytes_total 38" in lines


def test_text_is_of_the_format_of_prometheus(client: TestClient) -> None:
    client.post("/query", json={"text": "a"})
    text = client.get("/metrics").text
    assert text.endswith("\n")
    types: dict[str, str] = {}
    for line in text.splitlines():
        if line.startswith("# TYPE "):
            _, _, name, kind = line.split()
            assert name not in types
            types[name] = kind
        elif not line.startswith("# HELP "):
            assert _LINE.fullmatch(line), line
            name = re.sub(r"_(bucket|sum|count)$", "", line.partition("{")[0].partition(" ")[0])
            assert name in types, line


def test_buckets_of_the_histogram_are_cumulative() -> None:
    metrics = Metrics()
    for seconds in (0.0, 0.001, 0.0011, 0.2, 31.0):
        metrics.observe("/query", "POST", 200, seconds)
    text = metrics.text(gauges={}, counters={})
    counts = [int(count) for count in re.findall(r'_bucket\{route="/query",le="[^"]+"\} (\d+)', text)]
    assert len(counts) == len(BOUNDS) + 1
    assert counts[:2] == [2, 3]
    assert counts[-2:] == [4, 5]
    assert counts == sorted(counts)
    assert 'neardup_request_seconds_count{route="/query"} 5' in text
