"""Machine code of kernels in files: there as a whole or not at all, checked by a digest, and read only where nobody else may write."""

from __future__ import annotations

import hashlib
import logging
import os
import stat
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final, Self

if TYPE_CHECKING:
    from os import stat_result

_LOG = logging.getLogger(__name__)
_MAGIC: Final = b"thalweg kernel 1\n"
_DIGEST: Final = 32


@dataclass(frozen=True, slots=True)
class MachineCode:
    """What a compiler made of one kernel: an object file, and which of its functions is called."""

    entry: str
    code: bytes

    def to_bytes(self) -> bytes:
        """What is written down."""
        body = self.entry.encode() + b"\n" + self.code
        return _MAGIC + hashlib.sha256(body).digest() + body

    @classmethod
    def from_bytes(cls, data: bytes) -> Self:
        """What was written down; raises ValueError unless every byte is as it was."""
        body = data[len(_MAGIC) + _DIGEST :]
        if data[: len(_MAGIC)] != _MAGIC or hashlib.sha256(body).digest() != data[len(_MAGIC) : len(_MAGIC) + _DIGEST]:
            raise ValueError("it is damaged")
        entry, _, code = body.partition(b"\n")
        return cls(entry.decode(), code)


def read(path: Path) -> MachineCode | None:
    """The machine code in a file; None where there is none that can be trusted, which is said unless nothing is there at all."""
    try:
        fault = _fault(path.parent.stat())
        if fault is None:
            return MachineCode.from_bytes(path.read_bytes())
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as e:
        fault = str(e)
    _LOG.warning("kernel cache %s cannot be read (%s); compiling again", path, fault)
    return None


def write(path: Path, code: MachineCode) -> None:
    """Keep machine code for the next start, in one step, whoever else does the same. Raises OSError."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    fault = _fault(path.parent.stat())
    if fault is not None:
        raise PermissionError(f"{path.parent}: {fault}")
    handle, name = tempfile.mkstemp(dir=path.parent, suffix=".part")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(code.to_bytes())
        Path(name).replace(path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


def _fault(folder: stat_result) -> str | None:
    """Why a folder's files must not be run: somebody else may have put them there."""
    if folder.st_uid not in {0, os.geteuid()}:
        return "the folder is somebody else's"
    if folder.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        return "others may write into the folder"
    return None
