"""From the reference decoders to the compiled ones while records flow: nobody ever waits for a compiler."""

from __future__ import annotations

import os
import subprocess
import threading
from typing import TYPE_CHECKING, Final

import pyarrow as pa

from thalweg import registry
from thalweg.errors import UserError
from thalweg.model.events import Notice

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from thalweg.model.events import Observer
    from thalweg.runtime.decode import Decoding, Side
    from thalweg.runtime.lineage import RecordIds

_JIT: Final = "thalweg.kernels.jit:cache_folder"
_UNSAVED: Final = "thalweg.kernels.jit:unsaved"
_ELSEWHERE: Final = "THALWEG_CACHE names the folder to keep them in"
_POLL_SECONDS: Final = 0.1
_NICE: Final = 10
RECORD_IDS: Final = ("record-ids", "thalweg.arrow.record_id_kernel:make")
"""Name for ``twg warmup`` and place of the kernel that makes record ids."""
_BEGIN_SECONDS: Final = 2.0
"""A run that is over sooner than this never starts a compiler."""


class Upgrade:
    """A thread that makes fast decoders, after a child process has filled the kernel cache where that was empty."""

    def __init__(self, decodings: Sequence[Decoding], observer: Observer, ids: RecordIds | None = None) -> None:
        """Nothing is started yet. ``ids``: what makes record ids, None where no lane shows any."""
        self._decodings, self._observer, self._ids, self._stopping = decodings, observer, ids, threading.Event()
        self._loaded = threading.Event()
        self._thread = threading.Thread(target=self._run, name="kernels", daemon=True)

    def start(self) -> None:
        """Begin; the decodings change between two of their batches, whenever their kernels are ready."""
        if self._wanted():
            for decoding in self._decodings if self._all_warm() else ():
                decoding.soon = self._loaded
            self._thread.start()

    def stop(self) -> None:
        """The run is over: end the wait for the child, and the child."""
        self._stopping.set()
        if self._thread.is_alive():
            self._thread.join(5)

    def _all_warm(self) -> bool:
        """Whether there is nothing to compile; where that cannot be found out, making the first decoder will say why."""
        try:
            return all(map(warm, self._wanted()))
        except Exception:  # noqa: BLE001 - a compiler that cannot be loaded raises anything; the reference decoders go on
            return False

    def _run(self) -> None:
        """Make the decoders; however that ends, nobody waits for them any longer."""
        try:
            self._upgrade()
        finally:
            self._loaded.set()

    def _upgrade(self) -> None:
        """Every side of every table, one after the other, then the record ids."""
        if not self._all_warm() and self._stopping.wait(_BEGIN_SECONDS):
            return
        for decoding in self._decodings:
            for side in decoding.sides:
                if side.codec.fast is not None and not self._stopping.is_set():
                    self._one(decoding, side, side.codec.fast)
        if self._ids is not None and not self._stopping.is_set():
            self._make_ids(self._ids)

    def _wanted(self) -> list[str]:
        """Where everything lies that may take another's place."""
        found = [side.codec.fast for decoding in self._decodings for side in decoding.sides if side.codec.fast]
        return found if self._ids is None else [*found, RECORD_IDS[1]]

    def _make_ids(self, ids: RecordIds) -> None:
        """Record ids by their kernel; whatever goes wrong, the exact path stays."""
        name, path = RECORD_IDS
        try:
            if warm(path) or self._warmed(name):
                ids.use(registry.attribute(path)())
                self._observer.on(Notice("info", "decode.kernel", "record ids are made by their compiled kernel from now on"))
        except Exception as e:  # noqa: BLE001 - a compiler may raise anything; the exact path goes on
            self._observer.on(Notice("warning", "decode.reference", f"record ids are made by the exact path: {type(e).__name__}: {e}"))

    def _one(self, decoding: Decoding, side: Side, path: str) -> None:
        """One side; whatever goes wrong, the reference decoder stays."""
        what = f"{decoding.name}: format {side.request.format}"
        try:
            if not warm(path) and not self._warmed(side.codec.formats[0]):
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

    def _warmed(self, name: str) -> bool:
        """Let a child process compile, at low priority; False where it was stopped or failed."""
        self._observer.on(Notice("info", "decode.compiling", f"the kernel of {name} is compiled once for this machine (twg warmup does it ahead)"))
        command = [*registry.interpreter(), "-m", "thalweg", "warmup", name]
        # Ctrl-C in a terminal reaches its whole process group: the child must not report it as a fault of the compiler.
        child = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, process_group=0)  # noqa: S603 - ourselves
        try:
            os.setpriority(os.PRIO_PROCESS, child.pid, _NICE)
            while child.poll() is None:
                if self._stopping.wait(_POLL_SECONDS):
                    return False
        finally:
            if child.poll() is None:
                child.terminate()
            _, said = child.communicate()
        if child.returncode:
            lines = said.decode(errors="replace").strip().splitlines()
            raise RuntimeError(lines[-1] if lines else f"the compiler ended with {child.returncode}")
        return True


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
        found = marker(path)
        registry.attribute(f"{path.split(':', maxsplit=1)[0]}:warm_up")()
        if registry.attribute(_UNSAVED)():
            raise UserError(f"compiled kernels cannot be written to {found.parent} (see the warnings); {_ELSEWHERE}")
        found.parent.mkdir(parents=True, exist_ok=True)
        found.touch()
    except OSError as e:
        raise UserError(f"compiled kernels cannot be kept: {e}; {_ELSEWHERE}") from None
