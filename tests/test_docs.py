"""Every example in README, docs/ and docstrings is run, every link leads somewhere, every generated page is current."""

from __future__ import annotations

import re
import runpy
import shlex
from doctest import ELLIPSIS
from itertools import takewhile
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from sybil import Document, Example, Region, Sybil
from sybil.document import PythonDocStringDocument
from sybil.parsers.markdown import PythonCodeBlockParser
from sybil.parsers.markdown.lexers import FencedCodeBlockLexer
from sybil.parsers.rest import DocTestParser

from thalweg.cli.main import _parser, main
from thalweg.config import read_toml

if TYPE_CHECKING:
    from collections.abc import Iterable

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md")), *sorted((ROOT / "sql").glob("*.md"))]
GENERATED = ("options.md", "settings.md", "metadata.md")
ORDERS = """CREATE EXTERNAL TABLE orders (
  order_id BIGINT, amount DECIMAL(10, 2), status STRING, country STRING,
  customer ROW<id BIGINT, country STRING>, lines ARRAY<ROW<sku STRING, qty INT>>
) STORED AS KAFKA LOCATION 'kafka://localhost:9092/orders' OPTIONS ('format' 'json', 'bad_data' '{bad_data}');
"""


def name_of(path: Path) -> str:
    """The path inside the checkout, with forward slashes."""
    return path.relative_to(ROOT).as_posix()


def checked(sql: str, capsys: pytest.CaptureFixture[str]) -> tuple[int, str]:
    """Exit code and output of ``twg check`` over a script in the current folder."""
    Path("pipeline.sql").write_text(sql, encoding="utf-8")
    code = main(["check", "pipeline.sql"])
    out = capsys.readouterr()
    return code, out.out + out.err


def whole(sql: str, capsys: pytest.CaptureFixture[str]) -> None:
    """A ``sql`` block is a pipeline that ``twg check`` takes as it is."""
    code, said = checked(sql, capsys)
    assert code == 0, said


def fragment(sql: str, capsys: pytest.CaptureFixture[str]) -> None:
    """A ``{.sql .fragment}`` block reads a table ``orders`` that stands elsewhere; its dead letters go somewhere else too."""
    reads_dead = "dlq.orders" in sql
    before = "" if "TABLE orders" in sql else ORDERS.format(bad_data="dlq" if reads_dead else "fail")
    whole(before + sql, capsys)


def refused(sql: str, capsys: pytest.CaptureFixture[str]) -> None:
    """A ``{.sql .refused}`` block is a pipeline with an error in it."""
    code, said = checked(sql, capsys)
    assert code == 2, said


def query(sql: str, capsys: pytest.CaptureFixture[str]) -> None:
    """A ``{.sql .query}`` block is for the REPL, over a table ``orders``; its questions are planned, not answered."""
    Path("pipeline.sql").write_text(ORDERS.format(bad_data="fail"), encoding="utf-8")
    statements = [s.strip() for s in sql.split(";") if s.strip()]
    asked = [f"EXPLAIN {s}" if s.upper().startswith("SELECT") else s for s in statements]
    code = main(["repl", "pipeline.sql", *(a for s in asked for a in ("-c", s))])
    out = capsys.readouterr()
    assert code == 0, out.out + out.err


def toml(text: str, _: pytest.CaptureFixture[str]) -> None:
    """A ``toml`` block is a settings file."""
    Path("thalweg.toml").write_text(text, encoding="utf-8")
    assert read_toml(Path("thalweg.toml"))


def shell(text: str, _: pytest.CaptureFixture[str]) -> None:
    """Commands of ours in a ``sh`` block have arguments that ``twg`` takes, and name files that exist."""
    for command in re.split(r"&&|\n", text.replace("\\\n", " ")):
        words = list(takewhile(lambda word: word not in {"<", ">", "|"}, shlex.split(command)))
        if "twg" not in words:
            continue
        arguments = _parser().parse_args(words[words.index("twg") + 1 :])
        named = getattr(arguments, "file", None)
        assert named is None or named == "pipeline.sql" or (ROOT / named).exists()


def nothing(_: str, __: pytest.CaptureFixture[str]) -> None:
    """Text that is not run: a diagram, a grammar, somebody else's file."""


KINDS = {
    "sql": whole, "{.sql .fragment}": fragment, "{.sql .refused}": refused, "{.sql .query}": query, "toml": toml, "sh": shell,
    "text": nothing, "ini": nothing, "json": nothing, "mermaid": nothing, "": nothing,
}  # fmt: skip


