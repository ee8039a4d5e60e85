"""asv's files without asv: asv reads them, they are what records say, and machines and commits are told apart."""

from __future__ import annotations

import datetime
import json
import math
import subprocess
import sys
from pathlib import Path

import pytest
from asv.benchmarks import Benchmarks
from asv.config import Config
from asv.machine import Machine as AsvMachine
from asv.results import Results, iter_results
from click.testing import CliRunner

from adstack.tools.bench import command
from adstack.tools.bench.asv import __main__ as bench_asv
from adstack.tools.bench.asv.__main__ import main
from adstack.tools.bench.asv.catalogue import FOLDER, RESULTS, Benchmark, catalogue
from adstack.tools.bench.asv.commits import committed, told
from adstack.tools.bench.asv.families import chosen
from adstack.tools.bench.asv.results import Commit, Machine, Point, write
from adstack.tools.bench.command import bench
from adstack.tools.bench.rows import ROWS
from adstack.tools.bench.subjects import Subject

RECORDS = FOLDER.parent / "conformance" / "results" / "bench"
HASH, DATE = "0123456789abcdef0123456789abcdef01234567", "2026-11-23T12:00:00+00:00"
ABOUT = {"platform": "Linux-6.18.44-x86_64-with-glibc2.36", "cpu": "Some(R) CPU", "cores": 2, "python": "3.11.7"}
ONE = Benchmark("a.B.track_c", ("backend", "n"), (("'cpu'", "'cuda'"), ("1", "2")), "1")


def _present(results: Results) -> list[float | None]:
    """Figures of ONE; None for what is not there."""
    return [None if math.isnan(value) else value for value in results.get_result_value(ONE.name, ONE.params)]


def _written(folder: Path) -> Results:
    (results,) = iter_results(str(folder))
    return results


WORKER = """
import json, sys
for line in sys.stdin:
    print(json.dumps({"wall": 0.5, "cpu": 0.5, "version": "1", "python": "3"}), flush=True)
"""


