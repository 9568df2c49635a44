"""How a registry of Confluent's protocol is reached: the format's own keys without their prefix."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from thalweg.ports.http_options import HttpOptions, read_registry_options

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass(frozen=True, slots=True)
class ConfluentOptions(HttpOptions):
    """Credentials, certificates and time-out."""


def read_options(values: Mapping[str, str]) -> ConfluentOptions:
    """The options; keys that belong to the format are left alone. Raises the first OptionError."""
    return read_registry_options(ConfluentOptions, values)
