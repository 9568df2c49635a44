"""The ``memory`` sink: rows stay in this process, for tests and embedding."""

from __future__ import annotations

from thalweg.sinks.memory.sink import PLUGIN

__all__ = ["PLUGIN"]
