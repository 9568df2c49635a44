"""The one decorator of every kernel: no GIL, no reference counts, and a cache that knows when it is stale."""

from __future__ import annotations

import functools
import hashlib
import logging
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, cast

import llvmlite
import numba
import numpy as np
from llvmlite import binding
from numba.core import config as _numba_config
from numba.core.caching import CompileResultCacheImpl, FunctionCache
from numba.core.dispatcher import Dispatcher
from numba.core.options import DefaultOptions

from thalweg.kernels.passes import Part, Whole

if TYPE_CHECKING:
    from collections.abc import Callable

F = TypeVar("F", bound="Callable[..., Any]")

_CONFIG: Any = _numba_config
_LOG = logging.getLogger(__name__)
_FOLDER = Path(__file__).parent
_OPTIONS: dict[str, Any] = {"nogil": True, "error_model": "numpy"} | ({"_nrt": False} if hasattr(DefaultOptions, "_nrt") else {})
_OUTER = _OPTIONS | {"no_cfunc_wrapper": True, "pipeline_class": Whole}
_INNER = _OPTIONS | {"no_cpython_wrapper": True, "no_cfunc_wrapper": True, "pipeline_class": Part}


def kernel(function: F) -> F:
    """A kernel that Python calls: compiled at its first call, or loaded from the cache.

    Under ``NUMBA_DISABLE_JIT=1`` it stays Python, and its numbers wrap around in silence as machine words do.
    """
    if _CONFIG.DISABLE_JIT:
        return cast("F", _wrapping(function))
    dispatcher = numba.njit(**_OUTER)(function)
    dispatcher._cache = _KernelCache(function)  # noqa: SLF001 - Numba's own cache cannot be told about changed helpers
    return cast("F", dispatcher)


def inline(function: F) -> F:
    """A small function that is compiled into every kernel that calls it. Not for Python: it has no entry and would crash."""
    return cast("F", numba.njit(forceinline=True, **_INNER)(function))


def merged(function: F) -> F:
    """A part of one kernel's loop, for reading only: Numba puts it into its only caller before anything is compiled. Not for Python."""
    return cast("F", numba.njit(inline="always", **_INNER)(function))


def apart(function: F) -> F:
    """A larger function for rare work: kernels call it, so that their own loops stay small. Not for Python, as :func:`inline`."""
    return cast("F", numba.njit(**_INNER)(function))


def cache_folder() -> Path:
    """Where compiled kernels are kept: below ``THALWEG_CACHE``, else the user's cache folder, named by everything that shapes the code.

    Raises OSError for a user without a home folder.
    """
    base = os.environ.get("THALWEG_CACHE")
    if base is None:
        base = str(Path(os.environ.get("XDG_CACHE_HOME") or _home() / ".cache") / "thalweg")
    return Path(base) / "kernels" / _fingerprint(_settings())


def unsaved() -> list[str]:
    """The kernels of this process whose machine code could not be written into the cache."""
    modules = [module for name, module in list(sys.modules.items()) if name.startswith("thalweg.")]
    kernels: set[Any] = {f for module in modules for f in list(vars(module).values()) if isinstance(f, Dispatcher)}
    return sorted(f.__name__ for f in kernels if getattr(f._cache, "lost", False))  # noqa: SLF001 - as in `kernel`


def _home() -> Path:
    """The user's home folder."""
    try:
        return Path.home()
    except RuntimeError:
        raise OSError("there is no home folder to keep compiled kernels in; name a folder in THALWEG_CACHE") from None


def _settings() -> tuple[object, ...]:
    """What changes the machine code but not the sources."""
    return (
        numba.__version__, llvmlite.__version__, np.__version__, sys.version_info[:3], sys.abiflags,
        _CONFIG.BOUNDSCHECK, _CONFIG.OPT, _CONFIG.DEBUGINFO_DEFAULT, _CONFIG.CPU_NAME, _CONFIG.CPU_FEATURES,
    )  # fmt: skip


@functools.cache
def _fingerprint(settings: tuple[object, ...]) -> str:
    """A digest of all kernel sources, the processor and the settings."""
    digest = hashlib.sha256(repr((settings, binding.get_host_cpu_name(), binding.get_host_cpu_features().flatten())).encode())
    for source in sorted(_FOLDER.glob("*.py")):
        digest.update(source.name.encode() + b"\0" + source.read_bytes() + b"\0")
    return digest.hexdigest()[:24]


def _wrapping(function: Callable[..., Any]) -> Callable[..., Any]:
    """The same function, with numbers that wrap without a warning."""

    @functools.wraps(function)
    def run(*arguments: Any) -> Any:  # noqa: ANN401 - stands for any kernel
        with np.errstate(all="ignore"):
            return function(*arguments)

    return run


class _Locator:
    """Tells Numba where one function's machine code lies and what it depends on."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self._py_file = function.__code__.co_filename
        self._module = function.__module__
        self._folder = cache_folder()

    @classmethod
    def from_function(cls, function: Callable[..., Any], _file: str) -> _Locator:
        """The locator of a function."""
        return cls(function)

    def ensure_cache_path(self) -> None:
        """Make the folder; only its owner may write there, since what lies in it is run."""
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)

    def get_cache_path(self) -> str:
        """The folder."""
        return str(self._folder)

    def get_source_stamp(self) -> str:
        """The folder's name is the stamp already."""
        return self._folder.name

    def get_disambiguator(self) -> str:
        """Tells functions of one name apart; line numbers are not part of a file's name."""
        return hashlib.sha256(self._module.encode()).hexdigest()[:8]


class _KernelCacheImpl(CompileResultCacheImpl):
    """Numba's way to write machine code down, at our place."""

    _locator_classes: Any = (_Locator,)


class _KernelCache(FunctionCache):
    """A cache whose faults cost a compilation, never a run."""

    _impl_class = _KernelCacheImpl

    def __init__(self, function: Callable[..., Any]) -> None:
        """The cache of one kernel."""
        super().__init__(function)  # type: ignore[no-untyped-call]  # Numba has no types
        self.lost = False

    def load_overload(self, sig: object, target_context: object) -> object:
        """The compiled kernel, or None where it is missing or broken."""
        try:
            return super().load_overload(sig, target_context)  # type: ignore[no-untyped-call]  # Numba has no types
        except Exception as e:  # noqa: BLE001 - what unpickling damaged bytes raises cannot be listed
            _LOG.warning("kernel cache %s cannot be read (%s); compiling again", self.cache_path, e)
            return None

    def save_overload(self, sig: object, data: object) -> None:
        """Keep a compiled kernel for the next start."""
        try:
            self._save(sig, data)
        except OSError as e:
            self.lost = True
            _LOG.warning("kernel cache %s cannot be written (%s); the next start compiles again", self.cache_path, e)

    def _save(self, sig: object, data: object) -> None:
        """Write a kernel beside the others of its index; an index that cannot be read is begun anew."""
        try:
            super().save_overload(sig, data)  # type: ignore[no-untyped-call]  # Numba has no types
        except OSError:
            raise
        except Exception:  # noqa: BLE001 - as in load_overload, which has said so; a fault of another kind comes again
            self.flush()  # type: ignore[no-untyped-call]  # Numba has no types
            super().save_overload(sig, data)  # type: ignore[no-untyped-call]  # Numba has no types
