"""The ``files`` sink: Parquet on a local file system (exactly once) or behind any pyarrow file system URL (at least once)."""

from __future__ import annotations

from thalweg.sinks.files.plugin import PLUGIN

__all__ = ["PLUGIN"]
