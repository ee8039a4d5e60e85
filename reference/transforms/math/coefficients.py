"""Polynomial coefficients, lowest power first. Written by tools/accuracy/coefficients.py: do not edit."""

from __future__ import annotations

from collections.abc import Mapping


def _hex(*texts: str) -> tuple[float, ...]:
    return tuple(map(float.fromhex, texts))


HALF_PI: Mapping[str, tuple[float, ...]] = {
    "f32": _hex("0x1.921fb40000000p+0", "0x1.4442d20000000p-24", "-0x1.ee59da0000000p-50"),
    "f64": _hex("0x1.921fb54442d18p+0", "0x1.1a62633145c07p-54", "-0x1.f1976b7ed8fbcp-110"),
}

LN2: Mapping[str, tuple[float, ...]] = {
    "f32": _hex("0x1.62e4000000000p-1", "0x1.7f7d1c0000000p-20"),
    "f64": _hex("0x1.62e42fefa3000p-1", "0x1.3de6af278ece6p-42"),
}

LOG10_2: Mapping[str, tuple[float, ...]] = {
    "f32": _hex("0x1.3440000000000p-2", "0x1.3509f80000000p-18"),
    "f64": _hex("0x1.34413509f7000p-2", "0x1.3fde623e2566bp-43"),
}

LN2_FULL: Mapping[str, tuple[float, ...]] = {
    "f32": _hex("0x1.62e42e0000000p-1", "0x1.efa39e0000000p-25"),
    "f64": _hex("0x1.62e42fefa39efp-1", "0x1.abc9e3b39803fp-56"),
}

LOG2_E: Mapping[str, tuple[float, ...]] = {
    "f32": _hex("0x1.7154760000000p+0", "0x1.4ae0c00000000p-26"),
    "f64": _hex("0x1.71547652b82fep+0", "0x1.777d0ffda0d24p-56"),
}

LOG10_E: Mapping[str, tuple[float, ...]] = {
    "f32": _hex("0x1.bcb7b00000000p-2", "0x1.526e500000000p-26"),
    "f64": _hex("0x1.bcb7b1526e50ep-2", "0x1.95355baaafad3p-57"),
}

TWO_OVER_PI: Mapping[str, tuple[float, ...]] = {
    "f32": _hex("0x1.45f3060000000p-1"),
    "f64": _hex("0x1.45f306dc9c882p-1"),
}

THIRD: Mapping[str, tuple[float, ...]] = {
    "f32": _hex("0x1.5555540000000p-2", "0x1.5555560000000p-26"),
    "f64": _hex("0x1.5555555555555p-2", "0x1.5555555555555p-56"),
}

# 2/pi after the binary point, in 64-bit words
TWO_OVER_PI_BITS = (
    0xA2F9836E4E441529,
    0xFC2757D1F534DDC0,
    0xDB6295993C439041,
    0xFE5163ABDEBBC561,
    0xB7246E3A424DD2E0,
    0x06492EEA09D1921C,
    0xFE1DEB1CB129A73E,
    0xE88235F52EBB4484,
    0xE99C7026B45F7E41,
    0x3991D639835339F4,
    0x9C845F8BBDF9283B,
    0x1FF897FFDE05980F,
    0xEF2F118B5A0A6D1F,
    0x6D367ECF27CB09B7,
    0x4F463F669E5FEA2D,
    0x7527BAC7EBE5F17B,
    0x3D0739F78A5292EA,
    0x6BFB5FB11F8D5D08,
    0x56033046FC7B6BAB,
    0xF0CFBC209AF4361D,
)

# (1 - sin r / r) / r^2 in r^2, |r| <= pi/4
SIN: Mapping[str, tuple[float, ...]] = {
    "f32": _hex(  # 2^-28.0
        "0x1.5555460000000p-3",
        "-0x1.11077c0000000p-7",
        "0x1.9955b00000000p-13",
    ),
    "f64": _hex(  # 2^-63.2
        "0x1.5555555555555p-3",
        "-0x1.1111111111067p-7",
        "0x1.a01a019ffdb9dp-13",
        "-0x1.71de3a32a840cp-19",
        "0x1.ae642ad3ab257p-26",
        "-0x1.6108b19d304d5p-33",
        "0x1.9f6f9679c43c3p-41",
    ),
}

# the same with a term more
SIN_FINE: Mapping[str, tuple[float, ...]] = {
    "f32": _hex(  # 2^-32.6
        "0x1.5555560000000p-3",
        "-0x1.1111760000000p-7",
        "0x1.a05bba0000000p-13",
        "-0x1.7cd8360000000p-19",
    ),
    "f64": _hex(  # 2^-63.6
        "0x1.5555555555555p-3",
        "-0x1.1111111111034p-7",
        "0x1.a01a019fe9a0ep-13",
        "-0x1.71de3a052628ap-19",
        "0x1.ae63c80e2067ep-26",
        "-0x1.60997efaa8bfap-33",
        "0x1.2226ac9ab4415p-41",
        "0x1.bedf9dbe3773dp-44",
    ),
}

