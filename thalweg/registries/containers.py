"""The schemas in the headers of Avro container files: by the name of their text, or the one of a location's last file."""

from __future__ import annotations

from typing import TYPE_CHECKING

from thalweg.arrow import container
from thalweg.arrow.container import ContainerFault
from thalweg.errors import SchemaUnknown, UserError
from thalweg.ports.schemas import RegisteredSchema, RegistryPlugin, SchemaRegistry

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path


class _Containers(SchemaRegistry):
    """Reads the headers when the first question comes, and again when an id is not known yet."""

    def __init__(self, location: str) -> None:
        """Look at nothing yet."""
        self._location = location
        self._known: dict[str, RegisteredSchema] = {}
        self._last: RegisteredSchema | None = None
        self._faults: list[str] = []

    def by_id(self, schema_id: int | str) -> RegisteredSchema:
        """The schema of this name."""
        if str(schema_id) not in self._known:
            self._look()
        if str(schema_id) not in self._known:
            raise SchemaUnknown(f"no file of {self._location} has schema {schema_id} in its header")
        return self._known[str(schema_id)]

    def latest(self, subject: str) -> RegisteredSchema:  # noqa: ARG002 - a location has one table
        """The schema of the last file, in the order of the names."""
        if self._last is None:
            self._look()
        if self._last is not None:
            return self._last
        if self._faults:
            raise UserError(self._faults[-1])
        raise SchemaUnknown(f"there is no Avro file in {self._location}", hint="declare the columns, and a file may come later")

    def register(self, subject: str, schema: RegisteredSchema) -> int:
        """Files are not written."""
        raise SchemaUnknown(f"the schema of '{subject}' cannot be kept in {self._location}: {len(schema.text)} characters of Avro lie in a file's header only")

    def close(self) -> None:
        """Nothing is held open."""

    def _look(self) -> None:
        """Read every header that can be read; the source tells of the others."""
        self._faults = []
        for path in container.files_of(self._location, ""):
            found = self._read(path)
            if found is not None:
                self._last = self._known[str(found.id)] = found

    def _read(self, path: Path) -> RegisteredSchema | None:
        """The schema of one file."""
        try:
            with path.open("rb") as file:
                header = container.read_header(file)
        except (OSError, ContainerFault) as e:
            place = f" at byte {e.at}" if isinstance(e, ContainerFault) else ""
            self._faults.append(f"{container.shown(path)}{place}: {e.message if isinstance(e, ContainerFault) else e.strerror}")
            return None
        return RegisteredSchema(str(header.schema_id), "AVRO", header.schema)


def _make(url: str, options: Mapping[str, str]) -> SchemaRegistry:  # noqa: ARG001 - a location takes no options
    """A registry over a location."""
    return _Containers(url)


PLUGIN = RegistryPlugin(make=_make, local=True)
