"""The ``console`` sink: rows on standard output, as an aligned table or as JSON lines."""

from __future__ import annotations

from thalweg.sinks.console.sink import PLUGIN

__all__ = ["PLUGIN"]
