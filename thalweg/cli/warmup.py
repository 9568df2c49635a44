"""``twg warmup``: compile the decoders' kernels ahead, for images and first runs."""

from __future__ import annotations

import functools
import gc
import sys
import time
from typing import TYPE_CHECKING

from thalweg import registry
from thalweg.plan import formats as known
from thalweg.runtime.upgrade import RECORD_IDS, warm_up

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


def warmup(formats: Sequence[str]) -> int:
    """Compile what these formats, ``record-ids`` or sources need; everything where none is named. What is in the cache is only loaded."""
    loops = _loops()
    for name in formats or [*registry.names("codecs"), RECORD_IDS[0], *loops]:
        if name in loops:
            _told(name, registry.attribute(loops[name]))
            continue
        path = _fast(name)
        if path is not None:
            _told(name, functools.partial(warm_up, path))
    return 0


def _loops() -> dict[str, str]:
    """Where the loops of sources are compiled, by the name of the source that has some."""
    formats = registry.names("codecs")
    found = {name: registry.load("sources", name).warm_up for name in registry.names("sources") if name not in formats}
    return {name: path for name, path in found.items() if path is not None}


def _fast(name: str) -> str | None:
    """Where the kernels of a format, or of a codec, are made; None where it has none. Raises UserError for a name that is neither."""
    if name == RECORD_IDS[0]:
        return RECORD_IDS[1]
    plugin = registry.load("codecs", name) if name in registry.names("codecs") else known.codec(name)
    found: str | None = plugin.fast
    return found


def _told(name: str, compile_all: Callable[[], None]) -> None:
    """Say what is compiled, which may take a while, then how long it took."""
    began = time.perf_counter()
    sys.stdout.write(f"{name}: ")
    sys.stdout.flush()
    gc.disable()  # nearly all that a compiler makes stays: looking through it again and again is a tenth of the time
    try:
        compile_all()
    except BaseException:
        sys.stdout.write("not done\n")
        raise
    finally:
        gc.enable()
    sys.stdout.write(f"ready after {time.perf_counter() - began:.1f} s\n")
    sys.stdout.flush()
