"""From the reference decoders to the compiled ones while records flow: nobody ever waits for a compiler."""

from __future__ import annotations

import tempfile
import threading
from typing import TYPE_CHECKING, Final

import pyarrow as pa

from thalweg import registry
from thalweg.errors import UserError
from thalweg.kernels.child import COMPILER, interpreter
from thalweg.model.events import Notice
from thalweg.native.compiling import Compiling

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from thalweg.model.events import Observer
    from thalweg.runtime.decode import Decoding, Side
    from thalweg.runtime.lineage import RecordIds

_JIT: Final = "thalweg.kernels.jit:cache_folder"
_COMPILING: Final = f"{COMPILER}:compiling"
_ELSEWHERE: Final = "THALWEG_CACHE names the folder to keep them in"
_POLL_SECONDS: Final = 0.1
_END_SECONDS: Final = 5.0
RECORD_IDS: Final = ("record-ids", "thalweg.arrow.record_id_kernel:make")
"""Name for ``twg warmup`` and place of the kernel that makes record ids."""
_BEGIN_SECONDS: Final = 2.0
"""A run that is over sooner than this never starts a compiler."""
_QUIET_SECONDS: Final = 0.5
"""A run that is over sooner than this, and has no large batch, does not load one either."""
_LOAD_SECONDS: Final = 3.0
"""Longest wait of a batch for decoders that are being loaded: a cache that is damaged takes as long as a compilation."""


