"""Launches that overlap: what the driver is told is what cuLaunchKernel would have been told, and that they may."""

from __future__ import annotations

import ctypes
from types import SimpleNamespace

import pytest

from adstack.backends.cuda.overlap import can_overlap, overlapping

POINTER, NUMBER = ctypes.c_void_p, ctypes.c_uint


class Attribute(ctypes.Structure):
    """CUlaunchAttribute: an identifier, and 64 bytes of a value."""

    _fields_ = (("id", ctypes.c_int), ("pad", ctypes.c_int), ("value", ctypes.c_int * 16))


class Config(ctypes.Structure):
    """CUlaunchConfig."""

    _fields_ = (
        ("grid", NUMBER * 3),
        ("block", NUMBER * 3),
        ("shared", NUMBER),
        ("stream", POINTER),
        ("attributes", ctypes.POINTER(Attribute)),
        ("count", NUMBER),
    )


@pytest.mark.parametrize("code", [0, 700])
def test_the_driver_is_told_the_same_and_that_launches_may_overlap(code):
    told = []

    def launch(config, function, params, extra):
        attributes = [(config[0].attributes[k].id, config[0].attributes[k].value[0]) for k in range(config[0].count)]
        about = [*config[0].grid], [*config[0].block], config[0].shared, config[0].stream
        told.append((*about, attributes, function, params, extra))
        return code

    called = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(Config), POINTER, POINTER, POINTER)(launch)
    address = overlapping(SimpleNamespace(cuLaunchKernelEx=called))
    function = ctypes.CFUNCTYPE(ctypes.c_int, POINTER, *[NUMBER] * 7, POINTER, POINTER, POINTER)(address)
    assert function(11, 2, 3, 4, 5, 6, 7, 8, 12, 13, 14) == code
    assert told == [([2, 3, 4], [5, 6, 7], 8, 12, [(6, 1)], 11, 13, 14)]


def test_devices_before_hopper_can_not():
    assert [can_overlap(version) for version in ((8, 9), (9, 0), (10, 0))] == [False, True, True]