def test_a_run_writes_what_asv_reads(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(command, "compiled_backends", lambda: ["cpu"])
    monkeypatch.setattr(command, "mine", lambda arch: Subject("adstack", arch, (sys.executable, "-c", WORKER), "1"))
    options = ["--rows", "nop", "--rounds", "2", "--asv", str(tmp_path), "--families", "dispatch.Element.*reads"]
    done = CliRunner().invoke(bench, [*options, "--commit", HASH, "--commit-date", DATE, "--machine", "mine"])
    assert done.exit_code == 0, done.output
    results, benchmarks = _written(tmp_path), catalogue()
    assert (results.commit_hash, results.date, results.params["machine"]) == (HASH, 1795435200000, "mine")
    row, reads = (benchmarks[name] for name in ("recorded.Rows.track_seconds", "dispatch.Element.time_thousand_reads"))
    seconds = dict(zip(row.settings(), results.get_result_value(row.name, row.params), strict=True))
    place = "'cpu'", "'adstack'", "'nop'"
    assert {setting: value for setting, value in seconds.items() if value == value} == {place: 0.5}
    assert results.get_result_samples(row.name, row.params)[list(seconds).index(place)] == [0.5, 0.5]
    *others, on_cpu = results.get_result_value(reads.name, reads.params)
    assert all(map(math.isnan, others)), "not None, which asv takes for failed"
    assert 0 < on_cpu < 1
    machine = json.loads((tmp_path / "mine" / "machine.json").read_text())
    assert set(machine) == {*(name for name, _ in AsvMachine.fields), "version"}


def _known_commit(name: str) -> Commit:
    """A commit that some of the committed files are of: a clone need not have the whole history."""
    heads = [json.loads(path.read_text()) for path in RESULTS.glob("*/*-*.json")]
    (commit,) = {(one["commit_hash"], one["date"]) for one in heads if one["commit_hash"].startswith(name)}
    return Commit(commit[0], datetime.datetime.fromtimestamp(commit[1] / 1000, datetime.timezone.utc))


def test_the_committed_files_are_what_the_records_say(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(bench_asv, "committed", _known_commit)
    (tmp_path / "benchmarks.json").write_bytes((RESULTS / "benchmarks.json").read_bytes())
    done = CliRunner().invoke(main, [*map(str, sorted(RECORDS.glob("*.json"))), "--results", str(tmp_path)])
    assert done.exit_code == 0, done.output
    for path in tmp_path.glob("*/*.json"):
        if path.name != "machine.json":  # a later run on the machine may know more of it
            assert path.read_text() == (RESULTS / path.relative_to(tmp_path)).read_text(), path
    machines = {path.parent.name for path in tmp_path.glob("*/*.json")}
    assert {"amd-epyc-2-cores", "nvidia-h200", "nvidia-h100-80gb-hbm3"} <= machines


def test_what_asv_finds_in_the_benchmarks_is_what_its_results_list():
    settings = Config.load(str(FOLDER / "asv.conf.json"))
    settings.results_dir = str(RESULTS)
    listed = Benchmarks.load(settings)
    finding = (
        "import json, sys; sys.path.insert(0, sys.argv[1]); from asv_runner.discovery import disc_benchmarks as find; "
        "print(json.dumps({b.name: [b.params, b.version] for b in find(sys.argv[1] + '/benchmarks')}))"
    )
    done = subprocess.run([sys.executable, "-c", finding, str(FOLDER)], check=True, capture_output=True, text=True)
    expected = {name: [one["params"], one["version"]] for name, one in listed.items()}
    assert json.loads(done.stdout) == expected, "asv run --python=same --bench '^$' lists them anew"


def test_all_rows_have_a_place():
    rows = set(map(repr, ROWS))
    assert set(catalogue()["recorded.Rows.track_seconds"].params[2]) == rows
    assert set(catalogue()["recorded.Ratios.track_ratio"].params[2]) == rows


def test_a_second_run_keeps_what_it_does_not_measure(tmp_path: Path):
    machine, commit = Machine.of(ABOUT), told(HASH, DATE)
    for setting, value in ((("'cpu'", "1"), 1.0), (("'cuda'", "2"), 2.0), (("'cpu'", "1"), 3.0)):
        write(tmp_path, machine, commit, {ONE.name: ONE}, {ONE.name: {setting: Point(value, (value,))}})
    results = _written(tmp_path)
    assert _present(results) == [3.0, None, None, 2.0]
    assert results.get_result_samples(ONE.name, ONE.params) == [[3.0], None, None, [2.0]]


def test_figures_of_another_version_are_left_behind(tmp_path: Path):
    machine, commit = Machine.of(ABOUT), told(HASH, DATE)
    for version, setting in (("1", ("'cpu'", "1")), ("2", ("'cpu'", "2"))):
        one = Benchmark(ONE.name, ONE.names, ONE.params, version)
        write(tmp_path, machine, commit, {ONE.name: one}, {ONE.name: {setting: Point(1.0)}})
    assert _present(_written(tmp_path)) == [None, 1.0, None, None]


def test_a_setting_that_a_benchmark_does_not_have_is_an_error(tmp_path: Path):
    with pytest.raises(KeyError, match=r"a\.B\.track_c"):
        write(
            tmp_path, Machine.of(ABOUT), told(HASH, DATE), {ONE.name: ONE}, {ONE.name: {("'vulkan'", "1"): Point(1.0)}}
        )


def test_a_machine_is_called_as_its_gpu_or_its_processor():
    assert Machine.of(ABOUT).name == "some-cpu-2-cores"
    mine = Machine.of(ABOUT, "NVIDIA H100 80GB HBM3")
    assert (mine.name, mine.record()["os"], mine.record()["arch"]) == ("nvidia-h100-80gb-hbm3", "Linux 6.18", "x86_64")
    assert mine.record()["gpu"] == "NVIDIA H100 80GB HBM3"


@pytest.mark.parametrize(
    "options",
    [
        ["--families", "heap.*"],
        ["--asv", "x", "--families", "no-such.*"],
        ["--asv", "x", "--commit", "123", "--commit-date", DATE],
        ["--asv", "x", "--commit", HASH, "--commit-date", "2026-11-23T12:00:00"],
    ],
)
def test_options_that_say_too_little_are_refused(options: list[str]):
    assert CliRunner().invoke(bench, options).exit_code == 2


def test_commits_are_looked_up_in_the_clone(tmp_path: Path):
    assert committed("HEAD").hash == committed(committed("HEAD").hash[:10]).hash
    with pytest.raises(LookupError, match="no-such"):
        committed("no-such")
    with pytest.raises(LookupError):
        committed("HEAD", tmp_path)


def test_benchmarks_without_a_backend_are_not_run():
    assert [one.name for one in chosen(["math_functions.*", "heap.*stacks"], catalogue())] == [
        "heap.Adstacks.track_stacks"
    ]
