"""Names that other libraries have: what is raised says what to use."""

from adstack.conformance.case import Raises, Run, case

USES = {
    "Texture": lambda qd: qd.Texture(qd.Format.r32f, (3, 3)),
    "GUI": lambda qd: qd.GUI("window"),
    "quant_array": lambda qd: qd.root.quant_array(qd.i, 4),
    "rw_texture": lambda qd: qd.types.rw_texture,
    "atomic_ad": lambda qd: qd.atomic_ad,
}
WORDS = {
    "Texture": "use a field of vectors",
    "GUI": "matplotlib",
    "quant_array": "no types of fewer bits",
    "rw_texture": "pass a field of vectors",
    "atomic_ad": "did you mean atomic_",
}


@case(rules=["errors.absent"], params={"name": list(USES)})
def a_name_that_is_not_there_says_what_to_use(qd, name):
    return Run(lambda: USES[name](qd), raises=Raises("AttributeError", WORDS[name]))


@case(rules=["errors.absent"])
def a_name_that_is_not_there_in_a_kernel(qd):
    @qd.kernel
    def k():
        for _ in range(32):
            qd.warp.ballot(1)

    return Run(k, raises=Raises("NameError", "no 'warp'"))
