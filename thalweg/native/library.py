"""The very librdkafka that the Kafka client has loaded, for calls that the client does not offer."""

from __future__ import annotations

import ctypes
import ctypes.util
from pathlib import Path
from typing import TYPE_CHECKING

import confluent_kafka

if TYPE_CHECKING:
    from collections.abc import Mapping

Signature = tuple[type | None, tuple[type, ...]]
"""What a function returns, and what it takes."""


def client_library(signatures: Mapping[str, Signature]) -> ctypes.CDLL | None:
    """The library with these functions declared; None where it is not where the client keeps it. Raises AttributeError for a missing function."""
    folder = Path(confluent_kafka.__file__).parent
    bundled = [*folder.parent.glob("confluent_kafka.libs/librdkafka*"), *folder.glob(".dylibs/librdkafka*")]
    found = str(bundled[0]) if bundled else ctypes.util.find_library("rdkafka")
    if found is None:
        return None
    lib = ctypes.CDLL(found)
    for name, (returns, takes) in signatures.items():
        function = getattr(lib, name)
        function.restype, function.argtypes = returns, takes
    return lib
