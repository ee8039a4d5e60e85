"""Subjects are found or say why not, and their gaps are about cases that exist."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from types import ModuleType

import pytest
from suites import MODULE, no_budgets, write_suite

from adstack import inspection
from adstack.conformance.harness import standalone
from adstack.conformance.harness.cells import Cell, Gap, Status
from adstack.conformance.harness.loading import collect
from adstack.conformance.harness.plan import cells_of, stale_gaps
from adstack.conformance.harness.pool import run_cells
from adstack.conformance.harness.station import Settings
from adstack.conformance.subjects import record
from adstack.conformance.subjects.backends import NAMES, backend_subjects
from adstack.conformance.subjects.gap_lists import GapListError, parsed
from adstack.conformance.subjects.peers import PEERS, peer_subject, variable


def test_every_arch_is_a_subject_with_a_reason_if_it_cannot_run():
    subjects = {subject.name: subject for subject in backend_subjects()}
    assert tuple(subjects) == NAMES
    assert set(NAMES) == {*inspection.ARCHES, *inspection.EMULATED}
    assert subjects["reference"].is_available
    for subject in subjects.values():
        assert subject.is_available or (subject.reason and subject.fix)


@pytest.mark.parametrize("peer", PEERS)
def test_no_gap_of_a_peer_is_stale(peer):
    assert stale_gaps(collect(), [peer_subject(peer, {})]) == []


def test_no_gap_of_a_backend_is_stale():
    assert stale_gaps(collect(), backend_subjects()) == []


def test_the_gaps_of_a_backend_stand_with_it(monkeypatch):
    capability = ModuleType("capability")
    capability.GAPS = (("arith.shift", "no shifter"),)
    monkeypatch.setitem(sys.modules, "adstack.backends.cuda.capability", capability)
    assert inspection.gaps("cuda") == (("arith.shift", "no shifter"),)
    assert inspection.gaps("reference") == ()


def test_the_refusals_of_a_backend_stand_with_it():
    words = [words for words, _ in inspection.refusals("metal")]
    assert "a type that the Metal Shading Language does not have" in words
    assert inspection.refusals("cuda") == inspection.refusals("reference") == ()
    metal = next(subject for subject in backend_subjects() if subject.name == "metal:host")
    assert [refusal.words for refusal in metal.refusals] == (words if metal.is_available else [])


def test_no_two_gaps_of_a_subject_cover_the_same_cell():
    for subject in [peer_subject(peer, {}) for peer in PEERS] + backend_subjects():
        for entry in collect():
            assert sum(gap.matches(entry, "forward") for gap in subject.gaps) <= 1, (subject.name, entry.id)


def test_a_peer_that_is_not_installed_says_for_which_interpreter(monkeypatch):
    monkeypatch.delenv(variable("quadrants"), raising=False)
    subject = peer_subject("quadrants", {})
    assert not subject.is_available
    assert sys.executable in subject.reason
    assert "--python quadrants=PATH" in subject.fix
    assert "ADSTACK_PYTHON_QUADRANTS" in subject.fix


def test_an_interpreter_that_does_not_exist_is_named(monkeypatch):
    monkeypatch.setenv("ADSTACK_PYTHON_TAICHI", "/no/such/python")
    assert "/no/such/python does not run" in peer_subject("taichi", {}).reason


def test_an_interpreter_given_wins_over_the_environment(monkeypatch):
    monkeypatch.setenv("ADSTACK_PYTHON_TAICHI", "/no/such/python")
    assert "/another/python" in peer_subject("taichi", {"taichi": "/another/python"}).reason


def test_an_unknown_peer_is_unavailable():
    assert peer_subject("halide", {}).reason == f"halide is not installed for {sys.executable}"


def test_a_worker_runs_where_adstack_is_not_installed(tmp_path):
    """The stand-in package is used, although this interpreter has the real one."""
    text = """
        @case(rules=["t.x"])
        def alone(qd):
            import sys
            import adstack
            print(adstack.__path__, "adstack.ir" in sys.modules)
            return Run(lambda: None, prints="see below")
    """
    (tmp_path / "plainlanguage.py").write_text(MODULE)
    (entry,) = collect(write_suite(tmp_path, {"a/b.py": text}))
    run = "runpy.run_path(sys.argv.pop(1), run_name='__main__')"
    code = f"import sys, runpy; sys.path.insert(0, {str(tmp_path)!r}); {run}"
    subject = replace(peer_subject("taichi", {}), module="plainlanguage", reason="", gaps=())
    subject = replace(subject, command=(sys.executable, "-c", code, str(Path(standalone.__file__))))
    (result,) = run_cells([Cell(entry, subject, "forward", 0)], Settings(no_budgets, root=tmp_path / "cases"))
    assert result.status is Status.WRONG_VALUE, result.message
    assert "[] False" in result.output


def found(case: str, mode: str, status: str, message: str = "") -> dict[str, str]:
    return {"case": case, "mode": mode, "status": status, "message": message}


def test_what_a_peer_did_is_kept_without_what_differs_from_machine_to_machine():
    message = "[1]: got 2.0 (0x1p+1), expected 1.0 (0x1p+0), 9 ulp apart"
    lost = 'Error: [a.cpp:visit@9] Not supported.\n File "/home/me/x.py", line 3'
    results = {
        ("a/b:f32", "forward"): found("a/b:f32", "forward", "wrong value", message),
        ("a/b:f32", "reverse"): found("a/b:f32", "reverse", "refused", lost),
    }
    kept = record.kept("taichi", "1", results)
    assert kept["counts"] == {"refused": 1, "wrong value": 1}
    assert kept["modes"] == {"forward": {"wrong value": 1}, "reverse": {"refused": 1}}
    assert kept["types"] == {"f32": 1}
    assert kept["not passed"] == {
        "a/b:f32": {
            "forward": "wrong value: [1]: got 2.0, expected 1.0, 9 ulp apart",
            "reverse": 'refused: Error: Not supported. x.py", line 3',
        }
    }


def test_a_peer_that_does_the_same_again_is_said_to(tmp_path, capsys):
    first = {("a/b:f32", "forward"): found("a/b:f32", "forward", "pass")}
    for status in ("pass", "pass", "crashed"):
        results = {**first, ("a/b:f32", "reverse"): found("a/b:f32", "reverse", status)}
        record.keep(tmp_path / "kept.json", record.kept("taichi", "1", results))
    none, same, *changes = capsys.readouterr().out.splitlines()
    assert (none, same) == ("there was none before", "the same as before")
    assert 'not passed, a/b:f32: nothing before, {"reverse": "crashed"} now' in changes


def test_gaps_are_listed_by_case_where_all_variants_fail_and_one_by_one_elsewhere():
    all_, some = "gradients/a-net-of-three-layers", "gradients/a-pendulum"
    entries = {entry.id: entry for entry in collect() if entry.id.partition(":")[0] in (all_, some)}
    failed = {name for name in entries if name.startswith(all_)} | {f"{some}:f32,while-2"}
    results = {
        (name, "reverse"): found(name, "reverse", "refused" if name in failed else "pass", "Not supported")
        for name in entries
    }
    table = record.patterns(results, [], entries)
    assert table == {("reverse", "there is no derivative of a statement"): [f"{all_}*", f"{some}:f*,while-2"]}
    assert record.patterns(results, [Gap("gradients/*", "known", "reverse")], entries) == {}
    assert list(parsed(record.runs({"taichi": table}))) == [
        ("taichi", Gap(covers, "there is no derivative of a statement", "reverse"))
        for covers in (f"{all_}*", f"{some}:f*,while-2")
    ]


def test_gaps_of_cells_that_were_not_run_stay():
    slugs = ("gradients/a-net-of-three-layers", "gradients/a-pendulum")
    entries = {entry.id: entry for entry in collect() if entry.id.partition(":")[0] in slugs}
    results = {
        ("gradients/a-pendulum:f32,while-2", "reverse"): found("gradients/a-pendulum:f32,while-2", "reverse", "pass")
    }
    old = [
        Gap("gradients/a-net*", "no nets", "reverse"),
        Gap("gradients/a-pendulum:f*,while-2", "now it passes", "reverse"),
        Gap("gradients/a-pendulum:f64,*", "a new one covers it", "forward"),
    ]
    new = {("forward", "new"): ["gradients/a-pendulum*"]}
    kept = record.merged(new, old, results, entries)
    assert kept == {**new, ("reverse", "no nets"): ["gradients/a-net*"]}


def test_a_list_of_gaps_says_who_when_why_and_where():
    text = "# some\n[a, b]\nany: it is: so\n    x/* y\n\n[b]\nreverse: other\n    z\n"
    both = [(peer, Gap(covers, "it is: so")) for covers in ("x/*", "y") for peer in ("a", "b")]
    assert list(parsed(text)) == [*both, ("b", Gap("z", "other", "reverse"))]
    for wrong in ("any: no peer\n", "[a]\n    no-reason\n", "[a]\nno colon\n"):
        with pytest.raises(GapListError, match="neither"):
            list(parsed(wrong))


def test_a_subject_that_is_given_a_part_has_one_variant_of_each_case_in_all_its_modes():
    entries = [entry for entry in collect() if entry.topic in ("math", "gradients")]
    subject = backend_subjects()[0]
    cells = cells_of(entries, [replace(subject, part="some")])
    assert len(cells) < len(cells_of(entries, [subject])) / 2
    variants = {cell.entry.id for cell in cells}
    assert len(variants) == len({name.partition(":")[0] for name in variants})
    assert {name.partition(":")[0] for name in variants} == {entry.id.partition(":")[0] for entry in entries}
    assert variants != {cell.entry.id for cell in cells_of(entries, [replace(subject, part="some")], seed=1)}


def test_the_variant_of_a_part_is_one_in_a_type_that_the_subject_has_if_there_is_one():
    entries = [entry for entry in collect() if entry.topic in ("gradients", "casts")]
    subject = replace(backend_subjects()[0], part="some", dtypes=("f32",))
    wide = [cell.entry for cell in cells_of(entries, [subject]) if ("dtype", "f64") in cell.entry.variant.dtypes]
    all_types = {(entry.id.partition(":")[0], name) for entry in entries for _, name in entry.variant.dtypes}
    assert all((entry.id.partition(":")[0], "f32") not in all_types for entry in wide)
    anything = cells_of(entries, [replace(subject, dtypes=())])
    assert any(("dtype", "f64") in cell.entry.variant.dtypes for cell in anything)


def test_an_emulated_subject_is_headed_by_what_it_stands_for():
    subject = replace(backend_subjects()[0], name="cpu:z80", arch="cpu", kind="emulated", device="z80, qemu")
    assert subject.title == ("cpu", "emulated: z80, qemu")
    assert replace(subject, kind="native").title == ("cpu:z80", "native")
