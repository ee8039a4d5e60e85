"""`adstack dump` and `adstack explain` on a user's program."""

from __future__ import annotations

import subprocess
import sys
import textwrap

import pytest

from adstack.tools.loading.programs import ProgramError, split_target

PROGRAM = """
    import adstack as qd

    qd.init(arch=qd.reference)
    x = qd.field(qd.f32, shape=8)
    print("hello from the program")

    @qd.kernel
    def fill(a: qd.f32):
        for i in x:
            x[i] = a * i

    @qd.kernel
    def double(v: qd.types.ndarray(dtype=qd.i32, ndim=2), n: int):
        for i, j in v:
            v[i, j] *= n

    @qd.kernel
    def move(direction: qd.types.vector(2, qd.f32)) -> qd.f32:
        return direction[0] + direction[1]

    @qd.kernel
    def generic(target: qd.template()):
        for i in target:
            target[i] = 1

    @qd.data_oriented
    class Solver:
        def __init__(self):
            self.y = qd.field(qd.i32, shape=3)

        @qd.kernel
        def step(self, n: qd.i32):
            for i in self.y:
                self.y[i] += n

    solver = Solver()
"""


@pytest.fixture
def program(tmp_path):
    path = tmp_path / "program.py"
    path.write_text(textwrap.dedent(PROGRAM))
    return path