# (cos r - 1 + r^2 / 2) / r^4 in r^2, |r| <= pi/4
COS: Mapping[str, tuple[float, ...]] = {
    "f32": _hex(  # 2^-33.1
        "0x1.55554a0000000p-5",
        "-0x1.6c0c1a0000000p-10",
        "0x1.99e0f20000000p-16",
    ),
    "f64": _hex(  # 2^-69.1
        "0x1.5555555555555p-5",
        "-0x1.6c16c16c16b2ap-10",
        "0x1.a01a019ffb553p-16",
        "-0x1.27e4fb58386b0p-22",
        "0x1.1eed6d06046adp-29",
        "-0x1.93713e6ab7e3fp-37",
        "0x1.9c34835c73dcap-45",
    ),
}

# (e^r - 1 - r) / r^2, |r| <= ln 2 / 2
EXP: Mapping[str, tuple[float, ...]] = {
    "f32": _hex(  # 2^-28.2
        "0x1.0000000000000p-1",
        "0x1.5554900000000p-3",
        "0x1.5554ce0000000p-5",
        "0x1.123aac0000000p-7",
        "0x1.6d6aee0000000p-10",
    ),
    "f64": _hex(  # 2^-63.8
        "0x1.0000000000000p-1",
        "0x1.555555555555cp-3",
        "0x1.5555555555554p-5",
        "0x1.111111110e988p-7",
        "0x1.6c16c16c1731bp-10",
        "0x1.a01a01b488dafp-13",
        "0x1.a01a01a119b31p-16",
        "0x1.71ddeda54634ep-19",
        "0x1.27e4e8901e41fp-22",
        "0x1.af700c7a3c4ffp-26",
        "0x1.1f5da74f453fcp-29",
    ),
}

# the same, good relative to r
EXPM1: Mapping[str, tuple[float, ...]] = {
    "f32": _hex(  # 2^-31.1
        "0x1.0000000000000p-1",
        "0x1.5555560000000p-3",
        "0x1.5554f60000000p-5",
        "0x1.1110020000000p-7",
        "0x1.6d3c8a0000000p-10",
        "0x1.a2470a0000000p-13",
    ),
    "f64": _hex(  # 2^-65.0
        "0x1.0000000000000p-1",
        "0x1.5555555555555p-3",
        "0x1.5555555555556p-5",
        "0x1.1111111111371p-7",
        "0x1.6c16c16c16225p-10",
        "0x1.a01a019ebae7bp-13",
        "0x1.a01a01a6ab419p-16",
        "0x1.71de3fe059ea4p-19",
        "0x1.27e4dcb528fdep-22",
        "0x1.ae4fec105b262p-26",
        "0x1.1f6f84f3eded4p-29",
        "0x1.7d6b87694e051p-33",
    ),
}

# (2^r - 1) / r, |r| <= 1/2
EXP2: Mapping[str, tuple[float, ...]] = {
    "f32": _hex(  # 2^-28.3
        "0x1.62e4300000000p-1",
        "0x1.ebfbe00000000p-3",
        "0x1.c6af780000000p-5",
        "0x1.3b2a360000000p-7",
        "0x1.5f0a7e0000000p-10",
        "0x1.4438bc0000000p-13",
    ),
    "f64": _hex(  # 2^-59.9
        "0x1.62e42fefa39efp-1",
        "0x1.ebfbdff82c58fp-3",
        "0x1.c6b08d704a236p-5",
        "0x1.3b2ab6fba4d40p-7",
        "0x1.5d87fe78493abp-10",
        "0x1.430912f8c5241p-13",
        "0x1.ffcbfed52ea52p-17",
        "0x1.62c020da4b04cp-20",
        "0x1.b51cfa696c8dfp-24",
        "0x1.e4d4382145618p-28",
        "0x1.01935cc9b99e4p-31",
        "0x1.bd9ba6539290ap-36",
        "-0x1.edbb600d38cbdp-36",
    ),
}

# (sinh x / x - 1) / x^2 in x^2, |x| <= 1
SINH: Mapping[str, tuple[float, ...]] = {
    "f32": _hex(  # 2^-31.5
        "0x1.5555560000000p-3",
        "0x1.1110e20000000p-7",
        "0x1.a021560000000p-13",
        "0x1.75a6f20000000p-19",
    ),
    "f64": _hex(  # 2^-62.9
        "0x1.5555555555555p-3",
        "0x1.1111111111199p-7",
        "0x1.a01a01a007b20p-13",
        "0x1.71de3a68234c5p-19",
        "0x1.ae644209d889ep-26",
        "0x1.6130ac5e512acp-33",
        "0x1.a6d5b42c45259p-41",
        "0x1.c310687df7034p-48",
    ),
}

