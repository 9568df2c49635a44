"""Settings: precedence, origins, places of what is wrong."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from thalweg import config
from thalweg.config import Layers, Setting
from thalweg.errors import ScriptErrors, UserError

if TYPE_CHECKING:
    from pathlib import Path


@given(present=st.tuples(*[st.booleans()] * 4))
def test_the_strongest_layer_wins(present: tuple[bool, ...]) -> None:
    """Command line over environment over SET over thalweg.toml over default, whichever of them speak (CFG-02)."""
    order = ["command line", "TWG_BUDGET_ROWS", "SET", "thalweg.toml"]
    layer = [{"budget.rows": Setting(str(n + 1), origin)} if there else {} for n, (origin, there) in enumerate(zip(order, present, strict=True))]

    found = config.resolve(Layers(layer[0], layer[1], layer[3]), layer[2], "p")

    first = present.index(True) if any(present) else None
    assert found.settings.budget_rows == (65_536 if first is None else first + 1)
    assert found.origins["budget.rows"] == ("default" if first is None else order[first])


def test_every_setting_has_a_default_a_variable_and_a_shown_value() -> None:
    """Every knob has a default and is shown at start, in the words that a user would write (CFG-13, CFG-22)."""
    found = config.resolve(Layers(), {}, "orders")

    assert set(found.shown) == set(found.origins) == set(config.KEYS)
    assert found.shown["budget.age"] == "250 ms"
    assert found.shown["budget.bytes"] == "32 MiB"
    assert found.shown["pipeline.name"] == "orders"
    assert found.shown["sql.on_error"] == ""
    assert config.variable("sql.on_error") == "TWG_SQL_ON_ERROR"


def test_shown_values_are_read_back_as_they_were() -> None:
    """What is shown can be given again and means the same."""
    found = config.resolve(Layers(command_line={"drain.deadline": Setting("90 s", "x"), "queue.bytes": Setting("5000", "x")}), {}, "p")

    again = config.resolve(Layers(command_line={k: Setting(v, "x") for k, v in found.shown.items() if v}), {}, "p")

    assert again.settings == found.settings
    assert found.shown["drain.deadline"] == "90 s"
    assert found.shown["queue.bytes"] == "5000 B"


@pytest.mark.parametrize(
    ("key", "value", "said"),
    [
        ("budget.rows", "0", "at least 1"),
        ("budget.age", "soon", "duration"),
        ("metadata.prefix", "twg", "ending in _"),
        ("metadata.policy", "locater", "did you mean 'locator'"),
        ("pipeline.name", " ", "expected a name"),
        ("delivery.gate", "some", "auto, all"),
        ("budjet.rows", "1", "did you mean 'budget.rows'"),
    ],
)
def test_nonsense_is_refused_with_the_way_out(key: str, value: str, said: str) -> None:
    """Unknown keys and values that do not fit are refused at load, not when they are used (CFG-03)."""
    (error,) = config.check({key: value})

    assert said in str(error)
    with pytest.raises(UserError, match="command line"):
        config.layers({key: value}, {})


def test_all_wrong_settings_are_told_at_once() -> None:
    """One run names every wrong setting of the command line and the environment (CFG-03)."""
    with pytest.raises(UserError) as found:
        config.layers({"budget.rows": "many", "queue.bytes": "-"}, {"TWG_DRAIN_DEADLINE": "later"})

    assert [word in str(found.value) for word in ("budget.rows", "queue.bytes", "environment TWG_DRAIN_DEADLINE")] == [True] * 3


def test_a_variable_that_nearly_names_a_setting_is_an_error() -> None:
    """A misspelt TWG_ variable is refused; one that names nothing of ours belongs to the pipeline file (CFG-02)."""
    with pytest.raises(UserError, match="did you mean TWG_BUDGET_ROWS"):
        config.layers({}, {"TWG_BUDGET_ROW": "1"})

    assert config.layers({}, {"TWG_WAREHOUSE_PASSWORD": "x", "HOME": "/"}).environment == {}


def test_toml_is_read_beside_the_pipeline_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """thalweg.toml beside the pipeline counts, else the one in the current directory; comments and types are TOML's (CFG-01, CFG-08)."""
    here, there = tmp_path / "here", tmp_path / "there"
    for folder, rows in ((here, 1), (there, 2)):
        folder.mkdir()
        (folder / "thalweg.toml").write_text(f'# comment\n[budget]\nrows = {rows}\nage = "1 s"\n')
    monkeypatch.chdir(here)

    beside = config.layers({}, {}, there / "p.sql").toml
    current = config.layers({}, {}, tmp_path / "p.sql").toml

    assert (beside["budget.rows"].value, current["budget.rows"].value) == ("2", "1")
    assert beside["budget.age"].origin.endswith("thalweg.toml")


def test_toml_errors_have_their_place(tmp_path: Path) -> None:
    """Unknown keys, wrong values and wrong types of thalweg.toml are told together, each at its line (CFG-03)."""
    file = tmp_path / "thalweg.toml"
    file.write_text('drain.deadline = "later"\n\n[budget]\nrowz = 5\nbytes = [1]\n', encoding="utf-8")

    with pytest.raises(ScriptErrors) as found:
        config.read_toml(file)

    places = [(e.location.line, e.location.column, e.hint) for e in found.value.errors]
    assert places == [(1, 7, None), (4, 1, "did you mean 'budget.rows'?"), (5, 1, None)]


def test_toml_syntax_errors_have_their_place(tmp_path: Path) -> None:
    """A thalweg.toml that is no TOML is refused at the place that the parser names; a byte order mark is no error (CF-06)."""
    file = tmp_path / "thalweg.toml"
    file.write_bytes("\ufeff[budget]\nrows = 5 5\n".encode())

    with pytest.raises(ScriptErrors) as found:
        config.read_toml(file)
    assert (found.value.errors[0].location.line, found.value.errors[0].location.column) == (2, 10)

    file.write_bytes("\ufeff[budget]\r\nrows = 5\r\n".encode())
    assert config.read_toml(file)["budget.rows"].value == "5"


def test_unfinished_toml_is_placed_at_its_end(tmp_path: Path) -> None:
    """An error at the end of the document points at the last line."""
    file = tmp_path / "thalweg.toml"
    file.write_text("[budget", encoding="utf-8")

    with pytest.raises(ScriptErrors) as found:
        config.read_toml(file)

    assert found.value.errors[0].location.line == 1


@pytest.mark.parametrize(("ns", "shown"), [(0, "0 s"), (1, "1 ns"), (1_500_000, "1500 us"), (60_000_000_000, "1 min"), (7_200_000_000_000, "2 h")])
def test_durations_are_shown_in_the_largest_exact_unit(ns: int, shown: str) -> None:
    """A duration is never rounded when it is shown."""
    assert config.show_duration(ns) == shown
