"""Kind and name to plug-in: by file name in the kind's folder, else by entry point. The only place that imports by name."""

from __future__ import annotations

import difflib
import importlib
import importlib.metadata
import pkgutil
from typing import Any

from thalweg.errors import MissingExtra, UserError

_EXTRAS = {"botocore": "aws", "python_calamine": "excel", "lxml": "xml", "xmlschema": "xml", "zerobus": "zerobus"}

_ONE = {"registries": "registry"}


def names(kind: str) -> list[str]:
    """Every plug-in of ``kind`` (``sources``, ``sinks``, ``codecs``, ...), sorted; nothing is imported but the folder itself."""
    found = _files(kind)
    found.update(entry.name for entry in importlib.metadata.entry_points(group=f"thalweg.{kind}"))
    return sorted(found)


def load(kind: str, name: str) -> Any:  # noqa: ANN401 - the kind decides the type; ports declare it
    """The ``PLUGIN`` of a plug-in module.

    Raises UserError with the nearest name where there is none, MissingExtra where a package is not installed.
    """
    if name in _files(kind) or name in names(kind):
        module = f"thalweg.{kind}.{name}"
        try:
            found = importlib.import_module(module)
        except ModuleNotFoundError as e:
            if e.name is not None and e.name.split(".")[0] in _EXTRAS:
                raise MissingExtra(e.name, _EXTRAS[e.name.split(".")[0]]) from e
            if e.name == module:
                return _entry_point(kind, name)
            raise
        return found.PLUGIN
    near = difflib.get_close_matches(name, names(kind), n=1)
    hint = f"did you mean {near[0]!r}?" if near else f"there are: {', '.join(names(kind))}"
    message = f"no {_ONE.get(kind, kind.removesuffix('s'))} named {name!r}"
    raise UserError(message, hint=hint)


def _files(kind: str) -> set[str]:
    """The plug-ins that are modules of the kind's folder: found without asking every installed distribution for its entry points."""
    package = importlib.import_module(f"thalweg.{kind}")
    return {m.name for m in pkgutil.iter_modules(package.__path__) if not m.name.startswith("_")}


def _entry_point(kind: str, name: str) -> Any:  # noqa: ANN401 - see load()
    """The plug-in that another distribution registered."""
    (entry,) = importlib.metadata.entry_points(group=f"thalweg.{kind}", name=name)
    return entry.load()


def attribute(path: str) -> Any:  # noqa: ANN401 - the caller names what it wants
    """``package.module:name``, imported when it is asked for; commands stay cheap to list because of it."""
    module, _, name = path.partition(":")
    return getattr(importlib.import_module(module), name)
