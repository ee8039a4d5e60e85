"""How long the first call takes in a process of its own: nothing is on disk, or what an earlier one left there.

Times are of the wall clock. Where the machine counts instructions (`perf stat`), `Instructions` has those of a process.
"""

import os
import shutil
import subprocess
import sys
import tempfile

from . import kernels
from .common import COMPILED, HERE, gradient, opened
from .dispatch import python_calls
from .kernels import many

SIZES = {"recurrence": 1024, "many": 16}

START = """
import os, sys
os.environ["ADSTACK_CACHE_DIR"] = {cache!r}
sys.path.insert(0, {here!r})
import adstack as qd
import kernels
qd.init(arch={backend!r}, offline_cache={cached})
kernel, given = kernels.{name}(qd, {size})
"""


def program(backend, name, size, cache=""):
    """What comes before the first call, as the text of a program."""
    return START.format(cache=cache, cached=bool(cache), here=HERE, backend=backend, name=name, size=size)


FIRST = "kernel(*given); qd.sync()"


def filled(backend, name, size):
    """A folder in which a process has left what it compiled for a first call."""
    cache = tempfile.mkdtemp(prefix="asv")
    subprocess.run([sys.executable, "-c", program(backend, name, size, cache) + FIRST], check=True, env=os.environ)
    return cache


class FirstCall:
    params = (COMPILED, ("nop", "recurrence", "gather"))
    param_names = ("backend", "kernel")
    number = 1
    repeat = (3, 10, 20.0)
    warmup_time = 0

    def setup(self, backend, kernel):
        opened(backend)
        self.cache = filled(backend, kernel, 1024)

    def teardown(self, backend, kernel):
        shutil.rmtree(self.cache, ignore_errors=True)

    def timeraw_cold(self, backend, kernel):
        return FIRST, program(backend, kernel, 1024)

    def timeraw_from_disk(self, backend, kernel):
        return FIRST, program(backend, kernel, 1024, self.cache)


class Many:
    params = (COMPILED, (16, 64, 256, 1024))
    param_names = ("backend", "variables")
    number = 1
    repeat = (2, 5, 20.0)
    warmup_time = 0

    def setup(self, backend, variables):
        opened(backend)
        self.cache = filled(backend, "many", variables)

    def teardown(self, backend, variables):
        shutil.rmtree(self.cache, ignore_errors=True)

    def timeraw_cold(self, backend, variables):
        return FIRST, program(backend, "many", variables)

    def timeraw_from_disk(self, backend, variables):
        return FIRST, program(backend, "many", variables, self.cache)


class ManyGradient:
    """The first gradient, after a call: time that grows in step with the number of variables."""

    params = (COMPILED, (16, 64, 256))
    param_names = ("backend", "variables")
    number = 1
    repeat = (2, 5, 20.0)
    warmup_time = 0

    def setup(self, backend, variables):
        gradient(many(opened(backend), 1)[0])

    def timeraw_gradient(self, backend, variables):
        return "gradient(); qd.sync()", program(
            backend, "many", f"{variables}, needs_grad=True"
        ) + "kernel(); gradient = kernel.grad"


class Instructions:
    """Instructions of a whole process that makes the first call, nothing on disk: they repeat where times do not."""

    params = (COMPILED, (16, 64))
    param_names = ("backend", "variables")
    unit = "instructions"

    def setup(self, backend, variables):
        opened(backend)
        if counted("pass") is None:
            raise NotImplementedError("this machine does not count instructions")

    def track_first_call(self, backend, variables):
        return counted(program(backend, "many", variables) + FIRST)


def counted(text):
    """Instructions in user mode of a process that runs the program; None where nothing counts them."""
    if shutil.which("perf") is None:
        return None
    perf = ["perf", "stat", "-x", ",", "-e", "instructions:u", sys.executable, "-c", text]
    done = subprocess.run(perf, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, check=False)
    counts = [line.split(",")[0] for line in done.stderr.splitlines() if "instructions" in line]
    return int(counts[0]) if done.returncode == 0 and counts and counts[0].isdigit() else None


class PythonCalls:
    """Python functions of adstack that a first call and a first gradient run, nothing on disk: they repeat anywhere."""

    params = (COMPILED, tuple(SIZES))
    param_names = ("backend", "kernel")
    unit = "functions"

    def setup(self, backend, kernel):
        qd = opened(backend, offline_cache=False)
        both(*many(qd, 2, needs_grad=True))  # what is done once in a process has been done
        self.kernel, self.given = getattr(kernels, kernel)(qd, SIZES[kernel], needs_grad=True)

    def track_first_call_and_gradient(self, backend, kernel):
        return python_calls(lambda: both(self.kernel, self.given))


def both(kernel, given):
    """A call and its gradient."""
    kernel(*given)
    gradient(kernel)(*given)


class Import:
    number = 1
    repeat = (3, 10, 20.0)
    warmup_time = 0

    def timeraw_adstack(self):
        return "import adstack", "import numpy"
