"""Writes the reference pages that are made from the code: ``python docs/generate.py``; a test checks that they are current."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from thalweg import config, registry
from thalweg.arrow import metadata
from thalweg.model import options
from thalweg.plan.binding import CopyOptions, TableOptions

if TYPE_CHECKING:
    from collections.abc import Iterable

REFERENCE = Path(__file__).parent / "reference"
NOTE = "<!-- Made by docs/generate.py from the code; change the code, then run it again. -->\n"


@dataclass(frozen=True, slots=True)
class Section:
    """One heading and the options below it."""

    title: str
    text: str
    cls: type
    before: str = ""


def pages() -> dict[str, str]:
    """File name to text of every generated page."""
    return {"options.md": options_page(), "settings.md": settings_page(), "metadata.md": metadata_page()}


def options_page() -> str:
    """Options of tables, sources, formats and targets, plug-in by plug-in."""
    sections = [
        Section("Every streaming table", "Read from `OPTIONS (...)` of a streaming table, whatever it is stored as.", TableOptions),
        *_plugins("sources", "Tables"),
        *_formats(),
        Section("Every COPY", "Read from `OPTIONS (...)` of a COPY, whatever it is stored as.", CopyOptions),
        *_plugins("sinks", "Targets"),
    ]
    parts = [
        "# Options\n", NOTE,
        "Keys are written as `'key' 'value'`. Durations read `'250 ms'`, `'60 s'`, `'7 d'`; sizes read `'64 MiB'` or a number of bytes.",
        "An unknown key is an error that names the nearest known one.\n",
    ]
    for section in sections:
        parts.append(f"## {section.title}\n\n{section.text}\n\n{table(section.cls, section.before)}")
    return "\n".join(parts)


def settings_page() -> str:
    """Settings: their keys, and where each may be given."""
    parts = [
        "# Settings\n", NOTE,
        "Strongest first: command line (`--set key=value`), environment (`TWG_` and the key in capitals with `_` for dots: `TWG_BUDGET_ROWS`),",
        "`SET 'key' = 'value'` in the file, `thalweg.toml` beside the file or in the working folder, default.\n",
        table(config.Settings),
    ]
    return "\n".join(parts)


def metadata_page() -> str:
    """Metadata columns, their types, what METADATA FROM may ask for, and the columns of a dead letter."""
    prefix = metadata.DEFAULT_PREFIX
    asked = {column: key for key, column in metadata.METADATA_KEYS.items()}
    rows = [
        (f"`{prefix}{field.name}`", f"`{field.type}`", f"`'{asked[field.name]}'`" if field.name in asked else "", said)
        for field, said in metadata.FIELDS
    ]
    errors = [(f"`{prefix}{field.name}`", f"`{field.type}`") for field in metadata.ERROR_FIELDS]
    locator = ", ".join(f"`{prefix}{name}`" for name in metadata.LOCATOR)
    return "\n".join([
        "# Metadata columns\n", NOTE,
        f"`{prefix}source_*` is what the broker said, other `{prefix}*` columns are what Thalweg says. The prefix can be changed with",
        "`SET 'metadata.prefix'`; it is part of a target's schema, so it stays once the target exists. The schema is the same for all",
        "transports, NULL where a transport has no such thing; NULL and empty are different everywhere.\n",
        f"`'metadata' 'locator'` (default) gives a target {locator}; `all` gives every column; `none` gives none.",
        "The raw and dead-letter lanes always carry all but those that only a sink knows.\n",
        markdown(("column", "Arrow type", "METADATA FROM", "what it is"), rows),
        "## Columns of a dead letter\n",
        f"`{metadata.PAYLOAD}` (`binary`), the columns above, and:\n",
        markdown(("column", "Arrow type"), errors),
    ])


def _plugins(kind: str, word: str) -> list[Section]:
    """One section a plug-in of ``sources`` or ``sinks``."""
    found = []
    for name in registry.names(kind):
        plugin = registry.load(kind, name)
        kinds = " or ".join(f"`STORED AS {k}`" for k in getattr(plugin, "kinds", (name.upper(),)))
        found.append(Section(f"{word}: {name}", f"{kinds}. {plugin.capabilities.delivers}", plugin.options))
    return found


def _formats() -> list[Section]:
    """One section a codec; its keys stand behind the format's name."""
    found = []
    for name in registry.names("codecs"):
        plugin = registry.load("codecs", name)
        said = ", ".join(f"`{f}`" for f in plugin.formats)
        text = f"`'format'` is {said}. The keys stand behind the format's name, as in `'{plugin.formats[-1]}.<key>'`."
        if not options.docs(plugin.options):
            text = f"`'format'` is {said}. It takes no options."
        found.append(Section(f"Format: {name}", text, plugin.options))
    return found


def table(cls: type, before: str = "") -> str:
    """The options of one dataclass; empty where it has none."""
    rows = []
    for doc in options.docs(cls):
        default = doc.default if doc.default in {"", "required"} else f"`{doc.default}`"
        rows.append((f"`{before}{doc.key}{'*' if doc.prefix else ''}`", doc.takes, _readable(cls, doc.key, default), doc.doc))
    return markdown(("key", "takes", "default", "what it does"), rows) if rows else ""


def _readable(cls: type, key: str, default: str) -> str:
    """A default as a user writes it: durations and sizes in units."""
    reader = next((f.metadata.get("reader") for f in cls.__dataclass_fields__.values() if f.metadata.get("key") == key), None)
    said = (getattr(reader, "__doc__", None) or "").lower()
    if not default.strip("`").isdigit():
        return default
    if "nanoseconds" in said:
        return f"`{config.show_duration(int(default.strip('`')))}`"
    if "in bytes" in said:
        return f"`{config.show_size(int(default.strip('`')))}`"
    return default


def markdown(head: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> str:
    """A Markdown table."""
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    lines += ["| " + " | ".join(cell.replace("|", "\\|").replace("\n", " ") for cell in row) + " |" for row in rows]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    for file, page in pages().items():
        (REFERENCE / file).write_text(page, encoding="utf-8")