# (log(1 + f) - f + f^2 / 2) / f^3, sqrt(1/2) <= 1 + f <= sqrt(2)
LOG: Mapping[str, tuple[float, ...]] = {
    "f32": _hex(  # 2^-30.3
        "0x1.5555480000000p-2",
        "-0x1.0000060000000p-2",
        "0x1.99a4780000000p-3",
        "-0x1.555c520000000p-3",
        "0x1.233b7a0000000p-3",
        "-0x1.fc25d40000000p-4",
        "0x1.e6bf4e0000000p-4",
        "-0x1.de162a0000000p-4",
        "0x1.148f5c0000000p-4",
    ),
    "f64": _hex(  # 2^-58.9
        "0x1.555555555556bp-2",
        "-0x1.ffffffffffe7dp-3",
        "0x1.9999999994d54p-3",
        "-0x1.555555556b064p-3",
        "0x1.249249275fa3dp-3",
        "-0x1.fffffff3b500dp-4",
        "0x1.c71c702d62b2ep-4",
        "-0x1.99999a9e6233ep-4",
        "0x1.745d58e16aaefp-4",
        "-0x1.555576e9f76f3p-4",
        "0x1.3b0d77ebd3f88p-4",
        "-0x1.248949e1fb761p-4",
        "0x1.116a0814ff60cp-4",
        "-0x1.00cfaef6c37efp-4",
        "0x1.dc9747e75b262p-5",
        "-0x1.b45e790a643acp-5",
        "0x1.bbaff2c8287bep-5",
        "-0x1.0107140ab6920p-4",
        "0x1.d2a5cb2420eccp-5",
        "-0x1.8da8a9aeca4cfp-6",
    ),
}

# (atan r / r - 1) / r^2 in r^2, |r| <= 1/2
ATAN: Mapping[str, tuple[float, ...]] = {
    "f32": _hex(  # 2^-27.5
        "-0x1.5555140000000p-2",
        "0x1.997ba60000000p-3",
        "-0x1.2251aa0000000p-3",
        "0x1.a04cc00000000p-4",
        "-0x1.a4f7240000000p-5",
    ),
    "f64": _hex(  # 2^-57.6
        "-0x1.5555555555518p-2",
        "0x1.99999999914d8p-3",
        "-0x1.249249216fd77p-3",
        "0x1.c71c709686485p-4",
        "-0x1.745cf54dfb306p-4",
        "0x1.3b11453d7f78ep-4",
        "-0x1.10f36701254d3p-4",
        "0x1.dfed0e2cfa5e2p-5",
        "-0x1.a3a77eee1ac98p-5",
        "0x1.571dfdd94cdf1p-5",
        "-0x1.c1fab96469cc5p-6",
        "0x1.4c282a30cdb33p-7",
    ),
}

# (asin r / r - 1) / r^2 in r^2, |r| <= 1/2
ASIN: Mapping[str, tuple[float, ...]] = {
    "f32": _hex(  # 2^-27.6
        "0x1.5555ca0000000p-3",
        "0x1.33016a0000000p-4",
        "0x1.748a280000000p-5",
        "0x1.8bb5780000000p-6",
        "0x1.59cc1a0000000p-5",
    ),
    "f64": _hex(  # 2^-53.3
        "0x1.5555555555578p-3",
        "0x1.333333332df20p-4",
        "0x1.6db6db7229bf9p-5",
        "0x1.f1c71a8ca985cp-6",
        "0x1.6e8bdfc9b4e5bp-6",
        "0x1.1c49df1a3e7bfp-6",
        "0x1.ca214da2853a8p-7",
        "0x1.7572f38392ce5p-7",
        "0x1.61e7d3c8e3d06p-7",
        "0x1.d3d7d0b7d0268p-9",
        "0x1.6d21d07555b04p-6",
        "-0x1.6da82d364f7e2p-6",
        "0x1.156e5b04104bfp-5",
    ),
}

# (artanh s / s - 1 - s^2 / 3) / s^4 in s^2, |s| <= (sqrt(2) - 1) / (sqrt(2) + 1)
ARTANH: Mapping[str, tuple[float, ...]] = {
    "f32": _hex(  # 2^-43.7
        "0x1.9999980000000p-3",
        "0x1.2493b60000000p-3",
        "0x1.c63daa0000000p-4",
        "0x1.9083900000000p-4",
    ),
    "f64": _hex(  # 2^-77.9
        "0x1.999999999999ap-3",
        "0x1.24924924922e4p-3",
        "0x1.c71c71c775187p-4",
        "0x1.745d16f7ed892p-4",
        "0x1.3b13da7f857dep-4",
        "0x1.1103148164053p-4",
        "0x1.e818179855ee0p-5",
        "0x1.91704d46be3f4p-6",
        "0x1.6855d46d2212bp-1",
        "-0x1.163a35cc91f91p+3",
        "0x1.95b674249c693p+5",
    ),
}
