"""``/openapi.json`` is true to the routes and to their answers."""

from __future__ import annotations

from typing import Any

import pytest
from starlette.testclient import TestClient
from tests.server.conftest import Serving

import neardup
from neardup.server.app import Service
from neardup.server.limits import ServiceLimits
from neardup.server.security import PAGE


def test_operations_are_the_routes(index: neardup.Index, client: TestClient) -> None:
    described = {
        (path, method.upper())
        for path, methods in client.get("/openapi.json").json()["paths"].items()
        for method in methods
        if method != "parameters"
    }
    service = Service(index)
    try:
        routes = {(path, method) for path, methods in service.routes.items() for method in methods}
    finally:
        service.close()
    assert described == {(path, method) for path, method in routes if path not in PAGE}


def test_limits_of_the_service_are_told(index: neardup.Index, serving: Serving) -> None:
    client = serving(index, ServiceLimits(characters=123, texts=7, query_bytes=4567))
    told = client.get("/openapi.json").json()
    schemas = told["components"]["schemas"]
    assert schemas["QueryText"]["properties"]["text"]["maxLength"] == 123
    assert schemas["QueryTexts"]["properties"]["texts"]["maxItems"] == 7
    by_bands = schemas["QueryText"]["else"]["else"]["else"]["properties"]
    assert by_bands["threshold"]["anyOf"][0]["minimum"] == index.spec.threshold
    assert schemas["Document"]["properties"]["text"]["maxLength"] == 123
    assert "4567" in told["paths"]["/query"]["post"]["summary"]


def test_every_reference_leads_somewhere(client: TestClient) -> None:
    told = client.get("/openapi.json").json()

    def references(value: object) -> list[str]:
        if isinstance(value, dict):
            own = [value["$ref"]] if isinstance(value.get("$ref"), str) else []
            return own + [found for part in value.values() for found in references(part)]
        return [found for part in value for found in references(part)] if isinstance(value, list) else []

    used = {reference.removeprefix("#/components/schemas/") for reference in references(told)}
    assert used <= set(told["components"]["schemas"])
    assert set(told["components"]["schemas"]) - used <= {"LineStatus"}  # of the lines of a stream: named in the text


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_generated_requests_find_no_fault(index: neardup.Index) -> None:
    """schemathesis: no 5xx, no answer that the description does not have, no unusable value that is taken."""
    schemathesis = pytest.importorskip("schemathesis")
    from hypothesis import HealthCheck, Phase, assume, given, settings

    service = Service(index, limits=ServiceLimits(characters=2000))
    try:
        schema = schemathesis.openapi.from_asgi("/openapi.json", service)
        operations = [found.ok() for found in schema.get_all_operations()]
        assert len(operations) == 13  # all but that of the description itself
        for operation in operations:

            @settings(
                max_examples=25,
                deadline=None,
                derandomize=True,
                database=None,
                phases=[Phase.generate],
                suppress_health_check=list(HealthCheck),
            )
            @given(case=operation.as_strategy())
            def check(case: Any) -> None:
                body = case.body if isinstance(case.body, dict) else {}
                # 28.0 is an integer to JSON Schema, and to the service a number of another type.
                assume(not any(isinstance(body.get(name), float) for name in ("top", "id")))
                # Removal needs an age or a filter, which OpenAPI cannot say; nor does any text hold a filter.
                given = case.query or {}
                assume("where" not in given)
                assume((case.method, case.path) != ("DELETE", "/documents") or "older_than" in given)
                case.call_and_validate()

            check()
    finally:
        service.close()
