"""How deep a schema becomes columns: as deep as was asked for, else as deep as fits."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

T = TypeVar("T")
DEFAULT_DEPTH: Final = 24
"""Levels that become columns where nobody says how many."""
MAX_COLUMNS: Final = 5_000
"""Columns, nested ones included, that one schema may become."""
_SHOWN: Final = 5


def deepest(unfold: Callable[[int], T], wanted: int | None, too_large: type[Exception]) -> T:
    """What ``unfold`` makes of ``wanted`` levels; where that is None, of the most levels up to the default that it does not call ``too_large``.

    Called by codecs for types that lie inside themselves: twice inside, a type doubles with each level. Raises ``too_large`` where not even one level
    fits, or not as many as are wanted.
    """
    try:
        return unfold(DEFAULT_DEPTH if wanted is None else wanted)
    except too_large:
        if wanted is not None:
            raise
        found, low, high = unfold(1), 1, DEFAULT_DEPTH
    while high - low > 1:
        middle = (low + high) // 2
        try:
            found, low = unfold(middle), middle
        except too_large:
            high = middle
    return found


def told(cuts: Sequence[str], depth: int, wanted: int | None) -> tuple[str, ...]:
    """What users are told of the places that lie too deep: a few of them, and where nobody asked for this depth, why it is no other."""
    lines = list(cuts[:_SHOWN])
    if len(cuts) > _SHOWN:
        lines.append(f"and {len(cuts) - _SHOWN:,} more places lie as deep and become JSON text")
    if cuts and wanted is None and depth < DEFAULT_DEPTH:
        reason = f"types inside themselves would be more than {MAX_COLUMNS:,} columns at {DEFAULT_DEPTH} levels, so 'decode.max_depth' is {depth} here"
        lines.insert(0, f"{reason}; set it, and it stays the same when the schema grows")
    return tuple(lines)
