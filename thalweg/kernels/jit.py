"""The decorators of kernels and their parts, and the cache of machine code: it knows when it is stale.

Here a kernel is loaded and called. What compiles it, Numba, is in ``kernels/compiler.py``, which only processes that compile import.
"""

from __future__ import annotations

import contextvars
import functools
import hashlib
import logging
import os
import sys
import threading
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeVar, cast

import llvmlite
import numpy as np
from llvmlite import binding

from thalweg.kernels import objects
from thalweg.kernels.calling import Native, Signature
from thalweg.kernels.child import compiled_by_child

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import ModuleType

    from thalweg.kernels.objects import MachineCode

F = TypeVar("F", bound="Callable[..., Any]")

_LOG = logging.getLogger(__name__)
_FOLDER = Path(__file__).parent
_SETTINGS: Final = ("BOUNDSCHECK", "OPT", "DEBUGINFO", "CPU_NAME", "CPU_FEATURES")
"""Numba's, each with ``NUMBA_`` in front of it, that change the machine code."""
_DISABLED: Final = "NUMBA_DISABLE_JIT"
_ROLE: Final = "compiled_as"
here: contextvars.ContextVar[Callable[[Callable[..., Any]], MachineCode] | None] = contextvars.ContextVar("here", default=None)
"""What compiles kernels inside this process, where that is what the process is for; else a child does."""


def disabled() -> bool:
    """Whether kernels stay Python."""
    return os.environ.get(_DISABLED, "0") not in {"", "0"}


def kernel(function: F) -> F:
    """A kernel that Python calls: loaded from the cache at its first call, or compiled, by a child process, and then kept there.

    Its annotations say what it takes; see :class:`Signature`. Under ``NUMBA_DISABLE_JIT=1`` it stays Python, and its numbers wrap around in
    silence as machine words do.
    """
    return cast("F", _wrapping(function) if disabled() else Kernel(function))


def inline(function: F) -> F:
    """A small function that is compiled into every kernel that calls it."""
    return _part(function, "inline")


def merged(function: F) -> F:
    """A part of one kernel's loop, for reading only: Numba puts it into its only caller before anything is compiled."""
    return _part(function, "merged")


def apart(function: F) -> F:
    """A larger function for rare work: kernels call it, so that their own loops stay small."""
    return _part(function, "apart")


def instruction(name: str, *details: str) -> Callable[[F], F]:
    """The twin in Python of what is written in LLVM's language, by this name, in ``kernels/intrinsics.py``."""
    return lambda function: _part(function, name, *details)


def role(function: object) -> tuple[str, ...] | None:
    """What the compiler takes a function for; None for one that is no part of a kernel."""
    return getattr(function, _ROLE, None)


def _part(function: F, *roles: str) -> F:
    """The function itself: it is Python until a compiler reads it."""
    setattr(function, _ROLE, roles)
    return function


class Kernel:
    """A function whose machine code is loaded when it is first called."""

    def __init__(self, function: Callable[..., Any]) -> None:
        """Nothing is loaded yet."""
        functools.update_wrapper(self, function)
        self.function = function
        self.name = f"{function.__module__}:{function.__qualname__}"
        self._lock = threading.Lock()
        self._native: Native | None = None

    def __call__(self, *arguments: Any) -> Any:  # noqa: ANN401 - stands for any kernel
        """Run it. Raises what :class:`Native` does, and RuntimeError where there is no machine code to be had."""
        native = self._native
        return (native or self.load())(arguments)

    def load(self) -> Native:
        """Make it ready: load its machine code, which is compiled where it is missing. Raises RuntimeError."""
        with self._lock:
            if self._native is None:
                self._native = Native(self.name, self._code(), Signature.of(self.function))
            return self._native

    def cached(self) -> bool:
        """Whether its machine code is in the cache, and whole."""
        return objects.read(self._path()) is not None

    def _path(self) -> Path:
        """Its file; the folder's name knows the sources of kernels, the file's the source it is written in. Raises OSError."""
        return cache_folder() / f"{self.function.__module__}.{self.function.__qualname__}-{_source(self.function.__code__.co_filename)}.o"

    def _code(self) -> MachineCode:
        """Its machine code, from the cache or from a compiler."""
        try:
            path: Path | None = self._path()
        except OSError as e:
            path, fault = None, e
        found = None if path is None else objects.read(path)
        if found is not None:
            return found
        compiler = here.get()
        if compiler is not None:
            made = compiler(self.function)
            objects.write(self._path(), made)
            return made
        made = objects.MachineCode.from_bytes(compiled_by_child(self.name))
        try:
            objects.write(self._path(), made)
        except OSError as e:
            _LOG.warning("kernel cache %s cannot be written (%s); the next start compiles again", path or fault, e)
        return made


def kernels_of(module: ModuleType) -> list[Kernel]:
    """The kernels that are written in a module; none where they stay Python."""
    return [value for value in vars(module).values() if isinstance(value, Kernel) and value.function.__module__ == module.__name__]


def cache_folder() -> Path:
    """Where compiled kernels are kept: below ``THALWEG_CACHE``, else the user's cache folder, named by everything that shapes the code.

    Raises OSError for a user without a home folder.
    """
    base = os.environ.get("THALWEG_CACHE") or str(Path(os.environ.get("XDG_CACHE_HOME") or _home() / ".cache") / "thalweg")
    return Path(base) / "kernels" / _fingerprint(_settings())


def _home() -> Path:
    """The user's home folder."""
    try:
        return Path.home()
    except RuntimeError:
        raise OSError("there is no home folder to keep compiled kernels in; name a folder in THALWEG_CACHE") from None


@functools.cache
def _versions() -> tuple[object, ...]:
    """Of everything that makes machine code; Numba is not imported for that."""
    return metadata.version("numba"), llvmlite.__version__, np.__version__, sys.version_info[:3], sys.abiflags


def _settings() -> tuple[object, ...]:
    """What changes the machine code but not the sources."""
    return (*_versions(), *(os.environ.get(f"NUMBA_{name}") for name in _SETTINGS))


@functools.cache
def _fingerprint(settings: tuple[object, ...]) -> str:
    """A digest of all kernel sources, the processor and the settings."""
    digest = hashlib.sha256(repr((settings, binding.get_host_cpu_name(), binding.get_host_cpu_features().flatten())).encode())
    for source in sorted(_FOLDER.glob("*.py")):
        digest.update(source.name.encode() + b"\0" + source.read_bytes() + b"\0")
    return digest.hexdigest()[:24]


@functools.cache
def _source(path: str) -> str:
    """A digest of a file."""
    return hashlib.sha256(Path(path).read_bytes()).hexdigest()[:12]


def _wrapping(function: Callable[..., Any]) -> Callable[..., Any]:
    """The same function, with numbers that wrap without a warning."""

    @functools.wraps(function)
    def run(*arguments: Any) -> Any:  # noqa: ANN401 - stands for any kernel
        with np.errstate(all="ignore"):
            return function(*arguments)

    return run
