"""Files that a pipeline names: beside it, in the current directory, or among those that ship with Thalweg."""

from __future__ import annotations

from pathlib import Path

from thalweg.errors import UserError


def find(name: str, folder: str) -> Path:
    """The first of ``folder/name``, ``name`` and the shipped ``name`` that exists; raises UserError naming all three places."""
    package = Path(__file__).parent
    places = [Path(folder) / name, Path(name), package / "_share" / name, package.parent / name]
    for place in places:
        if place.is_file():
            return place
    looked = ", ".join(dict.fromkeys(str(p) for p in places[:2]))
    raise UserError(f"there is no file '{name}'", hint=f"looked at {looked} and among the files that ship with Thalweg")
