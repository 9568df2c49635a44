"""Files that a pipeline names."""

from __future__ import annotations

from pathlib import Path

import pytest

from thalweg import resources
from thalweg.errors import UserError


@pytest.fixture
def folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A pipeline's folder and a current directory, both without files."""
    (tmp_path / "pipelines").mkdir()
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    return tmp_path / "pipelines"


def test_the_pipelines_folder_comes_first(folders: Path) -> None:
    """A file beside the pipeline wins over one of the same name in the current directory (DAG-18)."""
    (folders / "a.sql").write_text("beside", encoding="utf-8")
    Path("a.sql").write_text("here", encoding="utf-8")

    assert resources.find("a.sql", str(folders)).read_text(encoding="utf-8") == "beside"


def test_the_current_directory_comes_second(folders: Path) -> None:
    """A file that is not beside the pipeline is taken from the current directory; a folder is no file."""
    (folders / "a.sql").mkdir()
    Path("a.sql").write_text("here", encoding="utf-8")

    assert resources.find("a.sql", str(folders)).read_text(encoding="utf-8") == "here"


def test_shipped_files_come_last(folders: Path) -> None:
    """Ready-made SQL is found from anywhere, until somebody has a file of that name (PKG-01)."""
    assert "generate_series" in resources.find("sql/orders.sql", str(folders)).read_text(encoding="utf-8")

    (folders / "sql").mkdir()
    (folders / "sql" / "orders.sql").write_text("mine", encoding="utf-8")

    assert resources.find("sql/orders.sql", str(folders)).read_text(encoding="utf-8") == "mine"


def test_absolute_paths_are_taken_as_they_are(folders: Path, tmp_path: Path) -> None:
    """A path from the root needs no folder."""
    (tmp_path / "a.sql").write_text("there", encoding="utf-8")

    assert resources.find(str(tmp_path / "a.sql"), str(folders)) == tmp_path / "a.sql"


def test_a_missing_file_says_where_it_was_looked_for(folders: Path) -> None:
    """The error names the places that a user can put the file."""
    with pytest.raises(UserError, match=r"there is no file 'nothing\.sql'") as caught:
        resources.find("nothing.sql", str(folders))

    assert str(folders / "nothing.sql") in (caught.value.hint or "")
