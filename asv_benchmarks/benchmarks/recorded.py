"""What `adstack bench` measures, in asv's terms: beside peers in environments of their own, and on devices.

asv itself measures none of it: `adstack bench --asv FOLDER` writes asv's files, and those of records that are kept are
made by `python -m adstack.tools.bench.asv`. `FIGURES` is what such a run has measured in this process.
"""

FIGURES = {}
"""(class, parameters...) -> figure."""

BACKENDS = ("vulkan", "cuda", "cpu")
PEERS = ("quadrants", "taichi", "jax")
ROWS = (
    *("nop", "args", "nop-reverse", "args-reverse", "tape", "recurrence", "recurrence-reverse", "gather"),
    *("adstack-reverse", "args-torch"),
    *("element-read", "element-write", "first", "first-nop", "first-cached", "many16", "many64", "many256", "many1024"),
    *("first-gradient", "gradient-many-16", "gradient-many-64", "gradient-many-256"),
)
ADJOINTS = ("stencil", "bodies", "springs", "product", "newton", "table", "sums", "dense", "histogram", "particles")
PROGRAMS = (
    *("billiards", "charges", "controlled-robot", "mass-spring", "mpm", "mpm-checkpointed", "rigid-bodies", "rockets"),
    *("smoke", "sph", "wave"),
)
ALL_ROWS = (
    *ROWS,
    *(f"adjoint-{name}{end}" for name in ADJOINTS for end in ("", "-both")),
    *(f"{start}-{name}" for start in ("program", "first-program") for name in PROGRAMS),
)
DEVICE_WORKS = (
    *("dispatch nop", "dispatch args", "dispatch a graph of 100 nop"),
    *("recurrence forward", "recurrence reverse", "gather forward", "gather reverse"),
)


class _Recorded:
    """Figures of a run; where there are none, asv skips the benchmark."""

    def setup(self, *setting):
        try:
            self.figure = FIGURES[(type(self).__name__, *setting)]
        except KeyError:
            raise NotImplementedError("adstack bench --asv measures it") from None


class Rows(_Recorded):
    """Seconds of the rows of `adstack bench`: the median of its rounds."""

    params = (BACKENDS, ("adstack", *PEERS), ALL_ROWS)
    param_names = ("backend", "implementation", "row")
    unit = "seconds"

    def track_seconds(self, backend, implementation, row):
        return self.figure

    track_seconds.version = "1"


class Ratios(_Recorded):
    """adstack's time over a peer's: the median over rounds that took a sample of each."""

    params = (BACKENDS, PEERS, ALL_ROWS)
    param_names = ("backend", "peer", "row")
    unit = "times"

    def track_ratio(self, backend, peer, row):
        return self.figure

    track_ratio.version = "1"


class Devices(_Recorded):
    """Seconds of a million threads on a GPU (`adstack.tools.device.peers` and `throughput`), and of launches there."""

    params = (("vulkan", "cuda"), ("adstack", "quadrants", "jax", "warp", "by hand"), DEVICE_WORKS)
    param_names = ("backend", "implementation", "work")
    unit = "seconds"

    def track_seconds(self, backend, implementation, work):
        return self.figure

    track_seconds.version = "1"


class Adjoints(_Recorded):
    """Seconds of a GPU, of the large works of `python -m asv_benchmarks.benchmarks.adjoints`."""

    params = (("vulkan", "cuda"), ADJOINTS, ("forward", "reverse"))
    param_names = ("backend", "work", "direction")
    unit = "seconds"

    def track_seconds(self, backend, work, direction):
        return self.figure

    track_seconds.version = "1"
