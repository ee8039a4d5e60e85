"""`init`, `reset`, `sync` and the options."""

from __future__ import annotations

import pytest

import adstack as qd
from adstack.kernels.options import current_options
from adstack.runtime import state
from adstack.runtime.protocol import registry
from adstack.runtime.protocol.backend import Capabilities, Unavailable
from adstack.runtime.protocol.options import INSTEAD, REFUSED, WITHOUT_EFFECT, Options, parse
from adstack.values.scalars import scalar_type


def test_init_sets_what_it_is_told() -> None:
    qd.init(arch=qd.reference, default_fp=qd.f64, default_ip=qd.i64, debug=True, random_seed=7)
    options = current_options()
    assert (options.default_fp, options.default_ip, options.debug, options.random_seed) == (qd.f64, qd.i64, True, 7)


def test_options_do_not_survive_the_next_init() -> None:
    qd.init(arch=qd.reference, debug=True)
    qd.init(arch=qd.reference)
    assert not current_options().debug


def test_fast_math_is_off_unless_asked_for() -> None:
    assert not Options().fast_math


def test_an_unknown_option_suggests_the_nearest() -> None:
    with pytest.raises(qd.AdstackArgumentError, match="did you mean 'ad_stack_size'"):
        qd.init(ad_stak_size=3)


def test_an_option_like_no_other_lists_those_that_exist() -> None:
    with pytest.raises(ValueError, match="known options: default_fp"):
        parse({"zzzzzzzz": 1})


@pytest.mark.parametrize("name", WITHOUT_EFFECT)
def test_options_of_existing_programs_are_accepted(name: str) -> None:
    assert parse({name: 1}) == Options()


@pytest.mark.parametrize(
    ("asked", "announce"),
    [({"verbose": False}, False), ({"verbose": True}, True), ({"verbose": True, "announce": False}, False), ({}, True)],
)
def test_verbose_is_another_name_for_announce(asked: dict[str, object], announce: bool) -> None:
    assert parse(asked) == Options(announce=announce)


def test_verbose_takes_what_announce_takes() -> None:
    with pytest.raises(qd.AdstackRuntimeTypeError, match="option verbose takes a bool, got 'loud'"):
        parse({"verbose": "loud"})


@pytest.mark.parametrize("name", INSTEAD)
def test_options_that_change_no_result_warn_unless_switched_off(name: str) -> None:
    """Rules: errors.options"""
    for off in (False, 0, "", None):
        assert parse({name: off}) == Options()
    with pytest.warns(UserWarning, match=f"{name}='a'\n  do: "):
        assert parse({name: "a"}) == Options()


def test_a_program_of_another_library_starts() -> None:
    with pytest.warns(UserWarning, match="init") as caught:
        qd.init(
            qd.reference,
            kernel_profiler=True,
            device_memory_fraction=0.5,
            offline_cache_file_path="cache",
            require_version="1.3.3",
            _test_mode=True,
            print_non_pure=True,
            src_ll_cache=False,
        )
    assert [str(w.message).split("=")[0].split()[-1] for w in caught] == [
        "device_memory_fraction",
        "kernel_profiler",
        "offline_cache_file_path",
    ]
    assert {w.filename for w in caught} == {__file__}, "the warning is shown where init is called"
    assert current_options() == Options()


@pytest.mark.parametrize("name", REFUSED)
def test_options_that_would_change_results_are_refused_unless_switched_off(name: str) -> None:
    for off in (False, 0, "", None):
        assert parse({name: off}) == Options()
    with pytest.raises(ValueError, match=f"{name}='a'") as caught:
        parse({name: "a"})
    assert "do: " in str(caught.value)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"default_fp": "f32"}, "use one of f16, f32, f64"),
        ({"default_fp": qd.i32}, "use one of f16, f32, f64"),
        ({"default_ip": qd.f32}, "use one of i8"),
        ({"ad_stack_storage": "moon"}, "auto, heap, stack"),
    ],
)
def test_an_option_with_choices_names_them(options: dict[str, object], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        parse(options)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"debug": "yes"}, "debug takes a bool, got 'yes'"),
        ({"random_seed": 1.5}, "random_seed takes an int >= 0, got 1.5"),
        ({"ad_stack_size": -1}, "ad_stack_size takes an int >= 0"),
        ({"device_memory_GB": -1.0}, "device_memory_GB takes a float >= 0"),
        ({"device_memory_GB": float("inf")}, "device_memory_GB takes a float up to 4294967296, got inf"),
        ({"cpu_max_num_threads": 10**6}, "cpu_max_num_threads takes an int up to 8192"),
        ({"device_memory_GB": float("nan")}, "device_memory_GB takes a float"),
        ({"ad_stack_size": 2**63}, "ad_stack_size takes an int up to 9223372036854775807"),
    ],
)
def test_an_option_of_the_wrong_kind_is_refused(options: dict[str, object], words: str) -> None:
    with pytest.raises(TypeError, match=words):
        parse(options)


