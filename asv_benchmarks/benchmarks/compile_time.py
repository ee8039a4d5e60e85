"""How long the first call takes in a process of its own: nothing is on disk, or what an earlier one left there."""

import os
import subprocess
import sys
import tempfile

from .common import COMPILED, HERE, gradient, opened
from .kernels import many

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


class FirstCall:
    params = (COMPILED, ("nop", "recurrence", "gather"))
    param_names = ("backend", "kernel")
    number = 1
    repeat = (3, 10, 20.0)
    warmup_time = 0

    def setup(self, backend, kernel):
        opened(backend)
        self.cache = tempfile.mkdtemp(prefix="asv")
        text = program(backend, kernel, 1024, self.cache) + FIRST
        subprocess.run([sys.executable, "-c", text], check=True, env=os.environ)

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

    def timeraw_cold(self, backend, variables):
        return FIRST, program(backend, "many", variables)


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


class Import:
    number = 1
    repeat = (3, 10, 20.0)
    warmup_time = 0

    def timeraw_adstack(self):
        return "import adstack", "import numpy"
