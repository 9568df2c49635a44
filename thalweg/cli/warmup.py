"""``twg warmup``: compile the decoders' kernels ahead, for images and first runs."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING

from thalweg import registry
from thalweg.runtime.upgrade import RECORD_IDS, warm_up

if TYPE_CHECKING:
    from collections.abc import Sequence


def warmup(formats: Sequence[str]) -> int:
    """Compile the kernels of these formats (and ``record-ids``), of all where none is named; what is in the cache already is only loaded."""
    for name in formats or [*registry.names("codecs"), RECORD_IDS[0]]:
        path = RECORD_IDS[1] if name == RECORD_IDS[0] else registry.load("codecs", name).fast
        if path is None:
            continue
        began = time.perf_counter()
        warm_up(path)
        sys.stdout.write(f"{name}: ready after {time.perf_counter() - began:.1f} s\n")
    return 0
