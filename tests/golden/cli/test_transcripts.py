"""Transcripts of the command line: what is typed in them is typed, what they show is what must come.

A ``console`` block holds shell commands behind ``$``; a ``twg ARGUMENTS`` block is a session on a real pseudo-terminal: text behind
``twg>`` and ``...>`` is typed, a line ``^C`` presses Ctrl-C once the lines before it have come. REWRITE_GOLDEN=1 writes them anew.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
from functools import partial
from pathlib import Path

import pexpect
import pytest

FOLDER = Path(__file__).parent
ROOT = FOLDER.parents[2]
TRANSCRIPTS = sorted(FOLDER.glob("*.md"))
_BLOCK = re.compile(r"^```(?P<kind>console|twg[^\n]*)\n(?P<text>.*?)^```$", re.DOTALL | re.MULTILINE)
_PROMPT = "twg> "
_CHANGING = (
    (re.compile(r"\x1b\[\?\d+[hl]"), ""), (re.compile(r"-\d{6}-[0-9a-f]{16}\."), "-N-H."),
    (re.compile(r"after [\d.]+ s"), "after N s"), (re.compile(r"[\d,]+ rows/s"), "N rows/s"), (re.compile(r"time: [\d.,]+ ms"), "time: N ms"),
)  # fmt: skip


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    """A folder with the pipeline, its data, and a ``twg`` on the path."""
    for name in ("shop.sql", "shop.jsonl"):
        shutil.copy(FOLDER / name, tmp_path)
    command = tmp_path / "bin" / "twg"
    command.parent.mkdir()
    command.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -m thalweg "$@"\n', encoding="utf-8")
    command.chmod(0o755)
    return tmp_path


def environment(folder: Path) -> dict[str, str]:
    """No colours, no state of the user, output in the order in which it is written."""
    return {
        "PATH": f"{folder / 'bin'}:{os.environ['PATH']}", "PYTHONPATH": str(ROOT), "PYTHONUNBUFFERED": "1", "PYTHONUTF8": "1",
        "TWG_DECODE_KERNELS": "off",
        "TERM": "dumb", "HOME": str(folder), "XDG_STATE_HOME": str(folder / "state"),
    }  # fmt: skip


def stable(text: str) -> str:
    """Without what differs from run to run."""
    for pattern, replacement in _CHANGING:
        text = pattern.sub(replacement, text)
    return "".join(line.rstrip() + "\n" for line in text.splitlines())


def run_console(text: str, folder: Path) -> str:
    """Every command of a block with its output, and its exit code where that is not 0."""
    out = []
    for command in re.findall(r"^\$ (.*(?:\n> .*)*)", text, re.MULTILINE):
        done = subprocess.run(
            ["bash", "-c", command.replace("\n> ", "\n")], cwd=folder, env=environment(folder), stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            timeout=60, check=False,
        )
        code = f"[exit {done.returncode}]\n" if done.returncode else ""
        out.append(f"$ {command}\n{done.stdout.decode().replace(f'{folder}/', '')}{code}")
    return stable("".join(out))


def run_session(arguments: str, text: str, folder: Path) -> str:
    """A session: each typed text with what came after it."""
    child = pexpect.spawn(
        "twg", shlex.split(arguments), cwd=folder, env=environment(folder), dimensions=(40, 100), timeout=60, encoding="utf-8",
        preexec_fn=partial(signal.signal, signal.SIGINT, signal.SIG_DFL),  # a suite in the background ignores it, and its children would too
    )  # fmt: skip
    child.setecho(state=False)
    child.expect_exact(_PROMPT)
    out = [child.before]
    for turn in re.split(rf"^{_PROMPT}", text, flags=re.MULTILINE)[1:]:
        lines = turn.splitlines()
        typed = [lines[0], *(line.removeprefix("...> ") for line in lines[1:] if line.startswith("...> "))]
        child.send("\r".join(typed) + "\r")
        child.expect_exact("\r\n".join(typed) + "\r")
        shown = ""
        if "^C" in lines:
            child.expect_exact(lines[lines.index("^C") - 1])
            shown = child.before + child.after + "\r\n^C"
            child.sendintr()
        ended = child.expect_exact([_PROMPT, pexpect.EOF])
        came = (shown + child.before).replace("\r", "").removeprefix("\n")
        out.append(_PROMPT + "\n...> ".join(typed) + "\n" + came)
        if ended:
            break
    child.close()
    return stable("".join(out).replace("\r", ""))


@pytest.mark.parametrize("path", TRANSCRIPTS, ids=lambda p: p.stem)
def test_transcripts_come_true(path: Path, shop: Path) -> None:
    """Each command and each session shows exactly what its transcript shows (CLI-01, CLI-02, CLI-07, CLI-08, CL-02)."""
    document = path.read_text(encoding="utf-8")

    def replay(block: re.Match[str]) -> str:
        kind, text = block["kind"], block["text"]
        came = run_console(text, shop) if kind == "console" else run_session(kind.removeprefix("twg"), text, shop)
        return f"```{kind}\n{came}```"

    replayed = _BLOCK.sub(replay, document)
    if os.environ.get("REWRITE_GOLDEN"):
        path.write_text(replayed, encoding="utf-8")

    assert replayed == document
