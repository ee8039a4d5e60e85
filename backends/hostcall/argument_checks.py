"""Checks of one argument of a call, as LLVM assembly: numbers, ndarrays, numpy arrays, tensors.

They are exact: what they let pass is what Python would have passed on as it is. All else is the business of Python.
"""

from __future__ import annotations

from typing import Final

from adstack.runtime.protocol.words import ADDRESS, BESIDE, CHANGED, EXTENTS, TAG, VERSION

from .assembly import rows
from .device_checks import TAKE_DEVICE
from .interpreter import BUFFER, BUFFER_RANK, BUFFER_WORDS, TYPE
from .record import ARGUMENT, KINDS, RECORD, word, words
from .structured_checks import TAKE_STRUCTURED

__all__ = ["TAKE_ARGUMENT"]

_C_CONTIGUOUS: Final = 0x38
_FORMAT: Final = 0x04
"""What is asked of an array's memory; 1 asks for memory that may be written."""

_EXACT: Final = 2**53
"""Every integer up to here is a double."""

_EXTENT: Final = """  %which = load i64, ptr %row, align 8
  %target.at = getelementptr i64, ptr %row, i64 1
  %target = load ptr, ptr %target.at, align 8
  %extent.at = getelementptr i64, ptr %extents, i64 %which
  %extent = load i64, ptr %extent.at, align 8
  store i64 %extent, ptr %target, align 8
  br label %each.next"""

_EXTENTS: Final = f"""
; store an array's address and extents
define internal void @pass(ptr %argument, ptr %data, ptr %extents) {{
entry:
{word("%slot", "ptr", "%argument", ARGUMENT["slot"])}
{word("%pairs", "ptr", "%argument", ARGUMENT["extents"])}
{word("%count", "i64", "%argument", ARGUMENT["extent_count"])}
  store ptr %data, ptr %slot, align 8
  br label %each
{rows("%pairs", 2, "%count", _EXTENT, then="done")}
done:
  ret void
}}
"""

_MEMORY: Final = f"""
; take the memory that a record tells of: false if it is gone, or if Python has to know
define internal i1 @memory(ptr %argument, ptr %memory) {{
entry:
{word("%data", "ptr", "%memory", ADDRESS)}
{word("%changed", "i64", "%memory", CHANGED)}
{word("%earliest", "i64", "%argument", ARGUMENT["earliest"])}
{word("%latest", "i64", "%argument", ARGUMENT["latest"])}
  %there = icmp ne ptr %data, null
  %not.before = icmp sge i64 %changed, %earliest
  %not.after = icmp sle i64 %changed, %latest
  %allowed = and i1 %not.before, %not.after
  %usable = and i1 %there, %allowed
  br i1 %usable, label %pass, label %no
pass:
  %extents = getelementptr i64, ptr %memory, i64 {EXTENTS}
  call void @pass(ptr %argument, ptr %data, ptr %extents)
  ; what the kernel may write counts as written, even if the launch fails
{word("%writes", "i64", "%argument", ARGUMENT["written"])}
{word("%before", "i64", "%memory", VERSION)}
  %after = add i64 %before, %writes
  store i64 %after, ptr %before.at, align 8
  ret i1 true
no:
  ret i1 false
}}
"""

_ARRAY: Final = f"""
; take an ndarray: false if it is not of the kind expected, or has no memory
define internal i1 @array(ptr %record, ptr %argument, ptr %value, ptr %type) {{
entry:
{word("%wanted", "ptr", "%argument", ARGUMENT["low"])}
  %exact = icmp eq ptr %type, %wanted
  br i1 %exact, label %look, label %no
look:
{word("%name", "ptr", "%record", RECORD["address_name"])}
  %number = call ptr @PyObject_GetAttr(ptr %value, ptr %name)
  %missing = icmp eq ptr %number, null
  br i1 %missing, label %clear, label %address
clear:
  call void @PyErr_Clear()
  ret i1 false
address:
  %memory = call ptr @PyLong_AsVoidPtr(ptr %number)
  call void @Py_DecRef(ptr %number)
  %nothing = icmp eq ptr %memory, null
  br i1 %nothing, label %no, label %tagged
tagged:
{word("%tag", "i64", "%memory", TAG)}
{word("%expected", "i64", "%argument", ARGUMENT["high"])}
  %same = icmp eq i64 %tag, %expected
  br i1 %same, label %itself, label %no
itself:
  %there = call i1 @memory(ptr %argument, ptr %memory)
{word("%beside", "ptr", "%argument", ARGUMENT["beside"])}
  %alone = icmp eq ptr %beside, null
  br i1 %there, label %with, label %no
with:
  br i1 %alone, label %yes, label %follow
follow:
{word("%gradient", "ptr", "%memory", BESIDE)}
  %none = icmp eq ptr %gradient, null
  br i1 %none, label %no, label %marked
marked:
{word("%mark", "i64", "%gradient", TAG)}
  %unmarked = icmp eq i64 %mark, 0
  br i1 %unmarked, label %no, label %both
both:
  %there.too = call i1 @memory(ptr %beside, ptr %gradient)
  ret i1 %there.too
yes:
  ret i1 true
no:
  ret i1 false
}}
"""

