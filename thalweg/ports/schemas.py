"""What a schema registry must be: id or subject to schema, each asked once."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from thalweg.errors import SchemaUnknown, UserError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping


@dataclass(frozen=True, slots=True)
class RegisteredSchema:
    """A schema as the registry has it, with everything that it refers to."""

    id: int | str
    """Number, or GUID text."""
    kind: str
    """``AVRO``, ``PROTOBUF`` or ``JSON``."""
    text: str
    references: tuple[tuple[str, RegisteredSchema], ...] = field(default=())
    """``(name used in the text, schema)``, resolved to the bottom, no cycles."""


class SchemaRegistry(ABC):
    """Answers from a cache; a miss asks the registry once however many threads ask at the same time.

    Unknown ids are remembered for a while (negative cache with expiry), so a topic full of bad records costs a few calls.
    """

    @abstractmethod
    def by_id(self, schema_id: int | str) -> RegisteredSchema:
        """The schema with this id (int) or GUID (text).

        Raises SchemaUnknown when the registry says that there is none, SchemaUnavailable when it gives no answer after a few retries.
        """

    @abstractmethod
    def latest(self, subject: str) -> RegisteredSchema:
        """The newest schema of a subject; raises as :meth:`by_id`."""

    def version(self, subject: str, number: int) -> RegisteredSchema:
        """One version of a subject, for people who look at it; raises as :meth:`by_id`, and where the registry counts no versions."""
        raise SchemaUnknown(f"version {number} of '{subject}' cannot be asked for: this registry has no numbered versions")

    def schemas(self) -> Iterable[RegisteredSchema]:
        """Every schema, where they can be listed; a registry on the network gives none."""
        return ()

    @abstractmethod
    def register(self, subject: str, schema: RegisteredSchema) -> int:
        """Register a schema and return its id; for producers of test and quickstart data. Raises SchemaUnavailable."""

    def hasten(self) -> None:
        """The run is being stopped: from now on no question is asked a second time. Called on any thread, while others ask."""
        return

    @abstractmethod
    def close(self) -> None:
        """Release connections; later calls answer from the cache or raise SchemaUnavailable."""


def newest(registry: SchemaRegistry, subject: str, kind: str, *, shown: str, hint: str) -> RegisteredSchema:
    """The newest schema of a subject, which must be of ``kind`` (as users say it: ``shown``).

    Called by codecs that take their columns from a registry. Raises as :meth:`SchemaRegistry.latest`, with ``hint`` where the registry has
    none of its own, and UserError for a schema of another kind.
    """
    try:
        found = registry.latest(subject)
    except SchemaUnknown as e:
        raise SchemaUnknown(e.message, where=e.where, hint=e.hint or hint) from e
    if found.kind != kind:
        raise UserError(f"subject '{subject}' holds {found.kind} schemas, not {shown}", hint="choose another 'format'")
    return found


@dataclass(frozen=True, slots=True)
class RegistryPlugin:
    """The one name that a module in ``thalweg/registries/`` exports."""

    make: Callable[[str, Mapping[str, str]], SchemaRegistry]
    """``make(url, options)``: options are the format's own keys without their prefix (``basic-auth.user-info``, ...). Asks nobody yet."""
    options: Any = None
    local: bool = False
    """Answers without a connection, so ``twg check`` may ask it; its url is a path, and a relative one is relative to the pipeline file."""
