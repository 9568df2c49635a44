"""Which sink a COPY means: by kind and by the scheme of its target."""

from __future__ import annotations

import difflib
import re
from typing import TYPE_CHECKING, Final

from thalweg import registry
from thalweg.errors import MissingExtra, UserError
from thalweg.plan.draft import listed

if TYPE_CHECKING:
    from collections.abc import Sequence

    from thalweg.ports.sink import SinkPlugin

_SCHEME: Final = re.compile(r"(?P<scheme>[A-Za-z][A-Za-z0-9+.-]*):")


def scheme(location: str) -> str:
    """The URL scheme of a target, ``''`` for a plain path."""
    found = _SCHEME.match(location)
    return found["scheme"].lower() if found and len(found["scheme"]) > 1 else ""


def sink(kind: str, names: Sequence[str]) -> SinkPlugin:
    """The one of the sinks ``names`` that claims ``STORED AS kind``.

    Raises UserError with the nearest kind where there is none, MissingExtra where its package is missing.
    """
    own = kind.lower()
    kinds: list[str] = []
    for name in sorted(names, key=lambda n: n != own):
        try:
            plugin: SinkPlugin = registry.load("sinks", name)
        except MissingExtra:
            if name == own:
                raise
            continue
        if kind.upper() in plugin.kinds:
            return plugin
        kinds += plugin.kinds
    near = difflib.get_close_matches(kind.upper(), kinds, n=1)
    raise UserError(f"no sink writes {kind}", hint=f"did you mean {near[0]}?" if near else f"kinds: {listed(sorted(kinds))}")


def unclaimed(plugin: SinkPlugin, kind: str, location: str) -> str | None:
    """Why this sink does not write to this target; None when it does."""
    given = scheme(location)
    if given in plugin.schemes:
        return None
    takes = listed([f"{s}://" if s else "a path" for s in plugin.schemes])
    return f"{kind.upper()} is not written to {given}://; it takes {takes}" if given else f"{kind.upper()} is not written to a path; it takes {takes}"