class Upgrade:
    """A thread that makes fast decoders, after a child process has filled the kernel cache where that was empty."""

    def __init__(self, decodings: Sequence[Decoding], observer: Observer, ids: RecordIds | None = None) -> None:
        """Nothing is started yet. ``ids``: what makes record ids, None where no lane shows any."""
        self._decodings, self._observer, self._ids, self._stopping = decodings, observer, ids, threading.Event()
        self._asked, self._known, self._settled, self._loaded = (threading.Event() for _ in range(4))
        self._compiling: Compiling | None = None
        self._go_on = self._told = False
        self._thread = threading.Thread(target=self._run, name="kernels", daemon=True)

    def start(self) -> None:
        """Begin; the decodings change between two of their batches, whenever their kernels are ready."""
        if self._wanted():
            for decoding in self._decodings:
                decoding.soon = self._hurry
            self._thread.start()

    def stop(self, *, go_on: bool) -> None:
        """The run is over: end the wait for the child. With ``go_on`` the child works on by itself, for the next run; else it is ended too."""
        self._go_on = go_on
        self._stopping.set()
        self._asked.set()
        if self._known.is_set() and self._thread.is_alive():  # before that it has begun nothing, and will not
            self._loaded.wait(_END_SECONDS)

    def _hurry(self) -> None:
        """Called by the worker in front of its first large batch: returns when the decoders are loaded, or when they have to be compiled."""
        self._asked.set()
        self._settled.wait(_LOAD_SECONDS)

    def _all_warm(self) -> bool:
        """Whether there is nothing to compile; where that cannot be found out, making the first decoder will say why."""
        try:
            return all(map(warm, self._wanted().values()))
        except Exception:  # noqa: BLE001 - a compiler that cannot be loaded raises anything; the reference decoders go on
            return False

    def _run(self) -> None:
        """Make the decoders; however that ends, nobody waits for them any longer."""
        try:
            self._upgrade()
        finally:
            left = self._left()
            self._settled.set()
            self._loaded.set()
            if left is not None:
                left.let_go()

    def _upgrade(self) -> None:
        """Every side of every table, one after the other, then the record ids."""
        self._asked.wait(_QUIET_SECONDS)
        if self._stopping.is_set():
            return
        all_warm = self._all_warm()
        self._known.set()
        if not all_warm:
            self._settled.set()
            if self._stopping.wait(_BEGIN_SECONDS):
                return
        for decoding in self._decodings:
            for side in decoding.sides:
                if side.codec.fast is not None and not self._stopping.is_set():
                    self._one(decoding, side, side.codec.fast)
        if self._ids is not None and not self._stopping.is_set():
            self._make_ids(self._ids)

    def _wanted(self) -> dict[str, str]:
        """Where everything lies that may take another's place, by its name for ``twg warmup``."""
        found = {side.codec.formats[0]: side.codec.fast for decoding in self._decodings for side in decoding.sides if side.codec.fast}
        return found if self._ids is None else found | dict([RECORD_IDS])

    def _make_ids(self, ids: RecordIds) -> None:
        """Record ids by their kernel; whatever goes wrong, the exact path stays."""
        _, path = RECORD_IDS
        try:
            if self._warmed(path):
                ids.use(registry.attribute(path)())
                self._observer.on(Notice("info", "decode.kernel", "record ids are made by their compiled kernel from now on"))
        except Exception as e:  # noqa: BLE001 - a compiler may raise anything; the exact path goes on
            self._observer.on(Notice("warning", "decode.reference", f"record ids are made by the exact path: {type(e).__name__}: {e}"))

    def _one(self, decoding: Decoding, side: Side, path: str) -> None:
        """One side; whatever goes wrong, the reference decoder stays."""
        what = f"{decoding.name}: format {side.request.format}"
        try:
            if not self._warmed(path):
                return
            fast = registry.attribute(path)(side.request, side.asked, side.reference)
            if fast is None:
                self._observer.on(Notice("info", "decode.reference", f"{what} is decoded by the exact path: its schema is not one for the kernel"))
                return
            fast.decode(pa.array([], pa.binary()), None)
        except Exception as e:  # noqa: BLE001 - a compiler may raise anything; the reference decoder goes on
            self._observer.on(Notice("warning", "decode.reference", f"{what} is decoded by the exact path: {type(e).__name__}: {e}"))
            return
        decoding.use(side, fast)
        self._observer.on(Notice("info", "decode.kernel", f"{what} is decoded by its compiled kernel from now on"))

    def _warmed(self, path: str) -> bool:
        """Wait until these kernels are in the cache, where a child process puts them; False where the run ends first. Raises RuntimeError."""
        while not warm(path):
            if self._compiling is None:
                self._begin()
            elif (fault := self._compiling.ended()) is not None and not warm(path):
                raise RuntimeError(fault or "the compiler has ended, and has left nothing in the cache")
            if self._stopping.wait(_POLL_SECONDS):
                return False
        return True

    def _begin(self) -> None:
        """Let one child process compile everything that is missing, or wait for the one of another run. Raises OSError for a cache that takes nothing."""
        names = [name for name, path in self._wanted().items() if not warm(path)]
        folder: Path = registry.attribute(_JIT)()
        self._compiling = Compiling.begin([*interpreter(), "-m", "thalweg", "warmup", *names], folder)
        if self._told and self._compiling is None:
            return
        self._told = True
        if self._compiling is None:
            self._observer.on(Notice("info", "decode.compiling", "another process compiles kernels for this machine; they are taken up when it is done"))
            return
        text = f"the kernels of {', '.join(names)} are compiled once for this machine (twg warmup does it ahead)"
        self._observer.on(Notice("info", "decode.compiling", f"{text}, and also beyond the end of this run where it succeeds"))

    def _left(self) -> Compiling | None:
        """What compiles on by itself after the run; anything else is ended."""
        child = self._compiling
        if child is None:
            return None
        if self._go_on and child.ended() is None:
            text = f"the compiler goes on by itself at low priority (process {child.pid}): the next run has its kernels"
            self._observer.on(Notice("info", "decode.compiling", text))
            return child
        child.stop()
        return None


def marker(path: str) -> Path:
    """The file that says that the kernels of a fast decoder are in the cache."""
    folder: Path = registry.attribute(_JIT)()
    return folder / f"{path.split(':', maxsplit=1)[0]}.warm"


def warm(path: str) -> bool:
    """Whether the kernels of ``module:function`` can be loaded without compiling."""
    return marker(path).exists()


def warm_up(path: str) -> None:
    """Compile the kernels of ``module:function`` into the cache, or load them, and leave the mark.

    Raises UserError where the cache cannot be written: the mark would have the next run compile what it thinks it loads.
    """
    try:
        found, warm_up_it = marker(path), registry.attribute(f"{path.split(':', maxsplit=1)[0]}:warm_up")
        if warm(path):
            warm_up_it()
            return
        _need(found.parent)
        with registry.attribute(_COMPILING)():
            warm_up_it()
        found.touch()
    except OSError as e:
        raise UserError(f"compiled kernels cannot be kept: {e}; {_ELSEWHERE}") from None


def _need(folder: Path) -> None:
    """Find out before the work whether its results can be kept."""
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as e:
        raise UserError(f"the cache of kernels {folder} cannot be written: {e.strerror}", hint=_ELSEWHERE) from e
