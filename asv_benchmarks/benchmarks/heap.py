"""What reverse mode keeps, and the memory that takes: exact numbers of a launch, from its report.

Ragged nests are the ones that overshoot elsewhere: the bytes that memory is taken for are held against those that the
deepest thread really pushes.
"""

from .common import BACKENDS, gradient, opened
from .kernels import REVERSIBLE

SIZES = {"recurrence": 4096, "ragged": 4096, "many": 64}


class Adstacks:
    params = (BACKENDS, ("recurrence", "ragged", "many"))
    param_names = ("backend", "kernel")
    timeout = 300

    def setup(self, backend, kernel):
        made, given = REVERSIBLE[kernel](opened(backend, offline_cache=False), SIZES[kernel], needs_grad=True)
        made(*given)
        self.reverse, self.given = gradient(made), given
        self.reverse(*given)
        self.report = self.reverse.adstack_report(*given)
        (self.task,) = self.report.tasks

    def track_stacks(self, backend, kernel):
        return len(self.report)

    def track_slot_bytes(self, backend, kernel):
        """Of one slot of every stack: 4 for each f32, and nothing beside."""
        return sum(row.slot_bytes for row in self.report)

    def track_stride(self, backend, kernel):
        """Bytes of one thread."""
        return self.task.stride

    def track_stride_over_pushed(self, backend, kernel):
        """Bytes of one thread over what the deepest thread pushes: 1 if nothing is taken for nothing."""
        used = self.reverse.adstack_report(*self.given, use=True)
        return self.task.stride / sum(row.used * row.slot_bytes for row in used)

    def track_slack(self, backend, kernel):
        """Allocated over needed, of all threads that run at the same time."""
        return self.task.slack

    track_stride.unit = "bytes"
    track_slot_bytes.unit = "bytes"