def test_numbers_of_a_fitting_kind_are_converted() -> None:
    options = parse({"debug": 1, "device_memory_GB": 2, "ad_stack_storage": "heap"})
    assert (options.debug, options.device_memory_GB, options.ad_stack_storage) == (True, 2.0, "heap")


def test_python_types_mean_the_defaults() -> None:
    qd.init(arch=qd.reference, default_fp=qd.f16, default_ip=qd.u8)
    assert [scalar_type(t) for t in (float, int, bool, qd.f64, None)] == [qd.f16, qd.u8, qd.u1, qd.f64, None]


def test_without_init_the_default_arch_is_used() -> None:
    qd.reset()
    assert state.active() is None
    qd.field(qd.f32, (2,))
    running = state.active()
    assert running is not None
    assert running.arch == registry.default_arch()


def test_an_environment_variable_chooses_the_arch(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ADSTACK_ARCH", "nonsense")
    with pytest.raises(ValueError, match="there is no arch 'nonsense'"):
        qd.init()
    qd.init(arch=qd.reference)


def test_sync_and_reset_do_nothing_where_nothing_runs() -> None:
    qd.reset()
    qd.sync()
    qd.reset()
    qd.init(arch=qd.reference)
    qd.sync()


def test_every_arch_is_either_available_or_says_why_not() -> None:
    for name, answer in registry.probe_all().items():
        assert answer.name == name
        if isinstance(answer, Unavailable):
            assert answer.reason
            assert answer.fix
        else:
            assert isinstance(answer, Capabilities)


def test_aliases_mean_an_arch() -> None:
    assert [registry.canonical(a) for a in ("x64", "arm64", "CUDA", "gpu")] == ["cpu", "cpu", "cuda", "gpu"]


@pytest.fixture
def nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """No backend but the reference."""

    def probe(arch: str, device: str = "") -> Capabilities | Unavailable:
        if arch == "reference":
            return Capabilities("reference", "native", "numpy")
        return Unavailable(arch, f"no {arch} here", f"buy a {arch}")

    monkeypatch.setattr(registry, "probe", probe)


@pytest.mark.usefixtures("nothing")
def test_an_arch_that_is_not_available_says_why_and_what_to_do() -> None:
    with pytest.raises(qd.BackendUnavailableError, match="arch cuda is not available: no cuda here\n  do: buy a cuda"):
        qd.init(arch=qd.cuda)


@pytest.mark.usefixtures("nothing")
def test_no_gpu_says_why_for_each() -> None:
    with pytest.raises(RuntimeError, match=r"no gpu is available .*cuda: no cuda here; amdgpu: .*vulkan"):
        qd.init(arch=qd.gpu)


@pytest.mark.usefixtures("nothing")
def test_of_several_arches_the_first_that_is_available_is_taken() -> None:
    qd.init(arch=[qd.cuda, qd.gpu, qd.reference, "cpu"])
    assert state.current().arch == "reference"


@pytest.mark.usefixtures("nothing")
def test_of_several_arches_that_are_not_available_all_reasons_are_given() -> None:
    with pytest.raises(qd.BackendUnavailableError, match=r"none of cuda, vulkan is available \(cuda: .*; vulkan: "):
        qd.init(arch=(qd.cuda, qd.vulkan))
    with pytest.warns(UserWarning, match=r"arch cuda or vulkan is not available .*; using reference"):
        qd.init(arch=[qd.cuda, qd.vulkan], enable_fallback=True)


@pytest.mark.parametrize(("arches", "words"), [([], "empty list"), (["cpu", "nonsense"], "no arch 'nonsense'")])
def test_a_list_of_arches_names_some_that_exist(arches: list[str], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        qd.init(arch=arches)


@pytest.mark.usefixtures("nothing")
def test_a_fallback_warns_and_runs_elsewhere() -> None:
    with pytest.warns(UserWarning, match=r"arch cuda is not available \(no cuda here\); using reference"):
        qd.init(arch=qd.cuda, enable_fallback=True)
    assert state.current().arch == "reference"


def test_a_backend_that_is_not_part_of_this_version_is_unavailable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "ARCHES", ("imagined",))
    (answer,) = registry.probe_all().values()
    assert isinstance(answer, Unavailable)
    assert answer.reason == "this version of adstack has no imagined backend"


def test_a_backend_that_lacks_a_module_names_it(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> None:
        raise ModuleNotFoundError("No module named 'driver'", name="driver")

    monkeypatch.setattr(registry.importlib, "import_module", missing)
    answer = registry.probe("cuda")
    assert answer == Unavailable("cuda", "its backend needs the Python module driver", "install driver")


def test_the_first_gpu_that_is_available_is_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    reference = registry.open_arch("reference")

    class Room:
        @staticmethod
        def probe(device: str) -> Capabilities:
            return Capabilities("vulkan", "software", "a driver on the cpu")

        @staticmethod
        def open_device(device: str) -> object:
            return reference

    missing = Unavailable("", "none", "none")
    monkeypatch.setattr(registry, "_room", lambda arch: Room if arch == "vulkan" else missing)
    assert registry.open_arch("gpu") is reference


def test_a_gpu_is_preferred_to_a_driver_that_runs_on_the_cpu(monkeypatch: pytest.MonkeyPatch) -> None:
    kinds = {"amdgpu": "software", "vulkan": "native"}
    missing = Unavailable("", "none", "none")
    monkeypatch.setattr(
        registry, "probe", lambda arch, device: Capabilities(arch, kinds[arch], "") if arch in kinds else missing
    )
    opened: list[str] = []
    monkeypatch.setattr(registry, "_open", lambda arch, device: opened.append(arch))
    registry.open_arch("gpu")
    registry.open_arch("amdgpu", "gpu")
    assert opened == ["vulkan", "amdgpu"]


def test_the_device_and_the_reason_are_said_once(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("adstack.kernels.options._ANNOUNCED", set())
    monkeypatch.setenv("ADSTACK_ANNOUNCE", "1")
    monkeypatch.setenv("ADSTACK_ARCH", "reference")
    for options in ({}, {}, {"arch": qd.reference}, {"arch": [qd.metal, qd.reference]}, {"arch": qd.x64}):
        qd.init(**options, announce=options != {"arch": qd.x64})
    lines = capsys.readouterr().err.splitlines()
    assert [line.split(" (")[0].split(" on ")[0] for line in lines] == [f"adstack {qd.__version__}: arch=reference"] * 3
    reasons = ["as ADSTACK_ARCH=reference asks for", "as asked for", "the best available of metal, reference"]
    assert [line.rpartition(" (")[2].rstrip(")") for line in lines] == reasons


def test_existing_programs_ask_for_checks_by_another_name() -> None:
    assert parse({"check_out_of_bound": True}).debug
    assert not parse({"check_out_of_bound": False}).debug
    with pytest.raises(TypeError, match="check_out_of_bound takes a bool"):
        parse({"check_out_of_bound": "yes"})


def test_floats_as_templates_are_refused_if_asked_for() -> None:
    qd.init(arch=qd.reference, raise_on_templated_floats=True)

    @qd.kernel
    def scaled(a: qd.template()) -> qd.f32:
        return 2 * a

    assert scaled(3) == 6
    with pytest.raises(TypeError, match="argument a is a template, and a float is passed"):
        scaled(1.5)
    qd.init(arch=qd.reference)
    assert scaled(1.5) == 3


def test_errors_show_the_way_through_adstack_if_asked_for() -> None:
    def depth(**options: bool) -> int:
        qd.init(arch=qd.reference, **options)

        @qd.kernel
        def wrong():
            nobody_knows  # noqa: B018, F821

        with pytest.raises(qd.AdstackNameError) as caught:
            wrong()
        return len(caught.traceback)

    assert depth(print_full_traceback=True) > depth() + 5


@pytest.mark.parametrize("arch", ["reference", "cpu"])
def test_an_arch_with_one_device_has_number_0_and_no_other(arch: str) -> None:
    qd.init(arch=arch, device=0)
    with pytest.raises(qd.BackendUnavailableError, match="it has one device, and device='1' was asked for"):
        qd.init(arch=arch, device=1)


@pytest.mark.parametrize("device", [-1, 1.0, True, None])
def test_a_device_is_a_number_or_a_name(device: object) -> None:
    with pytest.raises(qd.AdstackRuntimeTypeError, match="option device takes an int >= 0 or a name"):
        qd.init(arch=qd.reference, device=device)


def test_a_device_is_handed_to_the_backend_that_has_several(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ADSTACK_CUDA_DEVICE", raising=False)
    qd.init(arch=qd.cuda, device="host")
    assert qd.current_arch() == "cuda"
