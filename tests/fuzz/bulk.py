"""Structure-aware fuzzing by the million: ``python -m tests.fuzz.bulk FORMAT [inputs] [seed]``; every row is compared with the reference decoder."""

from __future__ import annotations

import sys
import time
from random import Random

from tests.fuzz.targets import FORMATS, target

GOOD, BATCH, BATCHES = 24, 512, 4
LEFT = {"kafka": "refused by both"}


def run(form: str, inputs: int, seed: int) -> tuple[int, int]:
    """Judge at least ``inputs`` damaged payloads between good ones: how many there were, and how many the kernel left to the reference, or refused."""
    random, done, slow = Random(seed), 0, 0
    while done < inputs:
        of = target(form, seed + done)
        good = [of.good() for _ in range(GOOD)]
        for _ in range(BATCHES):
            bad = [of.damaged(random.choice(good), random.choice(good)) for _ in range(BATCH)]
            slow += of.judge([*good, *bad, *good])
            done += BATCH
            if done >= inputs:
                break
    return done, slow


def main() -> None:
    """One format, or all of them."""
    form = sys.argv[1] if len(sys.argv) > 1 else "all"
    inputs, seed = (int(sys.argv[i]) if len(sys.argv) > i else n for i, n in ((2, 100_000), (3, 1)))
    for name in FORMATS if form == "all" else (form,):
        began = time.monotonic()
        done, slow = run(name, inputs, seed)
        print(f"{name}: {done:,} damaged payloads in {time.monotonic() - began:.0f} s, {slow:,} {LEFT.get(name, 'left to the reference decoder')}, no difference", flush=True)


if __name__ == "__main__":
    main()
