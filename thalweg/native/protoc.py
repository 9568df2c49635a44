"""Protobuf's compiler, without one on the path: ``.proto`` texts to a descriptor set, by grpcio-tools in a process of its own."""

from __future__ import annotations

import base64
import binascii
import importlib.util
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Final

from thalweg.errors import MissingExtra

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

_BUNDLED: Final = Path(__file__).parent / "protos"
_BEFORE_SET: Final = "descriptor-set:"
_TIMEOUT_SECONDS: Final = 60
_SHOWN: Final = 1_000
_COMMENT: Final = re.compile(r"/\*.*?\*/|//[^\n]*", re.DOTALL)
_IMPORT: Final = re.compile(r"""(?:^|;)\s*import\s+(?:public\s+|weak\s+|option\s+)?["']([^"'\n]+)["']""", re.MULTILINE)
_LOGGED: Final = re.compile(r"warning:|^WARNING: All log messages|^[IWEF]\d{4} \d\d:")
"""Lines that are no fault; those of the compiler's own log carry a time and a process, and would make each dead letter another."""


class ProtoError(Exception):
    """Texts that do not compile; the message is the compiler's, or names the file that is missing."""


def compile_protos(files: Mapping[str, str], roots: Iterable[str]) -> bytes:
    """The serialised ``FileDescriptorSet`` of ``roots`` and all that they import, each file after those that it imports.

    ``files`` are texts by the name that imports use. Google's well-known types, ``google/type`` and ``confluent`` need not be among them.
    Raises ProtoError, and MissingExtra where grpcio-tools is not installed.
    """
    if importlib.util.find_spec("grpc_tools") is None:
        raise MissingExtra("grpcio-tools", "protobuf")
    with tempfile.TemporaryDirectory(prefix="thalweg-protoc-") as folder:
        tree, out = Path(folder) / "tree", Path(folder) / "set"
        tree.mkdir()
        for name, text in files.items():
            _write(tree, name, text)
        _run([f"-I{tree}", f"-I{_BUNDLED}", "--include_imports", f"--descriptor_set_out={out}", *roots], str(tree))
        return out.read_bytes()


def imports(text: str) -> list[str]:
    """The files that a ``.proto`` text imports, in order."""
    return _IMPORT.findall(_COMMENT.sub("", text))


def is_bundled(name: str) -> bool:
    """Whether a file is there without being given."""
    return name.startswith("google/protobuf/") or (is_plain(name) and (_BUNDLED / name).is_file())


def is_plain(name: str) -> bool:
    """Whether a name stays inside its folder."""
    return bool(name) and "\\" not in name and name.isprintable() and not any(part in {"", ".", ".."} for part in name.split("/"))


def set_as_text(data: bytes) -> str:
    """A descriptor set as the text of a registered schema."""
    return _BEFORE_SET + base64.b64encode(data).decode("ascii")


def set_of_text(text: str) -> bytes | None:
    """The descriptor set in the text of a registered schema, None for any other text."""
    if not text.startswith(_BEFORE_SET):
        return None
    try:
        return base64.b64decode(text.removeprefix(_BEFORE_SET), validate=True)
    except binascii.Error:
        raise ProtoError("the text is no descriptor set") from None


def _write(tree: Path, name: str, text: str) -> None:
    """One text at its place in the tree; names come from registries and must not leave it."""
    if not is_plain(name):
        raise ProtoError(f"'{name[:_SHOWN]}' is no name of a .proto file")
    path = tree / name
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    except OSError as e:
        raise ProtoError(f"'{name[:_SHOWN]}' cannot be written for the compiler: {e.strerror}") from None


def _run(arguments: list[str], tree: str) -> None:
    """The compiler; what it says of a fault becomes the message, without our folders."""
    command = [sys.executable, "-I", "-m", "grpc_tools.protoc", *arguments]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=_TIMEOUT_SECONDS, check=False)  # noqa: S603 - our own interpreter
    except subprocess.TimeoutExpired:
        raise ProtoError(f"the compiler took longer than {_TIMEOUT_SECONDS} s") from None
    if done.returncode:
        said = [line.replace(f"{tree}/", "") for line in done.stderr.splitlines() if not _LOGGED.search(line)]
        raise ProtoError("; ".join(said)[:_SHOWN] or f"the compiler ended with status {done.returncode}")
