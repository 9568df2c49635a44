"""Avro object container files as tables."""

from thalweg.sources.avro.plugin import PLUGIN

__all__ = ["PLUGIN"]
