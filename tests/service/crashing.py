"""``twg`` that kills itself just before its n-th rename: the entry exists, the file has not got its name yet. Run with CRASH_AT=n."""

from __future__ import annotations

import os
import signal
from typing import Any

from thalweg.cli.main import run
from thalweg.sinks.files.publish_log import PublishLog

real = PublishLog._rename
left = [int(os.environ["CRASH_AT"])]


def rename(self: PublishLog, *args: Any) -> Any:  # noqa: ANN401 - passes on whatever the real one takes
    """Count, and die at the n-th."""
    left[0] -= 1
    if left[0] <= 0:
        os.kill(os.getpid(), signal.SIGKILL)
    return real(self, *args)


PublishLog._rename = rename  # type: ignore[method-assign]

if __name__ == "__main__":
    run()
