"""A registry in a folder: ``<id>.avsc``, ``<guid>.avsc`` and ``<subject>.avsc``; or one file, which answers for every subject."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import TYPE_CHECKING, Final

from thalweg.errors import SchemaUnavailable, SchemaUnknown
from thalweg.native.protoc import imports, is_bundled, is_plain
from thalweg.ports.schemas import RegisteredSchema, RegistryPlugin, SchemaRegistry

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

_KINDS: Final = {".avsc": "AVRO", ".json": "JSON", ".proto": "PROTOBUF"}
_MAX_BYTES: Final = 16 << 20
_MAX_IMPORTS: Final = 1_000


class _StaticRegistry(SchemaRegistry):
    """Reads each file once."""

    def __init__(self, path: Path) -> None:
        """Look at nothing yet."""
        self._path = path
        self._known: dict[str, RegisteredSchema] = {}

    def by_id(self, schema_id: int | str) -> RegisteredSchema:
        """The schema in ``<id>.avsc``."""
        return self._found(str(schema_id), schema_id)

    def latest(self, subject: str) -> RegisteredSchema:
        """The schema in ``<subject>.avsc``, with the number of the file that holds the same one, where there is one."""
        found = self._found(subject, subject)
        return dataclasses.replace(found, id=self._number(found)) if self._path.is_dir() else found

    def schemas(self) -> Iterator[RegisteredSchema]:
        """Every file, in the order of the names; ``id`` is the stem."""
        files = sorted(f for f in self._path.iterdir() if f.suffix in _KINDS and f.is_file()) if self._path.is_dir() else [self._file("")]
        for file in files:
            yield self._found(file.stem, file.stem)

    def register(self, subject: str, schema: RegisteredSchema) -> int:
        """The number of the file that holds this schema; files are not written."""
        number = self._number(schema)
        if isinstance(number, int):
            return number
        message = f"no file with a number in {self._path} holds the schema of '{subject}'"
        raise SchemaUnknown(message, hint=f"copy it to {self._path / '1.avsc'}")

    def close(self) -> None:
        """Nothing is held open."""

    def _found(self, stem: str, schema_id: int | str) -> RegisteredSchema:
        """A file by its stem; a registry of one file has only that."""
        if stem not in self._known:
            self._known[stem] = self._read(self._file(stem), schema_id)
        return self._known[stem]

    def _file(self, stem: str) -> Path:
        """The file of a stem."""
        if not self._path.exists():
            raise SchemaUnavailable(f"there is no schema file or folder {self._path}")
        if not self._path.is_dir():
            return self._path
        for suffix in _KINDS:
            file = self._path / f"{stem}{suffix}"
            if file.name == stem + suffix and "/" not in stem and file.is_file():
                return file
        raise SchemaUnknown(f"there is no {stem}.avsc, {stem}.json or {stem}.proto in {self._path}")

    def _read(self, file: Path, schema_id: int | str) -> RegisteredSchema:
        """A file, and those that a ``.proto`` file imports."""
        kind, text = _KINDS.get(file.suffix, "AVRO"), _text(file)
        return RegisteredSchema(schema_id, kind, text, self._imported(file, text, (), {}) if kind == "PROTOBUF" else ())

    def _imported(
        self, file: Path, text: str, above: tuple[str, ...], known: dict[str, RegisteredSchema]
    ) -> tuple[tuple[str, RegisteredSchema], ...]:
        """What a text imports, from below the folder, down to the bottom; ``above`` are the imports on the way here."""
        root = self._path if self._path.is_dir() else self._path.parent
        for name in imports(text):
            place = root / name
            if name in known or (is_bundled(name) and not place.is_file()):
                continue
            if name in above or len(known) >= _MAX_IMPORTS:
                raise SchemaUnknown(f"{file} imports too much, or itself: {' -> '.join((*above[:5], name))}")
            if not is_plain(name) or not place.is_file():
                raise SchemaUnknown(f"{file} imports '{name}', and there is no such file below {root}")
            inner = _text(place)
            known[name] = RegisteredSchema(name, "PROTOBUF", inner, self._imported(place, inner, (*above, name), known))
        return tuple((name, known[name]) for name in dict.fromkeys(imports(text)) if name in known)

    def _number(self, schema: RegisteredSchema) -> int | str:
        """The lowest number whose file holds the same schema; else the schema's own id."""
        numbers = sorted(int(f.stem) for f in self._path.glob("*.*") if f.suffix in _KINDS and f.stem.isdigit())
        for number in numbers:
            if _same(self.by_id(number).text, schema.text):
                return number
        return schema.id


def _text(file: Path) -> str:
    """The text of a file, bounded in size."""
    try:
        if file.stat().st_size > _MAX_BYTES:
            raise SchemaUnknown(f"{file} is larger than {_MAX_BYTES} bytes")
        return file.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as e:
        raise SchemaUnavailable(f"{file} cannot be read: {e}") from None


def _same(left: str, right: str) -> bool:
    """Whether two texts are the same JSON, or the same text."""
    try:
        return bool(json.loads(left) == json.loads(right))
    except json.JSONDecodeError:
        return left == right


def _make(url: str, options: Mapping[str, str]) -> SchemaRegistry:  # noqa: ARG001 - a folder takes no options
    """A registry over a path."""
    return _StaticRegistry(Path(url))


PLUGIN = RegistryPlugin(make=_make, local=True)
