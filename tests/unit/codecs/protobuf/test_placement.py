"""Where Protobuf may be known: at the edge, and nowhere on the way to a sink."""

from __future__ import annotations

import re
from pathlib import Path

PACKAGE = Path(__file__).parents[4] / "thalweg"


def test_descriptors_stay_at_the_edge() -> None:
    """Only the codec imports Google's library: no sink, plan, engine or transport sees a descriptor (PRO-05, PRO-14)."""
    users = {p.relative_to(PACKAGE).as_posix() for p in PACKAGE.rglob("*.py") if re.search(r"^\s*(from|import) google\b", p.read_text(), re.MULTILINE)}

    assert {user for user in users if not user.startswith("codecs/protobuf/")} == set()
