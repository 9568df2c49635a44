"""Fixtures of the tests that need real servers."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.service.kafka_topics import Readers

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture(params=["fetch", "columnar", "consume"])
def readers(kafka: str, request: pytest.FixtureRequest) -> Iterator[Readers]:
    """Makes sources over the shared broker; every test runs over both ways to take records."""
    made = Readers(kafka, request.param)
    yield made
    made.close()
