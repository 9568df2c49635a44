"""A number's digits to what a column stores: exact or refused, never rounded but to the nearest float."""

from __future__ import annotations

import math
import re
from decimal import Decimal, InvalidOperation
from typing import Final

from thalweg.arrow.floats import nearest_float32
from thalweg.arrow.rows import TYPE, BadValue, bounded

NUMBER: Final = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?")
_PLAIN: Final = 18
"""Digits that fit an int64 whatever they are."""
_INT_DIGITS: Final = 20


def integer(text: str, low: int, high: int, what: str) -> int:
    """A whole number between ``low`` and ``high``; ``1.0`` and ``1e3`` are whole. Raises BadValue."""
    value = int(text) if len(text) <= _PLAIN and text.isdigit() else unscaled(text, _INT_DIGITS, 0, what)
    if not low <= value <= high:
        raise BadValue(TYPE, f"{bounded(text)} is out of range {what}")
    return value


def unscaled(text: str, precision: int, scale: int, what: str) -> int:
    """The unscaled integer of a decimal with ``precision`` and ``scale``. Raises BadValue where digits would be lost."""
    try:
        number = Decimal(text)
    except InvalidOperation:
        raise BadValue(TYPE, f"{bounded(text)} is out of range {what}") from None
    if not number:
        return 0
    if number.adjusted() + 1 + scale > precision:
        raise BadValue(TYPE, f"{bounded(text)} is out of range {what}")
    sign, digits, exponent = number.as_tuple()
    assert isinstance(exponent, int)
    shift = exponent + scale
    if shift < 0:
        if any(digits[shift:]):
            raise BadValue(TYPE, f"{bounded(text)} has more decimal places than {what}")
        digits = digits[:shift]
    value = int("".join(map(str, digits)) or "0")
    for _ in range(shift):
        value *= 10
    return -value if sign else value


def double(text: str) -> float:
    """The nearest double. Raises BadValue instead of giving an infinity."""
    value = float(text)
    if math.isinf(value):
        raise BadValue(TYPE, f"{bounded(text)} is out of range double")
    return value


def single(text: str) -> float:
    """The nearest float32, as a double. Raises BadValue instead of giving an infinity."""

    def remainder(near: float) -> int:
        exact = Decimal(text)
        return (exact > Decimal(near)) - (exact < Decimal(near))

    try:
        return nearest_float32(double(text), remainder)
    except OverflowError:
        raise BadValue(TYPE, f"{bounded(text)} is out of range float") from None