def blocks(document: Document) -> Iterable[Region]:
    """Every fenced block but Python's, with what is to be done with it; an unknown kind is an error, so that nothing goes unseen."""
    for region in FencedCodeBlockLexer(r".+", {"language": "arguments", "source": "source"})(document):
        kind = region.lexemes["arguments"].strip()
        if kind == "python":
            continue
        region.parsed = (KINDS[kind], region.lexemes["source"])
        region.evaluator = run_block
        yield region


def run_block(example: Example) -> None:
    """Called by Sybil for each block of :func:`blocks`."""
    run, source = example.parsed
    run(str(source), example.namespace["capsys"])


PAGE_PARSER = Sybil([blocks, PythonCodeBlockParser(doctest_optionflags=ELLIPSIS)], path=str(ROOT), patterns=["*.md"])


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_examples_of_a_page_run(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Every block of the page does what its kind says (CLI-08)."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "countries.csv").write_bytes((ROOT / "examples" / "join" / "countries.csv").read_bytes())
    document = PAGE_PARSER.parse(page)
    document.namespace["capsys"] = capsys
    for example in document.examples():
        example.evaluate()


def test_examples_of_docstrings_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every doctest of the package gives what it says."""
    monkeypatch.chdir(tmp_path)
    for module in sorted((ROOT / "thalweg").rglob("*.py")):
        for example in PythonDocStringDocument.parse(str(module), DocTestParser(optionflags=ELLIPSIS)).examples():
            example.evaluate()


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_links_lead_somewhere(page: Path) -> None:
    """Every relative link of the page points at a file that exists."""
    text = re.sub(r"```.*?```|`[^`]*`", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)
    targets = [t.split("#")[0] for t in re.findall(r"\]\(([^)\s]+)\)", text) if "://" not in t and not t.startswith("#")]

    assert [t for t in targets if not (page.parent / t).exists()] == []


@pytest.mark.parametrize("file", GENERATED)
def test_generated_pages_are_current(file: str) -> None:
    """The reference pages made from the code say what the code says; ``python docs/generate.py`` makes them again (DOC-26)."""
    made = runpy.run_path(str(ROOT / "docs" / "generate.py"))["pages"]()

    assert sorted(made) == sorted(GENERATED)
    assert (ROOT / "docs" / "reference" / file).read_text(encoding="utf-8") == made[file]


def test_error_codes_are_all_explained() -> None:
    """docs/reference/error-codes.md has a row for every code that a dead letter can carry (DLQ-02)."""
    sources = "".join(p.read_text(encoding="utf-8") for p in (ROOT / "thalweg").rglob("*.py"))
    settings = {"decode.kernels", "decode.max_bytes", "decode.max_depth", "sql.on_error"}
    codes = set(re.findall(r'"((?:decode|sql|source)\.[a-z_]+)"', sources)) - settings
    notices = set(re.findall(r'(?:otice|_say)\((?:"\w+"|level), "([a-z_.]+)"', sources))
    page = (ROOT / "docs" / "reference" / "error-codes.md").read_text(encoding="utf-8")
    rows = set(re.findall(r"^\| `([a-z_.]+)` \|", page, re.MULTILINE))

    assert rows == codes | notices


def test_readme_shows_a_short_pipeline() -> None:
    """README's pipeline has at most 16 lines, and its commands install with pip or uv alone (CRD-07)."""
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    pipeline = re.search(r"```sql\n(.*?)```", text, re.DOTALL)

    assert pipeline is not None
    assert len(pipeline[1].splitlines()) <= 16
    assert "pip install . && twg stream examples/quickstart/pipeline.sql" in text
    assert "pip install '.[dev]' && pytest" in text


def test_every_event_of_the_log_is_listed() -> None:
    """The command line's page names each event that some line begins with, and no other (OB-03)."""
    code = "\n".join(path.read_text(encoding="utf-8") for folder in ("observe", "cli") for path in (ROOT / "thalweg" / folder).glob("*.py"))
    written = set(re.findall(r'(?:_Line|\.line)\((?:"[a-z]+"|[a-z.]+(?:\(\))?), "([a-z_]+)"', code))
    page = (ROOT / "docs" / "reference" / "cli.md").read_text(encoding="utf-8")
    listed = page.partition("Events are ")[2].partition(". A value never")[0]

    assert set(re.findall(r"`([a-z_]+)`", listed)) == written


def test_a_text_that_begins_with_an_abbreviation_keeps_it() -> None:
    """Options are described in small letters otherwise."""
    page = (ROOT / "docs" / "reference" / "options.md").read_text(encoding="utf-8")

    assert "| URL of another endpoint" in page
    assert re.findall(r"\| [a-z][A-Z]+ ", page) == []
