"""Thalweg turns a ``.sql`` file into a running data pipeline."""

__version__ = "0.1.0"

__all__ = ["__version__"]
