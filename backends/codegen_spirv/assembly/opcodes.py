"""The numbers of SPIR-V that are used here: instructions, capabilities, decorations and the like."""

from __future__ import annotations

from enum import IntEnum
from typing import Final

__all__ = ["BUILTIN", "MAGIC", "STD", "VERSION", "Capability", "Decoration", "Mode", "Op", "Storage"]

MAGIC: Final = 0x07230203
VERSION: Final = 0x00010500
"""1.5: what every Vulkan 1.2 driver reads."""


class Op(IntEnum):
    """Instructions."""

    Name = 5
    Extension = 10
    ExtInstImport = 11
    ExtInst = 12
    MemoryModel = 14
    EntryPoint = 15
    ExecutionMode = 16
    Capability = 17
    TypeVoid = 19
    TypeBool = 20
    TypeInt = 21
    TypeFloat = 22
    TypeVector = 23
    TypeArray = 28
    TypeRuntimeArray = 29
    TypeStruct = 30
    TypePointer = 32
    TypeFunction = 33
    ConstantTrue = 41
    ConstantFalse = 42
    Constant = 43
    ConstantNull = 46
    Function = 54
    FunctionParameter = 55
    FunctionEnd = 56
    FunctionCall = 57
    Variable = 59
    Load = 61
    Store = 62
    AccessChain = 65
    Decorate = 71
    MemberDecorate = 72
    CompositeConstruct = 80
    CompositeExtract = 81
    ConvertFToU = 109
    ConvertFToS = 110
    ConvertSToF = 111
    ConvertUToF = 112
    UConvert = 113
    SConvert = 114
    FConvert = 115
    ConvertUToPtr = 120
    Bitcast = 124
    SNegate = 126
    IAdd = 128
    FAdd = 129
    ISub = 130
    FSub = 131
    IMul = 132
    FMul = 133
    UDiv = 134
    SDiv = 135
    FDiv = 136
    UMod = 137
    SRem = 138
    LogicalOr = 166
    LogicalAnd = 167
    LogicalNot = 168
    LogicalEqual = 164
    LogicalNotEqual = 165
    Select = 169
    IEqual = 170
    INotEqual = 171
    UGreaterThan = 172
    SGreaterThan = 173
    UGreaterThanEqual = 174
    SGreaterThanEqual = 175
    ULessThan = 176
    SLessThan = 177
    ULessThanEqual = 178
    SLessThanEqual = 179
    FOrdEqual = 180
    FOrdNotEqual = 182
    FUnordNotEqual = 183
    FOrdLessThan = 184
    FOrdGreaterThan = 186
    FOrdLessThanEqual = 188
    FOrdGreaterThanEqual = 190
    ShiftRightLogical = 194
    ShiftRightArithmetic = 195
    ShiftLeftLogical = 196
    BitwiseOr = 197
    BitwiseXor = 198
    BitwiseAnd = 199
    Not = 200
    BitCount = 205
    AtomicExchange = 229
    AtomicCompareExchange = 230
    AtomicIAdd = 234
    AtomicISub = 235
    AtomicSMin = 236
    AtomicUMin = 237
    AtomicSMax = 238
    AtomicUMax = 239
    AtomicAnd = 240
    AtomicOr = 241
    AtomicXor = 242
    ControlBarrier = 224
    Phi = 245
    LoopMerge = 246
    SelectionMerge = 247
    Label = 248
    Branch = 249
    BranchConditional = 250
    Return = 253
    ReturnValue = 254
    GroupNonUniformElect = 333
    GroupNonUniformAll = 334
    GroupNonUniformAny = 335
    GroupNonUniformAllEqual = 336
    GroupNonUniformBroadcastFirst = 338
    GroupNonUniformIAdd = 349
    GroupNonUniformFAdd = 350
    GroupNonUniformSMin = 353
    GroupNonUniformUMin = 354
    GroupNonUniformSMax = 356
    GroupNonUniformUMax = 357
    GroupNonUniformBitwiseAnd = 359
    GroupNonUniformBitwiseOr = 360
    GroupNonUniformBitwiseXor = 361
    AtomicFAddEXT = 6035


class Capability(IntEnum):
    """What a module may have to declare."""

    Shader = 1
    Float16 = 9
    Float64 = 10
    Int64 = 11
    Int64Atomics = 12
    Int16 = 22
    Int8 = 39
    GroupNonUniform = 61
    GroupNonUniformVote = 62
    GroupNonUniformArithmetic = 63
    GroupNonUniformBallot = 64
    StorageBuffer16BitAccess = 4433
    StorageBuffer8BitAccess = 4448
    DenormPreserve = 4464
    SignedZeroInfNanPreserve = 4466
    RoundingModeRTE = 4467
    PhysicalStorageBufferAddresses = 5347
    AtomicFloat32AddEXT = 6033
    AtomicFloat64AddEXT = 6034


class Mode(IntEnum):
    """Execution modes of the entry point."""

    LocalSize = 17
    DenormPreserve = 4459
    SignedZeroInfNanPreserve = 4461
    RoundingModeRTE = 4462


class Decoration(IntEnum):
    """What is said of an id."""

    Block = 2
    ArrayStride = 6
    BuiltIn = 11
    Aliased = 20
    Binding = 33
    DescriptorSet = 34
    Offset = 35
    NoContraction = 42


class Storage(IntEnum):
    """Where a variable or what a pointer points to lives."""

    Input = 1
    Workgroup = 4
    Function = 7
    PushConstant = 9
    StorageBuffer = 12
    PhysicalStorageBuffer = 5349


BUILTIN: Final = {"NumWorkgroups": 24, "WorkgroupId": 26, "GlobalInvocationId": 28, "LocalInvocationIndex": 29}
STD: Final = {
    "RoundEven": 2,
    "Trunc": 3,
    "Floor": 8,
    "Ceil": 9,
    "Sqrt": 31,
    "InverseSqrt": 32,
    "UMin": 38,
    "SMin": 39,
    "Fma": 50,
    "FindUMsb": 75,
}
"""Instructions of the set GLSL.std.450, by name."""
