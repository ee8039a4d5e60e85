"""The matrix as JUnit XML, which continuous integration services show: one suite per subject."""

from __future__ import annotations

from xml.etree import ElementTree as Xml

from ..harness.cells import Result, Status, Subject
from ..harness.text import printable
from .summary import Report, explanation, label

__all__ = ["junit"]

_ERRORS = (Status.CRASHED, Status.TIMED_OUT, Status.BROKEN)


def junit(report: Report) -> str:
    """The report as a document. Gaps and unavailable cells are "skipped", with the reason."""
    root = Xml.Element("testsuites", name="adstack conformance", time=f"{report.seconds:.3f}")
    for subject in report.subjects:
        results = [result for result in report.results if result.cell.subject is subject]
        root.append(_suite(subject, results))
    for subject, gap in report.stale_gaps:
        case = Xml.SubElement(root, "testsuite", name=f"{subject.name} gaps", tests="1", failures="1")
        entry = Xml.SubElement(case, "testcase", classname="gaps", name=gap.covers)
        Xml.SubElement(entry, "failure", message="this gap matches no case").text = gap.reason
    Xml.indent(root)
    return '<?xml version="1.0" encoding="utf-8"?>\n' + Xml.tostring(root, encoding="unicode") + "\n"


def _suite(subject: Subject, results: list[Result]) -> Xml.Element:
    cases = [_case(result) for result in results]
    counts = {tag: sum(case.find(tag) is not None for case in cases) for tag in ("failure", "error", "skipped")}
    suite = Xml.Element(
        "testsuite",
        name=subject.name,
        tests=str(len(cases)),
        failures=str(counts["failure"]),
        errors=str(counts["error"]),
        skipped=str(counts["skipped"]),
        time=f"{sum(result.seconds for result in results):.3f}",
    )
    suite.extend(cases)
    return suite


def _case(result: Result) -> Xml.Element:
    cell = result.cell
    name = printable(cell.entry.id) + ("" if cell.mode == "forward" else f" {cell.mode}")
    classname = f"{cell.subject.name}.{cell.entry.topic}"
    case = Xml.Element("testcase", classname=classname, name=name, time=f"{result.seconds:.3f}")
    if result.status is not Status.PASS or result.is_failure:
        tag = "skipped" if not result.is_failure else ("error" if result.status in _ERRORS else "failure")
        text = printable(explanation(result))
        Xml.SubElement(case, tag, message=f"{label(result)}: {text.splitlines()[0] if text else ''}").text = text
    if result.output:
        Xml.SubElement(case, "system-out").text = result.output
    return case
