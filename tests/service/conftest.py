"""Fixtures of the tests that need real servers."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.service.kafka_topics import Readers

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture
def readers(kafka: str) -> Iterator[Readers]:
    """Makes sources over the shared broker."""
    made = Readers(kafka)
    yield made
    made.close()
