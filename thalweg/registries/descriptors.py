"""Protobuf descriptors in files, for ``'protobuf.descriptor'``: a descriptor set, a ``.proto`` file, or a folder of them."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Final

from thalweg.errors import SchemaUnavailable, SchemaUnknown, UserError
from thalweg.native.protoc import ProtoError, compile_protos, imports, is_bundled, set_as_text
from thalweg.ports.schemas import RegisteredSchema, RegistryPlugin, SchemaRegistry

if TYPE_CHECKING:
    from collections.abc import Mapping

_MAX_BYTES: Final = 64 << 20
_MAX_FILES: Final = 10_000


class _DescriptorFiles(SchemaRegistry):
    """One path, read when it is first asked for."""

    def __init__(self, path: Path) -> None:
        """Look at nothing yet."""
        self._path = path
        self._known: RegisteredSchema | None = None

    def by_id(self, schema_id: int | str) -> RegisteredSchema:
        """Descriptors have no numbers."""
        raise SchemaUnknown(f"{self._path} holds no schema with id {schema_id}")

    def latest(self, subject: str) -> RegisteredSchema:
        """All messages of the path, whatever the subject."""
        if self._known is None:
            try:
                self._known = RegisteredSchema(subject, "PROTOBUF", set_as_text(self._read()))
            except OSError as e:
                raise SchemaUnavailable(f"{self._path} cannot be read: {e.strerror}") from None
        return self._known

    def register(self, subject: str, schema: RegisteredSchema) -> int:
        """Files are not written."""
        raise SchemaUnknown(f"{self._path} is a file, no registry: the {schema.kind} schema of '{subject}' cannot be registered there")

    def close(self) -> None:
        """Nothing is held open."""

    def _read(self) -> bytes:
        """The descriptor set of the path."""
        if self._path.is_dir():
            found = sorted(p for p in self._path.rglob("*.proto") if p.is_file())
            if not found or len(found) > _MAX_FILES:
                raise SchemaUnavailable(f"folder {self._path} holds {len(found) or 'no'} .proto files")
            return self._compiled(self._path, found)
        if self._path.suffix != ".proto":
            return _bounded(self._path)
        file = Path(os.path.normpath(self._path.absolute()))
        root = _root_of(file)
        return self._compiled(root, [file])

    def _compiled(self, root: Path, wanted: list[Path]) -> bytes:
        """The files and what they import from below ``root``."""
        texts: dict[str, str] = {}
        names = [p.relative_to(root).as_posix() for p in wanted]
        left = list(names)
        while left:
            name = left.pop()
            path = root / name
            if name in texts or (is_bundled(name) and not path.is_file()):
                continue
            if not path.is_file():
                raise UserError(f"'{name}' is imported, but there is no such file below {root}", where=str(self._path))
            texts[name] = _text(path)
            left += imports(texts[name])
        try:
            return compile_protos(texts, names)
        except ProtoError as e:
            raise UserError(f"the .proto files do not compile: {e}", where=str(self._path)) from None


def _root_of(file: Path) -> Path:
    """The folder that a file's imports are named from: the nearest one above it that has them all."""
    wanted = [name for name in imports(_text(file)) if not is_bundled(name)]
    above = list(file.parents)
    return next((folder for folder in above if all((folder / name).is_file() for name in wanted)), above[0])


def _bounded(path: Path) -> bytes:
    """A file's bytes."""
    if path.stat().st_size > _MAX_BYTES:
        raise SchemaUnavailable(f"{path} is larger than {_MAX_BYTES} bytes")
    return path.read_bytes()


def _text(path: Path) -> str:
    """A file's text."""
    try:
        return _bounded(path).decode("utf-8-sig")
    except UnicodeDecodeError:
        raise UserError("the file is no text in UTF-8", where=str(path)) from None


def _make(url: str, options: Mapping[str, str]) -> SchemaRegistry:  # noqa: ARG001 - files take no options
    """A registry over a path."""
    return _DescriptorFiles(Path(url))


PLUGIN = RegistryPlugin(make=_make, local=True)
