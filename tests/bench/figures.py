"""What every bench here needs: a clock, the machine in a line, and one way to print a figure."""

from __future__ import annotations

import os
import platform
import time
from typing import TYPE_CHECKING

import psutil

if TYPE_CHECKING:
    from collections.abc import Callable


def best_seconds(run: Callable[[], object], *, repeat: int = 5) -> float:
    """The shortest of several runs: the one that something else disturbed least."""
    times = []
    for _ in range(repeat):
        began = time.perf_counter()
        run()
        times.append(time.perf_counter() - began)
    return min(times)


def machine() -> str:
    """Processor, cores, Python."""
    model = platform.processor() or platform.machine()
    with open("/proc/cpuinfo", encoding="utf-8") as lines:  # noqa: PTH123 - a kernel file, read line by line
        model = next((line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")), model)
    return f"{model}, {len(os.sched_getaffinity(0))} cores, Python {platform.python_version()}"


def peak_mib(pid: int | str = "self") -> float:
    """Largest resident memory of a process so far, in MiB."""
    with open(f"/proc/{pid}/status", encoding="utf-8") as lines:  # noqa: PTH123 - a kernel file, read line by line
        return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM")) / 1024


def resident_mib() -> float:
    """Resident memory of this process now, in MiB."""
    return float(psutil.Process().memory_info().rss) / (1 << 20)


def show(name: str, value: float, unit: str) -> None:
    """One figure as a row of a Markdown table."""
    digits = 0 if value >= 1000 else 2 if value >= 1 else 3
    print(f"| {name} | {value:,.{digits}f} | {unit} |", flush=True)


def head(title: str) -> None:
    """The table's head, with the machine."""
    print(f"\n{title}: {machine()}\n\n| what | figure | unit |\n|---|---|---|", flush=True)


def percentile(values: list[float], share: float) -> float:
    """The value that ``share`` of the values do not pass."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]
