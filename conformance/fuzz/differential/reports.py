"""The findings of a search as files: of each a case and the draft of a bug report, and of all a list."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator, Mapping
from datetime import datetime, timezone
from pathlib import Path
from typing import Any, Final

from adstack.conformance.harness.cells import Subject
from adstack.conformance.harness.records import Record

from .casefile import case_text, script_text
from .search import Finding, Outcome

__all__ = ["record", "text", "write"]

SECONDS: Final = 120.0
"""How long the script of a report may run."""
SHOWN: Final = 160
"""Characters of a message that the list has."""
_REPORT: Final = """\
# {title}

{subject} {version}, arch {arch}, options {options}, Python script below.

{said}

```python
{script}```

It prints:

```
{prints}
```

{end}
"""
_WRONG: Final = """\
The kernel's values are right, and its gradient is not: each line "gradient" should be the line "differences" below it,
the central differences of what the same kernel computes."""
_DIFFERENCES: Final = "A reference that records each operation and goes back through the record says: {message}"


def write(outcome: Outcome, subject: Subject, folder: Path, dtype: str) -> None:
    """Write a case and a report for each finding."""
    folder.mkdir(parents=True, exist_ok=True)
    for finding in outcome.findings:
        name = f"finding_{finding.number}"
        title = _title(finding)
        (folder / f"{name}.py").write_text(case_text([finding.program], name, title, dtype, _modes(finding)), "utf-8")
        script = script_text(finding.program, title, subject.module, subject.arch, dict(subject.options), dtype)
        (folder / f"{name}.md").write_text(_report(finding, subject, script, folder / f"{name}_alone.py"), "utf-8")


def _modes(finding: Finding) -> tuple[str, ...]:
    return tuple(dict.fromkeys(("forward", finding.failure.mode)))


def _title(finding: Finding) -> str:
    made_of = ", ".join(sorted(finding.program.constructs)) or "one assignment"
    return f"{finding.failure.status.value.capitalize()} in {finding.failure.mode}: {made_of}."


def _report(finding: Finding, subject: Subject, script: str, file: Path) -> str:
    """The draft of a bug report; what the script prints is what it printed here."""
    file.write_text(script, "utf-8")
    try:
        prints = _printed(subject, file)
    finally:
        file.unlink()
    return _REPORT.format(
        title=_title(finding),
        subject=subject.module,
        version=subject.version,
        arch=subject.arch,
        options=dict(subject.options),
        said=_WRONG if finding.failure.status.value == "wrong gradient" else finding.message,
        script=script,
        prints=prints,
        end=_DIFFERENCES.format(message=" ".join(finding.message.split())),
    )


def _printed(subject: Subject, file: Path) -> str:
    """What a script prints under the interpreter of a subject, or how it ends."""
    try:
        done = subprocess.run(
            [subject.command[0], file.name],
            cwd=file.parent,
            capture_output=True,
            text=True,
            timeout=SECONDS,
            check=False,
            errors="replace",
        )
    except subprocess.TimeoutExpired:
        return f"nothing in {SECONDS:g} seconds"
    lines = [line for line in done.stdout.splitlines() if line.startswith(("gradient", "differences"))]
    last = done.stderr.strip().splitlines()[-1:] if done.returncode else []
    return "\n".join([*lines, *last, *([f"exit status {done.returncode}"] if done.returncode else [])])


def record(outcome: Outcome, subject: Subject, head: Mapping[str, Any]) -> Record:
    """What a search came to, for a file that people review."""
    failures = [
        {"mode": way.mode, "status": way.status.value, "phrase": way.phrase, "programs": count}
        for way, count in outcome.failures.most_common()
    ]
    return {
        "date": datetime.now(timezone.utc).strftime("%Y-%m-%d"),
        "subject": subject.name,
        "version": subject.version,
        "options": dict(subject.options),
        **head,
        "seconds": round(outcome.seconds),
        "programs": outcome.programs,
        "constructs": dict(sorted(outcome.constructs.items())),
        "failures": failures,
        "alike": outcome.alike,
        "findings": [_told(finding) for finding in outcome.findings],
    }


def _told(finding: Finding) -> Record:
    return {
        "number": finding.number,
        "mode": finding.failure.mode,
        "status": finding.failure.status.value,
        "constructs": ", ".join(sorted(finding.program.constructs)),
        "lines": {"drawn": finding.size, "reduced": len(finding.program.text.splitlines())},
        "choices": " ".join(map(str, finding.program.draw.values)),
        "kernel": finding.program.text.splitlines(),
        "message": " ".join(finding.message.split())[:SHOWN],
    }


def text(content: Record) -> str:
    """The list as JSON, a line for what is short."""
    return "\n".join(_lines(content, "")) + "\n"


def _lines(value: Any, indent: str) -> Iterator[str]:
    flat = json.dumps(value)
    if not isinstance(value, (dict, list)) or len(flat) < 100:
        yield flat
        return
    pairs = value.items() if isinstance(value, dict) else ((None, item) for item in value)
    opening, closing = "{}" if isinstance(value, dict) else "[]"
    yield opening
    parts = []
    for name, item in pairs:
        lines = list(_lines(item, indent + " "))
        lines[0] = (f"{json.dumps(name)}: " if name is not None else "") + lines[0]
        parts.append("\n".join(indent + " " + line if number == 0 else line for number, line in enumerate(lines)))
    yield ",\n".join(parts)
    yield indent + closing