_HOST: Final = f"""
; take a numpy array: false if it is not of the kind expected, or not one whose memory can be used as it is
define internal i1 @host(ptr %argument, ptr %value, ptr %type) {{
entry:
  %view = alloca [{BUFFER_WORDS} x i64], align 8
{word("%wanted", "ptr", "%argument", ARGUMENT["low"])}
  %exact = icmp eq ptr %type, %wanted
  br i1 %exact, label %ask, label %no
ask:
{word("%writes", "i64", "%argument", ARGUMENT["written"])}
  %writable = trunc i64 %writes to i32
  %flags = or i32 %writable, {_C_CONTIGUOUS | _FORMAT}
  %failed = call i32 @PyObject_GetBuffer(ptr %value, ptr %view, i32 %flags)
  %refused = icmp ne i32 %failed, 0
  br i1 %refused, label %clear, label %compare
clear:
  call void @PyErr_Clear()
  ret i1 false
compare:
{word("%data", "ptr", "%view", BUFFER["buf"])}
{word("%format", "ptr", "%view", BUFFER["format"])}
{word("%extents", "ptr", "%view", BUFFER["shape"])}
{word("%expected", "i64", "%argument", ARGUMENT["high"])}
  %rank.at = getelementptr i32, ptr %view, i64 {BUFFER_RANK}
  %rank = load i32, ptr %rank.at, align 4
  %letters = load i16, ptr %format, align 1
  %rank.wide = zext i32 %rank to i64
  %letters.wide = zext i16 %letters to i64
  %rank.high = shl i64 %rank.wide, 16
  %found = or i64 %rank.high, %letters.wide
  %same = icmp eq i64 %found, %expected
  br i1 %same, label %pass, label %other
pass:
  call void @pass(ptr %argument, ptr %data, ptr %extents)
  call void @PyBuffer_Release(ptr %view)
  ret i1 true
other:
  call void @PyBuffer_Release(ptr %view)
  ret i1 false
no:
  ret i1 false
}}
"""

_TENSOR: Final = f"""
; take a tensor: false if it is not of the kind expected, or gives no numpy array whose memory can be used
define internal i1 @tensor(ptr %record, ptr %argument, ptr %value, ptr %type) {{
entry:
{word("%wanted", "ptr", "%argument", ARGUMENT["tensor"])}
  %exact = icmp eq ptr %type, %wanted
  br i1 %exact, label %ask, label %no
ask:
{word("%method", "ptr", "%record", RECORD["tensor_method"])}
  %array = call ptr (ptr, ptr, ...) @PyObject_CallMethodObjArgs(ptr %value, ptr %method, ptr null)
  %failed = icmp eq ptr %array, null
  br i1 %failed, label %clear, label %look
clear:
  call void @PyErr_Clear()
  ret i1 false
look:
{word("%array.type", "ptr", "%array", TYPE)}
  %taken = call i1 @host(ptr %argument, ptr %array, ptr %array.type)
  call void @Py_DecRef(ptr %array) ; the memory is the tensor's, which the caller holds
  ret i1 %taken
no:
  ret i1 false
}}
"""

