"""The house rules that no linter knows: sizes, seams, names, the one place that commits, and the layout."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
import tomllib
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from importlinter.cli import lint_imports

from thalweg import registry

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "thalweg"
TOP_FILES = {"pyproject.toml", "uv.lock", "README.md", "LICENSE-MIT", "LICENSE-APACHE"}
TOP_FOLDERS = {"thalweg", "sql", "udfs", "catalogs", "tests", "examples", "docs"}
PLUGIN_KINDS = ("sources", "sinks", "codecs", "registries")
COMMIT_PLACES = ("runtime/commit.py", "sources/", "sinks/", "codecs/", "registries/", "testing/")
FAMILIES = ("ACK", "CFG", "CLI", "CNX", "CRD", "DAG", "DLQ", "GEN", "KSR", "MET", "REP", "SNK", "SRC", "TST")
DISTRIBUTIONS = {"google": "protobuf", "importlinter": "import-linter"}
"""Packages that are not named like the distribution that brings them."""
MODULES = sorted(PACKAGE.rglob("*.py"))
TEST_FILES = sorted((ROOT / "tests").rglob("*.py"))
SOURCES = [*MODULES, *TEST_FILES, *sorted((ROOT / ".ci").glob("*.py"))]


def name_of(path: Path) -> str:
    """The path inside the checkout, with forward slashes."""
    return path.relative_to(ROOT).as_posix()


@cache
def tree_of(path: Path) -> ast.Module:
    """The parsed file; parsed once for all tests."""
    return ast.parse(path.read_text(encoding="utf-8"), str(path))


@cache
def kept_files() -> tuple[Path, ...]:
    """Every file that belongs to the project: tracked or new, but not ignored."""
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT, capture_output=True, text=True, check=True,
    )
    return tuple(path for line in listed.stdout.splitlines() if (path := ROOT / line).is_file())


def functions(tree: ast.Module) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    """Every function and method of a module, nested ones included."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node


def public_assignments(tree: ast.Module) -> set[str]:
    """Names that a module assigns at its top and does not hide behind an underscore."""
    names: set[str] = set()
    for node in tree.body:
        targets = node.targets if isinstance(node, ast.Assign) else [node.target] if isinstance(node, ast.AnnAssign) else []
        names.update(t.id for t in targets if isinstance(t, ast.Name) and not t.id.startswith("_"))
    return names


# -- layout


def test_top_level_is_exact() -> None:
    """The top level holds the agreed files and folders and nothing else but dot files (CRD-01)."""
    tops = {path.relative_to(ROOT).parts[0] for path in kept_files()}

    assert {top for top in tops if not top.startswith(".")} == TOP_FILES | TOP_FOLDERS


def test_unit_tests_mirror_the_package() -> None:
    """Every file below tests/unit is named like the module that it tests."""
    lost = []
    for path in (ROOT / "tests" / "unit").rglob("test_*.py"):
        mirrored = PACKAGE / path.relative_to(ROOT / "tests" / "unit").parent / path.name.removeprefix("test_")
        if not mirrored.exists() and not mirrored.with_suffix("").is_dir():
            lost.append(name_of(path))

    assert lost == []


def test_descriptors_stay_at_the_edge() -> None:
    """Only the Protobuf codec imports Google's library: no sink, plan, engine or transport sees a descriptor (PRO-05, PRO-14)."""
    users = [p for p in PACKAGE.rglob("*.py") if re.search(r"^\s*(from|import) google\b", p.read_text(encoding="utf-8"), re.MULTILINE)]

    assert {p.parent.relative_to(PACKAGE).as_posix() for p in users} == {"codecs/protobuf"}


def test_package_ships_its_sql() -> None:
    """The wheel is told to carry the ready-made SQL, and there is some to carry (PKG-01)."""
    config = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    wheel = config["tool"]["hatch"]["build"]["targets"]["wheel"]

    assert wheel["force-include"] == {"sql": "thalweg/_share/sql"}
    assert list((ROOT / "sql").glob("*.sql"))


