"""Coverage-guided fuzzing: ``python -m tests.fuzz.guided FORMAT [seconds] [corpus folder]``.

Atheris follows the branches of the reference decoder (for ``kafka`` of the slow reader), which decides as the kernel does; every payload that it
makes goes through both, between two good ones. Ends with code 0 after the time, or with the payload that made a difference.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import atheris

from thalweg.kernels import avro, json, protobuf  # noqa: F401 - imported before the rest is instrumented, which Numba could not compile
from thalweg.native import batches  # noqa: F401 - the same

with atheris.instrument_imports(include=["thalweg.codecs", "thalweg.arrow.rows", "thalweg.arrow.floats", "tests.oracle.record_reader"]):
    from tests.fuzz.targets import target

SCHEMAS = 16


def main() -> None:
    """Fuzz one format for a time."""
    form, seconds = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 60
    of = [target(form, seed) for seed in range(SCHEMAS)]
    good = [t.good() for t in of]
    for t, payload in zip(of, good, strict=True):
        t.judge([payload])

    def one(data: bytes) -> None:
        if data:
            n = data[0] % SCHEMAS
            of[n].judge([good[n], data[1:], good[n]])

    with tempfile.TemporaryDirectory() as scratch:
        corpus = Path(sys.argv[3] if len(sys.argv) > 3 else scratch)
        corpus.mkdir(parents=True, exist_ok=True)
        for n, t in enumerate(of):
            for i in range(8):
                (corpus / f"good-{form}-{n}-{i}").write_bytes(bytes([n]) + t.good())
        atheris.Setup([sys.argv[0], f"-max_total_time={seconds}", "-max_len=4096", "-timeout=10", "-rss_limit_mb=4096", f"-artifact_prefix={corpus}/", str(corpus)], one)
        atheris.Fuzz()


if __name__ == "__main__":
    main()
