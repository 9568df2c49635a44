"""Terminals that are none, and topics inside this process."""

from __future__ import annotations

import io
import itertools
import os
from typing import TYPE_CHECKING, Any

import pytest

from thalweg import registry
from thalweg.model.clock import SystemClock
from thalweg.model.events import Fanout
from thalweg.ports.source import SourceContext

if TYPE_CHECKING:
    from collections.abc import Callable

_NUMBERS = itertools.count()


class Terminal(io.StringIO):
    """A text stream that says it is a terminal."""

    def isatty(self) -> bool:
        """It is, for all that anybody can tell."""
        return True


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> Terminal:
    """A terminal of 100 columns that knows colours."""
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.delenv("NO_COLOR", raising=False)
    return Terminal()


@pytest.fixture
def topic() -> Callable[..., Any]:
    """Makes a memory topic of a name that nobody else has, filled with payloads; gives the topic."""

    def make(*payloads: bytes | None) -> Any:  # noqa: ANN401 - the class is the plug-in's own
        plugin = registry.load("sources", "memory")
        name = f"t{os.getpid()}_{next(_NUMBERS)}"
        source = plugin.make(f"memory://{name}", plugin.options(), SourceContext("test", name, SystemClock(), Fanout()))
        for payload in payloads:
            source.topic.append(0, payload)
        return source.topic

    return make