_TAKE: Final = f"""
; check one argument and store it where the kernel finds it
define internal i1 @take(ptr %record, ptr %argument, ptr %value, ptr %overflow) {{
entry:
{word("%type", "ptr", "%value", TYPE)}
{word("%kind", "i64", "%argument", ARGUMENT["kind"])}
{word("%slot", "ptr", "%argument", ARGUMENT["slot"])}
{word("%low", "i64", "%argument", ARGUMENT["low"])}
{word("%high", "i64", "%argument", ARGUMENT["high"])}
{words(int_type="ptr", float_type="ptr", int32_type="ptr", int64_type="ptr", float32_type="ptr", float64_type="ptr")}
  %is.int = icmp eq ptr %type, %int_type
  %is.int32 = icmp eq ptr %type, %int32_type
  %is.int64 = icmp eq ptr %type, %int64_type
  %is.numpy.int = or i1 %is.int32, %is.int64
  %is.integer = or i1 %is.int, %is.numpy.int
  %is.float = icmp eq ptr %type, %float_type
  %is.float32 = icmp eq ptr %type, %float32_type
  %is.float64 = icmp eq ptr %type, %float64_type
  %is.numpy.float = or i1 %is.float32, %is.float64
  %is.real = or i1 %is.float, %is.numpy.float
  switch i64 %kind, label %no [
    i64 {KINDS["int"]}, label %int
    i64 {KINDS["f64"]}, label %float
    i64 {KINDS["f32"]}, label %float
    i64 {KINDS["bool"]}, label %bool
    i64 {KINDS["same"]}, label %same
    i64 {KINDS["array"]}, label %array
    i64 {KINDS["host"]}, label %host
    i64 {KINDS["tensor"]}, label %tensor
    i64 {KINDS["device"]}, label %device
    i64 {KINDS["matrix"]}, label %matrix
    i64 {KINDS["struct"]}, label %struct
  ]
int:
  br i1 %is.integer, label %int.value, label %no
int.value:
  %number = call i64 @PyLong_AsLongLongAndOverflow(ptr %value, ptr %overflow)
  %beyond = load i32, ptr %overflow, align 4
  %within = icmp eq i32 %beyond, 0
  %at.least = icmp sge i64 %number, %low
  %at.most = icmp sle i64 %number, %high
  %between = and i1 %at.least, %at.most
  %int.fits = and i1 %within, %between
  br i1 %int.fits, label %int.store, label %no
int.store:
  store i64 %number, ptr %slot, align 8
  ret i1 true
float:
  br i1 %is.real, label %float.read, label %float.int
float.int:
  br i1 %is.int, label %float.int.value, label %no
float.int.value:
  %whole = call i64 @PyLong_AsLongLongAndOverflow(ptr %value, ptr %overflow)
  %whole.beyond = load i32, ptr %overflow, align 4
  %whole.within = icmp eq i32 %whole.beyond, 0
  %whole.least = icmp sge i64 %whole, -{_EXACT}
  %whole.most = icmp sle i64 %whole, {_EXACT}
  %whole.between = and i1 %whole.least, %whole.most
  %whole.fits = and i1 %whole.within, %whole.between
  br i1 %whole.fits, label %float.whole, label %no
float.whole:
  %whole.real = sitofp i64 %whole to double
  br label %float.value
float.read:
  %given = call double @PyFloat_AsDouble(ptr %value)
  br label %float.value
float.value:
  %real = phi double [ %given, %float.read ], [ %whole.real, %float.whole ]
  %least = bitcast i64 %low to double
  %most = bitcast i64 %high to double
  %not.less = fcmp oge double %real, %least
  %not.more = fcmp ole double %real, %most
  %float.fits = and i1 %not.less, %not.more
  br i1 %float.fits, label %float.store, label %no
float.store:
  %short = icmp eq i64 %kind, {KINDS["f32"]}
  br i1 %short, label %float.short, label %float.long
float.short:
  %single = fptrunc double %real to float
  store float %single, ptr %slot, align 8
  ret i1 true
float.long:
  store double %real, ptr %slot, align 8
  ret i1 true
bool:
  %object = ptrtoint ptr %value to i64
  %is.false = icmp eq i64 %object, %low
  %is.true = icmp eq i64 %object, %high
  %is.bool = or i1 %is.false, %is.true
  br i1 %is.bool, label %bool.store, label %no
bool.store:
  %bit = zext i1 %is.true to i64
  store i64 %bit, ptr %slot, align 8
  ret i1 true
same:
  %identity = ptrtoint ptr %value to i64
  %is.same = icmp eq i64 %identity, %low
  ret i1 %is.same
array:
  %taken = call i1 @array(ptr %record, ptr %argument, ptr %value, ptr %type)
  ret i1 %taken
host:
  %borrowed = call i1 @host(ptr %argument, ptr %value, ptr %type)
  ret i1 %borrowed
tensor:
  %lent = call i1 @tensor(ptr %record, ptr %argument, ptr %value, ptr %type)
  ret i1 %lent
device:
  %shared = call i1 @device(ptr %record, ptr %argument, ptr %value, ptr %type)
  ret i1 %shared
matrix:
  %all = call i1 @matrix(ptr %record, ptr %argument, ptr %value, ptr %type, ptr %overflow)
  ret i1 %all
struct:
  %every = call i1 @struct(ptr %record, ptr %argument, ptr %value, ptr %type, ptr %overflow)
  ret i1 %every
no:
  ret i1 false
}}
"""

TAKE_ARGUMENT: Final = "\n".join((_EXTENTS, _MEMORY, _ARRAY, _HOST, _TENSOR, TAKE_DEVICE, TAKE_STRUCTURED, _TAKE))
"""`i1 @take(record, argument, value, overflow)`: check one argument and store it where the kernel finds it."""
