"""``twg`` whose sinks into folders named STALL_IN hang in ``write`` for as long as the file STALL_FILE is there."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Any

from thalweg.cli.main import run
from thalweg.sinks.files.writer import FilesSink

real = FilesSink.write
flag = Path(os.environ["STALL_FILE"])


def write(self: FilesSink, delivery: Any) -> Any:  # noqa: ANN401 - passes on whatever the real one takes
    """Hang, then write."""
    while os.environ["STALL_IN"] in self._context.relation and flag.exists():
        time.sleep(0.01)
    return real(self, delivery)


FilesSink.write = write  # type: ignore[method-assign]

if __name__ == "__main__":
    run()