def adstack(*words: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", "from adstack.tools.cli import main; main()", *map(str, words)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_dump_shows_every_stage_of_a_kernel(program):
    done = adstack("dump", f"{program}:fill")
    assert done.returncode == 0, done.stderr
    for stage in ("frontend", "tasks"):
        assert f"# ==== fill: {stage}" in done.stdout
    assert "parallel_for" in done.stdout


def test_a_stage_that_changed_nothing_is_not_shown_twice(program):
    sections = adstack("dump", f"{program}:fill").stdout.split("# ==== ")[1:]
    bodies = [section.partition("\n")[2] for section in sections]
    assert "# as before\n" in bodies
    assert len([body for body in bodies if body != "# as before\n"]) == len({*bodies} - {"# as before\n"})


def test_one_stage_alone(program):
    done = adstack("dump", f"{program}:fill", "--stage", "tasks")
    assert "frontend" not in done.stdout
    assert "task" in done.stdout


def test_the_metal_shading_language_is_shown_on_any_machine(program):
    done = adstack("dump", f"{program}:fill", "--stage", "msl")
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("# ==== fill: msl\n#include <metal_stdlib>")
    assert "kernel void fill_0_parallel_0(device Launch& launch" in done.stdout


def test_the_assembly_of_amds_gpus_is_shown_on_any_machine(program):
    done = adstack("dump", f"{program}:fill", "--stage", "amdgcn", "--stage", "amdgcn:gfx942")
    assert done.returncode == 0, done.stderr
    _, one, other = done.stdout.split("# ==== fill: ")
    assert one.startswith('amdgcn\n\t.amdgcn_target "amdgcn-amd-amdhsa--gfx1100"')
    assert other.startswith('amdgcn:gfx942\n\t.amdgcn_target "amdgcn-amd-amdhsa--gfx942"')
    assert "\n\ts_endpgm" in one


def test_the_code_of_nvidias_gpus_and_of_vulkan_is_shown_on_any_machine(program):
    done = adstack("dump", f"{program}:fill", "--stage", "ptx", "--stage", "spirv")
    assert done.returncode == 0, done.stderr
    _, ptx, spirv = done.stdout.split("# ==== fill: ")
    assert ".visible .entry task0(" in ptx
    assert "OpEntryPoint" in spirv


@pytest.mark.parametrize(
    ("stage", "message"),
    [
        ("amdgcn:gfx7", "no code is made for 'gfx7'\n  do: use one of gfx90a, gfx942"),
        ("msl:gfx942", "msl is the same for every processor\n  do: write msl"),
    ],
)
def test_a_processor_that_there_is_no_code_for_is_an_error(program, stage, message):
    done = adstack("dump", f"{program}:fill", "--stage", stage)
    assert done.returncode == 1
    assert message in done.stderr


def test_what_the_program_prints_is_kept_out_of_the_dump(program):
    done = adstack("dump", f"{program}:fill")
    assert "hello" not in done.stdout
    assert "hello from the program" in done.stderr


def test_the_program_finds_its_own_name_alone_among_its_arguments(program):
    program.write_text(f"import sys\nprint(sys.argv[1:], sys.argv[0] == __file__)\n{program.read_text()}")
    assert "[] True" in adstack("dump", f"{program}:fill", "--stage", "tasks").stderr


def test_arguments_are_made_up_from_annotations(program):
    for name in ("double", "move", "solver.step"):
        done = adstack("dump", f"{program}:{name}", "--stage", "frontend")
        assert done.returncode == 0, done.stderr


def test_arguments_can_be_given(program):
    done = adstack("explain", f"{program}:generic", "--args", "x")
    assert done.returncode == 0, done.stderr
    assert "generic" in done.stdout


def test_a_parameter_without_a_made_up_argument_asks_for_one(program):
    done = adstack("dump", f"{program}:generic")
    assert done.returncode == 1
    assert "parameter 'target' has no made-up argument; give the arguments: --args" in done.stderr


def test_explain_says_what_is_parallel_and_what_is_touched(program):
    done = adstack("explain", f"{program}:fill")
    assert done.returncode == 0, done.stderr
    assert "parallel over i in 0 .. 8" in done.stdout
    assert "    writes field" in done.stdout
    assert "parameter a: f32" in done.stdout


def test_explain_gives_bounds_in_terms_of_shapes_and_parameters(program):
    done = adstack("explain", f"{program}:double")
    assert "parallel over i in 0 .. v.shape[0], j in 0 .. v.shape[1]" in done.stdout
    assert "parameter v: array of i32, 2 axes" in done.stdout


@pytest.mark.parametrize(
    ("text", "phrase"),
    [
        ("import adstack as qd\nqd.init(arch='abacus')", "there is no arch 'abacus'"),
        ("x = 1\ny = x.z\n", "program.py:2: AttributeError: 'int' object has no attribute 'z'"),
        ("def f(:\n", "program.py"),
        ("import sys\nsys.exit(3)", "ended itself with sys.exit(3)"),
        ("x = 1", "has no kernel at module level"),
    ],
)
def test_a_program_that_fails_is_told_of_without_a_traceback(program, text, phrase):
    program.write_text(text)
    done = adstack("dump", program)
    assert done.returncode == 1
    assert phrase in done.stderr.replace("\n", " ").replace("  ", " ") or phrase in done.stderr
    assert "Traceback" not in done.stderr


def test_a_compile_error_shows_the_line_of_the_kernel(program):
    program.write_text("import adstack as qd\nqd.init(arch=qd.reference)\n@qd.kernel\ndef k():\n    y = unknown + 1\n")
    done = adstack("dump", f"{program}:k")
    assert done.returncode == 1
    assert "program.py:5:" in done.stderr
    assert "^" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("words", "phrase", "code"),
    [
        (("{}:nothing",), "has no kernel 'nothing'; its kernels: fill, double, move, generic", 1),
        (("{}:fill", "--stage", "linked"), "'linked'; there are frontend,", 2),
        (("{}:fill", "--args", "1 +"), "--args '1 +': SyntaxError", 1),
        (("{}x.py",), "there is no file", 1),
    ],
)
def test_what_does_not_exist_is_named(program, words, phrase, code):
    done = adstack("dump", *(word.format(program) for word in words))
    assert done.returncode == code
    assert phrase in " ".join(done.stderr.split())


@pytest.mark.parametrize(
    ("target", "path", "kernel"),
    [("a.py", "a.py", None), ("a.py:k", "a.py", "k"), ("d/a.py:s.k", "d/a.py", "s.k"), ("C:/a.py", "C:/a.py", None)],
)
def test_a_target_is_a_file_and_perhaps_a_kernel(target, path, kernel):
    file, name = split_target(target)
    assert (file.as_posix(), name) == (path, kernel)


def test_errors_about_programs_are_no_defects_of_adstack():
    assert not issubclass(ProgramError, AssertionError)


@pytest.mark.parametrize(("stage", "phrase"), [("llvm", "define void @task0("), ("llvm-opt", "@run("), ("asm", "run:")])
def test_a_backend_shows_what_it_made_of_a_kernel(program, stage, phrase):
    program.write_text(program.read_text().replace("qd.reference", "qd.cpu"))
    done = adstack("dump", f"{program}:fill", "--stage", stage)
    assert done.returncode == 0, done.stderr
    assert phrase in done.stdout
