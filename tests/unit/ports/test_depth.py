"""As deep as was asked for, else as deep as fits."""

from __future__ import annotations

import pytest

from thalweg.ports.depth import deepest, told


class _TooLargeError(Exception):
    """More than fits."""


@pytest.mark.parametrize("most", [1, 2, 9, 10, 11, 12, 23, 24, 99])
def test_the_deepest_that_fits(most: int) -> None:
    """It is found in a few steps, whatever it is."""
    tried: list[int] = []

    def unfold(depth: int) -> int:
        tried.append(depth)
        if depth > most:
            raise _TooLargeError
        return depth

    assert deepest(unfold, None, _TooLargeError) == min(most, 24)
    assert len(tried) < 8


def test_what_was_asked_for() -> None:
    """It is made or refused, never changed; what does not fit with one level is refused too."""

    def unfold(depth: int) -> int:
        if depth > 5:
            raise _TooLargeError
        return depth

    def never(_depth: int) -> int:
        raise _TooLargeError

    assert deepest(unfold, 4, _TooLargeError) == 4
    with pytest.raises(_TooLargeError):
        deepest(unfold, 6, _TooLargeError)
    with pytest.raises(_TooLargeError):
        deepest(never, None, _TooLargeError)


def test_what_is_told() -> None:
    """Five places at most, and the depth where nobody chose it."""
    assert told(["a", "b"], 24, None) == ("a", "b")
    assert told(["a", "b"], 9, 9) == ("a", "b")
    assert told([], 9, None) == ()
    many = told([str(n) for n in range(1_006)], 9, None)
    assert "'decode.max_depth' is 9 here" in many[0]
    assert many[1:] == ("0", "1", "2", "3", "4", "and 1,001 more places lie as deep and become JSON text")
