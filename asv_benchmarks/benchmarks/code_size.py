"""Exact numbers about the code that is made: they move only if somebody moved them."""

import os
import re
import tempfile
from pathlib import Path

from .common import COMPILED, opened
from .kernels import KERNELS


class Code:
    params = (COMPILED, ("nop", "args", "recurrence", "gather", "many"))
    param_names = ("backend", "kernel")
    unit = "instructions"

    def setup(self, backend, kernel):
        self.cache = tempfile.mkdtemp(prefix="asv")
        self.kernel, self.given = KERNELS[kernel](opened(backend, offline_cache=False), 16)
        self.stages = self.kernel.stages(*self.given)

    def track_ir_ops(self, backend, kernel):
        return len(re.findall(r"^\s+(?!}|\^|#|yield)\S", self.stages["tasks"], re.MULTILINE))

    def track_llvm(self, backend, kernel):
        return len(re.findall(r"^  \S", self.stages["llvm-opt"], re.MULTILINE))

    def track_machine(self, backend, kernel):
        return len(re.findall(r"^\t[a-z]", self.stages["asm"], re.MULTILINE))

    def track_lanes(self, backend, kernel):
        return max((int(n) for n in re.findall(r"<(\d+) x (?:float|i32)>", self.stages["llvm"])), default=1)


class ObjectSize:
    params = (COMPILED, ("nop", "args", "recurrence", "gather", "many"))
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
