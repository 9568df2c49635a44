"""Kafka topics as tables."""

from thalweg.sources.kafka.plugin import PLUGIN

__all__ = ["PLUGIN"]
