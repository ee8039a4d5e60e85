"""Exact numbers about the code that is made: they move only if somebody moved them."""

import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

from .common import BY_LLVM, HERE, gradient, opened
from .kernels import KERNELS, REVERSIBLE

LANES = re.compile(r"<(\d+) x (?:float|i32)>")


def lanes(text):
    """How many iterations the widest vectors of some LLVM IR serve at a time."""
    return max((int(n) for n in LANES.findall(text)), default=1)


class Code:
    params = (BY_LLVM, ("nop", "args", "recurrence", "gather", "many"))
    param_names = ("backend", "kernel")
    unit = "instructions"

    def setup(self, backend, kernel):
        made, given = KERNELS[kernel](opened(backend, offline_cache=False), 16)
        self.stages = made.stages(*given)

    def track_ir_ops(self, backend, kernel):
        return len(re.findall(r"^\s+(?!}|\^|#|yield)\S", self.stages["tasks"], re.MULTILINE))

    def track_llvm(self, backend, kernel):
        return len(re.findall(r"^  \S", self.stages["llvm-opt"], re.MULTILINE))

    def track_machine(self, backend, kernel):
        return len(re.findall(r"^\t[a-z]", self.stages["asm"], re.MULTILINE))

    def track_lanes(self, backend, kernel):
        return lanes(self.stages["llvm"])


class GradientCode(Code):
    params = (BY_LLVM, ("recurrence", "ragged", "many"))

    def setup(self, backend, kernel):
        made, _ = REVERSIBLE[kernel](opened(backend, offline_cache=False), 16, needs_grad=True)
        self.stages = gradient(made).stages()
        if "llvm" not in self.stages:
            raise NotImplementedError("the code of reverse mode is not shown")


class ObjectSize:
    params = (BY_LLVM, ("nop", "args", "recurrence", "gather", "many"))
    param_names = ("backend", "kernel")
    unit = "bytes"

    def setup(self, backend, kernel):
        self.folder = tempfile.mkdtemp(prefix="asv")
        os.environ["ADSTACK_CACHE_DIR"] = self.folder
        self.kernel, self.given = KERNELS[kernel](opened(backend, offline_cache=True), 16)
        self.before = self.stored()

    def stored(self):
        return sum(path.stat().st_size for path in Path(self.folder).rglob("*.o"))

    def track_object(self, backend, kernel):
        self.kernel(*self.given)
        return self.stored() - self.before


STATEMENTS = {
    "msl": r";$",
    "ptx": r"^\t[a-z@].*;$",
    "spirv": r"^ .*\bOp[A-Z]",
    "amdgcn:gfx1100": r"^\t[a-z]",
    "amdgcn:gfx942": r"^\t[a-z]",
}
"""Language of a target -> what a statement or an instruction of it looks like, in a line of its own."""


class Source:
    """Statements, or instructions, of what is written for the targets that are not this machine: on any machine."""

    params = (
        tuple(STATEMENTS),
        ("forward nop", "forward recurrence", "forward gather", "reverse recurrence", "reverse many"),
    )
    param_names = ("language", "code")
    unit = "statements"

    def setup(self, language, code):
        from adstack import inspection

        direction, name = code.split()
        if direction == "forward":
            kernel, given = KERNELS[name](opened("cpu", offline_cache=False), 16)
            tasks = kernel.stages(*given)["tasks"]
        else:
            kernel, _ = REVERSIBLE[name](opened("cpu", offline_cache=False), 16, needs_grad=True)
            tasks = gradient(kernel).stages()["tasks"]
        self.text = inspection.translated(tasks, language)

    def track_statements(self, language, code):
        return len(re.findall(STATEMENTS[language], self.text, re.MULTILINE))


_PROGRAM = """
import json, sys
from benchmarks.code_size import Code, GradientCode
maker = {"forward": Code, "reverse": GradientCode}[sys.argv[1]]()
maker.setup("cpu", sys.argv[2])
print(json.dumps({name: getattr(maker, "track_" + name)("cpu", sys.argv[2]) for name in ("llvm", "machine", "lanes")}))
"""


class OtherProcessors:
    """The same for processors that are emulated where qemu-user is installed, in a process of their own."""

    params = (("aarch64",), ("forward recurrence", "reverse recurrence"))
    param_names = ("processor", "code")
    unit = "instructions"

    def setup(self, processor, code):
        environment = {**os.environ, "ADSTACK_CPU_EMULATED": processor}
        done = subprocess.run(
            [sys.executable, "-c", _PROGRAM, *code.split()],
            env=environment,
            cwd=Path(HERE).parent,
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode:
            raise NotImplementedError(done.stderr)
        self.sizes = json.loads(done.stdout)

    def track_machine(self, processor, code):
        return self.sizes["machine"]

    def track_lanes(self, processor, code):
        return self.sizes["lanes"]
