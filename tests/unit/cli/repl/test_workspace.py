"""Definitions of files and of the prompt, planned together."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from thalweg.cli.render import format_error
from thalweg.cli.repl import workspace as module
from thalweg.cli.repl.pieces import Piece
from thalweg.cli.repl.workspace import Workspace
from thalweg.errors import OptionError, SchemaUnavailable, ScriptErrors, UserError

if TYPE_CHECKING:
    from tests.unit.cli.repl.conftest import Desk


def test_a_pipeline_file_gives_its_relations(desk: Desk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tables, views and lanes can be read; COPYs are known and not run (CLI-07)."""
    monkeypatch.chdir(tmp_path)
    workspace = desk.load().shell.workspace

    assert [(r.name, r.kind) for r in workspace.relations()] == [
        ("orders", "stream"), ("clean", "view"), ("doubled", "view"), ("raw.orders", "raw"), ("dlq.orders", "dead letters"), ("dlq.all", "dead letters"),
    ]
    assert len(workspace.plan.lanes) == 2
    assert not (Path("out")).exists()


def test_a_typed_definition_is_replaced_by_the_next_of_its_name(desk: Desk) -> None:
    """Typing a view again replaces it; a file's definition stays."""
    workspace = desk.load().shell.workspace

    assert workspace.define(Piece("CREATE VIEW v AS SELECT 1 AS a", "input"), "v") is False
    assert workspace.define(Piece("CREATE VIEW v AS SELECT 1 AS b", "input"), "v") is True
    assert next(r for r in workspace.relations() if r.name == "v").schema.names == ["b"]
    with pytest.raises(ScriptErrors, match="clean is defined twice"):
        workspace.define(Piece("CREATE VIEW clean AS SELECT 1 AS b", "input"), "clean")

    workspace.forget("v")
    assert "v" not in {r.name for r in workspace.relations()}
    with pytest.raises(UserError, match="nothing named clean"):
        workspace.forget("clean")


def test_a_refused_definition_changes_nothing(desk: Desk) -> None:
    """An error leaves everything as it was (CLI-08)."""
    workspace = desk.load().shell.workspace
    before = workspace.relations()

    with pytest.raises(ScriptErrors):
        workspace.define(Piece("CREATE VIEW v AS SELECT nope FROM clean", "input"), "v")
    with pytest.raises(ScriptErrors):
        workspace.load(desk.file("CREATE VIEW w AS SELECT nope FROM clean;", "w.sql"))
    with pytest.raises(OptionError):
        workspace.set("repl.mode", "sideways")

    assert workspace.relations() == before


def test_errors_have_their_places(desk: Desk) -> None:
    """In a file by its lines, at the prompt by its own, whatever was defined before (CLI-08)."""
    workspace = desk.load().shell.workspace
    path = desk.file("-- first\nCREATE VIEW w AS SELECT nope FROM clean;", "w.sql")

    with pytest.raises(ScriptErrors) as in_file:
        workspace.load(path)
    with pytest.raises(ScriptErrors) as typed:
        workspace.define(Piece("CREATE VIEW w AS\nSELECT nope FROM clean", "input", 1, "SELECT 1; "), "w")
    with pytest.raises(ScriptErrors) as first:
        workspace.define(Piece("CREATE VIEW w AS SELECT nope FROM clean", "input", 4, "SELECT 1; "), "w")

    assert format_error(in_file.value).startswith(f"{path}:2:25: error: no column named nope\n    CREATE VIEW w AS SELECT nope FROM clean;\n")
    assert format_error(typed.value).startswith("input:2:8: error: no column named nope\n    SELECT nope FROM clean\n")
    assert format_error(first.value).startswith("input:4:35: error: no column named nope\n    SELECT 1; CREATE VIEW w")


def test_settings_win_over_the_file(desk: Desk) -> None:
    """SET at the prompt wins over the file's own."""
    workspace = desk.shell.workspace
    workspace.load(desk.file("SET 'repl.mode' = 'tail';\n" + desk.pipeline))
    assert workspace.values.repl_mode == "tail"

    workspace.set("repl.mode", "snapshot")
    assert workspace.values.repl_mode == "snapshot"


def test_a_registry_that_does_not_answer_leaves_schemas_open(monkeypatch: pytest.MonkeyPatch) -> None:
    """Loading goes on without the registry, and says what is missing (CLI-07)."""
    real = module.make_plan
    asked: list[bool] = []

    def plan(script: object, request: module.PlanRequest, session: object) -> object:
        asked.append(request.connect)
        if request.connect:
            raise SchemaUnavailable("http://registry does not answer")
        return real(script, request, session)  # type: ignore[arg-type]

    monkeypatch.setattr(module, "make_plan", plan)

    workspace = Workspace({}, {})

    assert asked == [True, False]
    assert workspace.warning == "schemas stay unresolved: http://registry does not answer"


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    """A missing file and one that is not UTF-8 say so."""
    (tmp_path / "x.sql").write_bytes(b"SELECT '\xff'")

    with pytest.raises(UserError, match="No such file"):
        module.read_file(str(tmp_path / "nothing.sql"))
    with pytest.raises(UserError, match="not UTF-8: byte 8"):
        module.read_file(str(tmp_path / "x.sql"))