def third_party(paths: list[Path]) -> set[str]:
    """Top-level packages that the files import and that are neither ours nor the standard library's."""
    found = set()
    for path in paths:
        for node in ast.walk(tree_of(path)):
            if isinstance(node, ast.Import):
                found |= {alias.name.split(".")[0] for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
                found.add(node.module.split(".")[0])
    return {DISTRIBUTIONS.get(name, name.replace("_", "-")) for name in found - sys.stdlib_module_names - {"thalweg", "tests"}}


def test_dependencies_are_minimal_and_true() -> None:
    """The package imports exactly what it depends on, with a reason for each; conformance suites may use pytest (CRD-02)."""
    config = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    declared = {re.split(r"[<>=\[]", line)[0] for line in config["project"]["dependencies"]}
    extras = {re.split(r"[<>=\[]", line)[0] for name, lines in config["project"]["optional-dependencies"].items() if name not in {"dev", "docs"} for line in lines}
    reasons = (ROOT / "docs" / "dependencies.md").read_text(encoding="utf-8")

    suites = [p for p in MODULES if p.is_relative_to(PACKAGE / "testing")]

    imported = third_party([p for p in MODULES if p not in suites])
    assert declared <= imported <= declared | extras  # what an extra brings may be a program that is run
    assert third_party(suites) <= declared | {"pytest"}
    assert [name for name in declared | extras if f"| {name} |" not in reasons] == []


def test_tests_import_what_the_dev_extra_brings() -> None:
    """Whatever a test imports is a dependency or in the ``dev`` extra, each of which has its reason (CRD-02)."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    lines = [*project["dependencies"], *project["optional-dependencies"]["dev"]]
    declared = {re.split(r"[<>=\[]", line)[0] for line in lines}
    reasons = (ROOT / "docs" / "dependencies.md").read_text(encoding="utf-8")
    local = {p.stem.replace("_", "-") for p in TEST_FILES} | {p.parent.name for p in TEST_FILES}

    assert third_party(TEST_FILES) - local <= declared
    assert [name for name in declared if name not in reasons] == []


def test_lock_file_is_current() -> None:
    """uv.lock was made from the dependencies that pyproject.toml has now (CRD-02)."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    lock = tomllib.loads((ROOT / "uv.lock").read_text(encoding="utf-8"))
    locked = next(p for p in lock["package"] if p["name"] == project["name"])["metadata"]["requires-dist"]
    wanted = {*project["dependencies"], *(line for extra in project["optional-dependencies"].values() for line in extra)}

    assert {name_and_bounds(r["name"] + r.get("specifier", "")) for r in locked} == {name_and_bounds(w) for w in wanted}


def name_and_bounds(requirement: str) -> tuple[str, frozenset[str]]:
    """A requirement's name and its version bounds; extras and markers left out."""
    bare = re.sub(r"\[.*?\]", "", requirement.split(";", maxsplit=1)[0].strip())
    name = re.split(r"[<>=!~]", bare)[0]
    return name, frozenset(bare[len(name) :].split(","))


# -- sizes


@pytest.mark.parametrize("path", SOURCES, ids=name_of)
def test_files_stay_short(path: Path) -> None:
    """No Python file has more than 400 lines."""
    assert len(path.read_text(encoding="utf-8").splitlines()) <= 400


@pytest.mark.parametrize("path", MODULES, ids=name_of)
def test_functions_stay_short(path: Path) -> None:
    """No function has more than 40 lines; a kernel may have 80."""
    limit = 80 if path.is_relative_to(PACKAGE / "kernels") else 40
    long = [f"{f.name} has {n} lines" for f in functions(tree_of(path)) if (n := (f.end_lineno or f.lineno) - f.lineno + 1) > limit]

    assert long == []


# -- seams


def test_import_contracts_are_kept(capsys: pytest.CaptureFixture[str]) -> None:
    """Floors import downwards, plug-ins do not know each other, DataFusion stays in engine/ (GEN-08, GEN-09, GEN-13, DAG-20)."""
    kept = lint_imports(config_filename=str(ROOT / "pyproject.toml"), no_cache=True)

    assert kept == 0, capsys.readouterr().out


@pytest.mark.parametrize("path", [p for p in MODULES if p.name == "__init__.py"], ids=name_of)
def test_package_files_are_empty(path: Path) -> None:
    """A package file holds a docstring at most; the root's its version, a plug-in folder's its PLUGIN."""
    body = [n for n in tree_of(path).body if not (isinstance(n, ast.Expr) and isinstance(n.value, ast.Constant))]
    is_plugin = path.parent.parent.parent == PACKAGE and path.parent.parent.name in PLUGIN_KINDS and path.parent.name != "files"
    if path.parent == PACKAGE:
        assert public_assignments(tree_of(path)) == set()
    elif body:
        assert is_plugin or path.parent.parent.name in PLUGIN_KINDS
        assert "PLUGIN" in public_assignments(tree_of(path)) | imported_names(tree_of(path))


def imported_names(tree: ast.Module) -> set[str]:
    """Names that a module imports at its top."""
    return {a.asname or a.name for n in tree.body if isinstance(n, ast.ImportFrom | ast.Import) for a in n.names}


def plugin_modules() -> list[Path]:
    """The file that carries each plug-in's PLUGIN."""
    found = []
    for kind in PLUGIN_KINDS:
        for path in sorted((PACKAGE / kind).iterdir()):
            inner = path / "__init__.py" if path.is_dir() else path
            if inner.suffix == ".py" and not path.name.startswith("_") and inner.exists():
                found.append(inner)
    return found


@pytest.mark.parametrize("path", plugin_modules(), ids=name_of)
def test_plugin_exports_one_name(path: Path) -> None:
    """A plug-in module has one public name, PLUGIN; everything else hides behind an underscore or in ``__all__``."""
    tree = tree_of(path)
    public = public_assignments(tree) | {
        n.name for n in tree.body if isinstance(n, ast.FunctionDef | ast.ClassDef) and not n.name.startswith("_")
    }
    exported = declared_all(tree)

    assert "PLUGIN" in public | imported_names(tree)
    assert exported == ["PLUGIN"] if exported is not None else public <= {"PLUGIN"}


@pytest.mark.parametrize("kind", PLUGIN_KINDS)
def test_every_plugin_loads(kind: str) -> None:
    """Each plug-in that is found by its file name loads, and there is at least one of each kind (GEN-14)."""
    names = registry.names(kind)

    assert names
    assert all(registry.load(kind, name) is not None for name in names)


def declared_all(tree: ast.Module) -> list[str] | None:
    """The names in ``__all__``, None where there is none."""
    for node in tree.body:
        if isinstance(node, ast.Assign) and any(isinstance(t, ast.Name) and t.id == "__all__" for t in node.targets):
            return list(ast.literal_eval(node.value))
    return None


@pytest.mark.parametrize("path", [p for p in MODULES if declared_all(tree_of(p)) is not None], ids=name_of)
def test_exports_are_sorted(path: Path) -> None:
    """``__all__`` names each thing once: constants, then classes, then functions, each sorted."""
    exported = declared_all(tree_of(path)) or []

    assert exported == sorted(set(exported), key=lambda name: (not name.isupper(), not name[:1].isupper(), name))


def test_offsets_are_committed_in_one_place() -> None:
    """A source's ``commit`` is called in runtime/commit.py and inside plug-ins; others ask the committer (KSR-03, CNX-25)."""
    strays = []
    for path in MODULES:
        inside = path.relative_to(PACKAGE).as_posix()
        if inside.startswith(COMMIT_PLACES):
            continue
        strays += [
            f"{inside}:{node.lineno} .{node.func.attr}("
            for node in ast.walk(tree_of(path))
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in {"commit", "record"}
            and not ast.unparse(node.func.value).endswith("committer")
        ]

    assert strays == []


# -- words


def test_places_in_where_exist() -> None:
    """Every file that docs/where.md sends a reader to exists, and so does every name after the colon."""
    text = (ROOT / "docs" / "where.md").read_text(encoding="utf-8")
    places = re.findall(r"`((?:thalweg|tests|docs|sql|examples)/[\w./-]*)(?::(\w+))?`", text)
    missing = [place for place, _ in places if not (ROOT / place).exists()]
    nameless = [f"{place}:{name}" for place, name in places if name and not re.search(rf"\b{name}\b", (ROOT / place).read_text(encoding="utf-8"))]

    assert len(places) >= 13
    assert missing == []
    assert nameless == []


@pytest.mark.parametrize("path", SOURCES, ids=name_of)
def test_nothing_is_left_for_later(path: Path) -> None:
    """No marker of unfinished work, no NotImplementedError, no ignore without a code."""
    text = path.read_text(encoding="utf-8")
    left = re.findall(r"\b(?:TO" r"DO|FIX" r"ME|XX" r"X|HA" r"CK)\b", text)
    bare = re.findall(r"#\s*type:\s*ignore(?!\[)|#\s*noqa(?!:)", text)
    unimplemented = [n for n in ast.walk(tree_of(path)) if isinstance(n, ast.Raise) and n.exc and "NotImplemented" in ast.dump(n.exc)]

    assert (left, bare, unimplemented) == ([], [], [])


@pytest.mark.parametrize("path", MODULES, ids=name_of)
def test_no_exception_is_swallowed(path: Path) -> None:
    """No handler does nothing but pass."""
    empty = [
        n.lineno for n in ast.walk(tree_of(path))
        if isinstance(n, ast.ExceptHandler) and all(isinstance(b, ast.Pass) for b in n.body)
    ]

    assert empty == []


def test_no_vague_module_names() -> None:
    """Modules are named by a noun a newcomer would search for."""
    vague = {"utils", "util", "helpers", "helper", "common", "manager", "misc"}

    assert [name_of(p) for p in MODULES if p.stem.strip("_") in vague] == []


def test_no_path_of_a_machine() -> None:
    """No file names a folder of the machine it was written on, nor a package index, the lock file aside (GEN-21)."""
    private = re.compile(r"(?<![\w.])/(?:wo" r"rk|ro" r"ot|ho" r"me/\w+|tmp/ve" r"nv)/\S+|pypi\." r"org|files\.pythonhosted")
    found = []
    for path in kept_files():
        if path.name == "uv.lock" or path.stat().st_size > 1_000_000:
            continue
        text = path.read_bytes().decode("utf-8", "replace")
        found += [f"{name_of(path)}: {m.group(0)[:60]}" for m in private.finditer(text)]

    assert found == []


@pytest.mark.parametrize("path", [p for p in TEST_FILES if p.name.startswith(("test_", "bench_"))], ids=name_of)
def test_every_test_says_what_holds(path: Path) -> None:
    """Every test, and every test file, has a docstring."""
    tree = tree_of(path)
    silent = [f.name for f in functions(tree) if f.name.startswith(("test_", "bench_")) and not ast.get_docstring(f)]

    assert ast.get_docstring(tree)
    assert silent == []


def test_changelog_fragments_are_well_formed() -> None:
    """A fragment is named ``topic.added``, ``.changed`` or ``.fixed``, and is one sentence."""
    wrong = []
    for path in (ROOT / "docs" / "changelog.d").iterdir():
        text = path.read_text(encoding="utf-8").strip()
        named = re.fullmatch(r"[a-z0-9-]+\.(added|changed|fixed)\.md", path.name)
        if not named or "\n\n" in text or not re.match(r"[A-Z`]", text) or not text.endswith("."):
            wrong.append(path.name)

    assert wrong == []


def test_requirements_are_named_where_they_are_shown() -> None:
    """Each family of requirement ids that this build serves is named in the docstring of a test."""
    said = " ".join(
        ast.get_docstring(f) or "" for path in TEST_FILES for f in functions(tree_of(path)) if f.name.startswith("test_")
    )
    named = set(re.findall(r"\b([A-Z]{3})-\d+\b", said))

    assert [family for family in FAMILIES if family not in named] == []
