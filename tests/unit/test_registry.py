"""Kind and name to plug-in."""

from __future__ import annotations

import importlib
import importlib.metadata
from types import SimpleNamespace

import pytest

from thalweg import registry
from thalweg.errors import MissingExtra, UserError


class Entry(SimpleNamespace):
    """An entry point of another distribution."""

    def load(self) -> str:
        """What it points at."""
        return f"plugin {self.name}"


@pytest.fixture
def foreign(monkeypatch: pytest.MonkeyPatch) -> None:
    """Another distribution brings a source named ``mqtt``."""
    entry = Entry(name="mqtt", group="thalweg.sources")

    def entry_points(*, group: str, name: str = "mqtt") -> list[Entry]:
        return [entry] if (group, name) == (entry.group, entry.name) else []

    monkeypatch.setattr(importlib.metadata, "entry_points", entry_points)


def missing(monkeypatch: pytest.MonkeyPatch, module: str) -> None:
    """Plug-in modules cannot be imported because ``module`` is not there."""
    real = importlib.import_module  # noqa: TID251 - the registry's own tool is what is replaced

    def import_module(name: str) -> object:
        if name.count(".") > 1:
            raise ModuleNotFoundError(f"No module named {module!r}", name=module)
        return real(name)

    monkeypatch.setattr(importlib, "import_module", import_module)


def test_names_are_the_files(foreign: None) -> None:
    """Every module of the folder and every entry point is a name, sorted; underscores and packages' own files are none (GEN-14)."""
    names = registry.names("sources")

    assert names == sorted(names)
    assert {"kafka", "memory", "mqtt"} <= set(names)
    assert not [name for name in names if name.startswith("_")]


def test_load_gives_the_plugin() -> None:
    """A plug-in is its module's PLUGIN, the same one every time."""
    assert registry.load("sinks", "console") is registry.load("sinks", "console")
    assert registry.load("sinks", "console").kinds == ("CONSOLE",)


def test_unknown_names_are_answered_with_the_nearest() -> None:
    """A slip of the pen is pointed out; where nothing is near, everything there is is listed."""
    with pytest.raises(UserError) as near:
        registry.load("sources", "kafak")
    with pytest.raises(UserError) as far:
        registry.load("registries", "zzzzzz")

    assert near.value.hint == "did you mean 'kafka'?"
    assert "static" in (far.value.hint or "")
    assert far.value.message == "no registry named 'zzzzzz'"


def test_another_distribution_can_bring_plugins(foreign: None) -> None:
    """A name without a file is asked from the entry points."""
    assert registry.load("sources", "mqtt") == "plugin mqtt"


def test_a_missing_extra_says_how_to_install_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """A package of an extra that is not installed is named with the exact line that installs it."""
    missing(monkeypatch, "lxml")

    with pytest.raises(MissingExtra, match=r"pip install 'thalweg\[xml\]'"):
        registry.load("sources", "kafka")


def test_other_missing_modules_are_not_hidden(monkeypatch: pytest.MonkeyPatch) -> None:
    """A broken installation shows as what it is."""
    missing(monkeypatch, "confluent_kafka")

    with pytest.raises(ModuleNotFoundError, match="confluent_kafka"):
        registry.load("sources", "kafka")


def test_attributes_are_loaded_by_path() -> None:
    """``module:name`` is imported when it is asked for."""
    assert registry.attribute("thalweg.registry:names") is registry.names
