"""The way from a call in Python to a kernel's machine code, as LLVM assembly.

`@adstack_call` is a function of the METH_FASTCALL | METH_KEYWORDS kind. Its `self` is a tuple: the address of a
record, what serves the calls that it does not, and what raises the error that a launch reported. The record says what
the arguments must be and where they go. Whatever is not as it says - another type, a number out of range, memory that
is gone, a keyword, a launch of another thread - is left to the second item, which knows every rule and every error.
"""

from __future__ import annotations

from typing import Final

__all__ = ["ARGUMENT", "ATTRIBUTE", "KINDS", "RECORD", "RESULTS", "text"]

_RECORD: Final = (
    "guard", "epoch", "count", "arguments", "attributes", "attribute_count", "run", "ctx", "errors", "overflow",
    "launches", "launch_slot", "lock", "release", "written", "written_count", "result_kind", "result", "address_name",
    "int_type", "float_type", "none",
)  # fmt: skip
RECORD: Final = {name: at for at, name in enumerate(_RECORD)}
"""Where each word of a record stands. `guard` points to an epoch, which must be `epoch`, and a count, which must be 0;
`written` to the words to set when the launch is over."""

_ARGUMENT: Final = ("kind", "slot", "low", "high", "extents", "extent_count", "written")
ARGUMENT: Final = {name: at for at, name in enumerate(_ARGUMENT)}
"""The words of an argument. What low and high mean depends on the kind; extents are (axis, slot) pairs;
`written` is 1 for an array that the kernel writes."""

ATTRIBUTE: Final = {name: at for at, name in enumerate(("owner", "name", "value"))}
"""The words of an attribute that must be what it was."""

KINDS: Final = {name: at for at, name in enumerate(("int", "f64", "f32", "bool", "same", "array", "host"))}
_RESULTS: Final = ("none", "i8", "u8", "i16", "u16", "i32", "u32", "i64", "u64", "f32", "f64", "u1")
RESULTS: Final = {name: at for at, name in enumerate(_RESULTS)}

_C_CONTIGUOUS: Final = 0x38
_FORMAT: Final = 0x04
"""What is asked of an array's memory; 1 asks for memory that may be written."""

_DECLARATIONS: Final = """
declare ptr @PyTuple_GetItem(ptr, i64)
declare ptr @PyLong_AsVoidPtr(ptr)
declare i64 @PyLong_AsLongLongAndOverflow(ptr, ptr)
declare double @PyFloat_AsDouble(ptr)
declare ptr @PyLong_FromLongLong(i64)
declare ptr @PyLong_FromUnsignedLongLong(i64)
declare ptr @PyFloat_FromDouble(double)
declare ptr @PyBool_FromLong(i64)
declare ptr @PyObject_GetAttr(ptr, ptr)
declare ptr @PyObject_VectorcallDict(ptr, ptr, i64, ptr)
declare ptr @PyObject_CallNoArgs(ptr)
declare ptr @PyDict_New()
declare i32 @PyDict_SetItem(ptr, ptr, ptr)
declare i64 @PyTuple_Size(ptr)
declare i32 @PyObject_GetBuffer(ptr, ptr, i32)
declare void @PyBuffer_Release(ptr)
declare ptr @PyErr_Occurred()
declare void @PyErr_Clear()
declare void @Py_IncRef(ptr)
declare void @Py_DecRef(ptr)
declare ptr @PyEval_SaveThread()
declare void @PyEval_RestoreThread(ptr)
declare i64 @PyThread_get_thread_ident()
"""


def _word(result: str, kind: str, record: str, at: int) -> str:
    """Load a word of a record."""
    address = f"  {result}.at = getelementptr i64, ptr {record}, i64 {at}\n"
    return f"{address}  {result} = load {kind}, ptr {result}.at, align 8\n"


def _words(**wanted: str) -> str:
    return "".join(_word(f"%{name}", kind, "%record", RECORD[name]) for name, kind in wanted.items())


def text() -> str:
    """The module."""
    checks = (_SLOW, _EXTENTS, _ARRAY, _HOST, _take(), _arguments(), _attributes())
    return "\n".join((_DECLARATIONS, *checks, _launch(), _result(), _call(), _LOCK))


_SLOW: Final = """
define internal ptr @slow(ptr %self, ptr %args, i64 %count, ptr %names) {
entry:
  %serves = call ptr @PyTuple_GetItem(ptr %self, i64 1)
  %plain = icmp eq ptr %names, null
  br i1 %plain, label %call, label %named
named:
  %dict = call ptr @PyDict_New()
  %failed = icmp eq ptr %dict, null
  br i1 %failed, label %give.up, label %size
give.up:
  ret ptr null
size:
  %named.count = call i64 @PyTuple_Size(ptr %names)
  br label %more
more:
  %k = phi i64 [ 0, %size ], [ %k.next, %put ]
  %left = icmp slt i64 %k, %named.count
  br i1 %left, label %put, label %with
put:
  %name = call ptr @PyTuple_GetItem(ptr %names, i64 %k)
  %position = add i64 %count, %k
  %value.at = getelementptr ptr, ptr %args, i64 %position
  %value = load ptr, ptr %value.at, align 8
  %ignored = call i32 @PyDict_SetItem(ptr %dict, ptr %name, ptr %value)
  %k.next = add i64 %k, 1
  br label %more
with:
  %answer = call ptr @PyObject_VectorcallDict(ptr %serves, ptr %args, i64 %count, ptr %dict)
  call void @Py_DecRef(ptr %dict)
  ret ptr %answer
call:
  %served = call ptr @PyObject_VectorcallDict(ptr %serves, ptr %args, i64 %count, ptr null)
  ret ptr %served
}
"""

_EXTENTS: Final = f"""
; store an array's address and extents
define internal void @pass(ptr %argument, ptr %data, ptr %extents) {{
entry:
{_word("%slot", "ptr", "%argument", ARGUMENT["slot"])}
{_word("%pairs", "ptr", "%argument", ARGUMENT["extents"])}
{_word("%count", "i64", "%argument", ARGUMENT["extent_count"])}
  store ptr %data, ptr %slot, align 8
  br label %axes
axes:
  %k = phi i64 [ 0, %entry ], [ %k.next, %axis ]
  %left = icmp slt i64 %k, %count
  br i1 %left, label %axis, label %done
axis:
  %pair = getelementptr [2 x i64], ptr %pairs, i64 %k
  %which = load i64, ptr %pair, align 8
  %target.at = getelementptr i64, ptr %pair, i64 1
  %target = load ptr, ptr %target.at, align 8
  %extent.at = getelementptr i64, ptr %extents, i64 %which
  %extent = load i64, ptr %extent.at, align 8
  store i64 %extent, ptr %target, align 8
  %k.next = add i64 %k, 1
  br label %axes
done:
  ret void
}}
"""

_ARRAY: Final = f"""
; take an ndarray: false if it is not of the kind expected, or has no memory
define internal i1 @array(ptr %record, ptr %argument, ptr %value, ptr %type) {{
entry:
{_word("%wanted", "ptr", "%argument", ARGUMENT["low"])}
  %exact = icmp eq ptr %type, %wanted
  br i1 %exact, label %look, label %no
look:
{_word("%name", "ptr", "%record", RECORD["address_name"])}
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
{_word("%tag", "i64", "%memory", 0)}
{_word("%data", "ptr", "%memory", 1)}
{_word("%expected", "i64", "%argument", ARGUMENT["high"])}
  %same = icmp eq i64 %tag, %expected
  %there = icmp ne ptr %data, null
  %fine = and i1 %same, %there
  br i1 %fine, label %pass, label %no
pass:
  %extents = getelementptr i64, ptr %memory, i64 3
  call void @pass(ptr %argument, ptr %data, ptr %extents)
  ; what the kernel may write counts as written, even if the launch fails
{_word("%writes", "i64", "%argument", ARGUMENT["written"])}
{_word("%before", "i64", "%memory", 2)}
  %after = or i64 %before, %writes
  store i64 %after, ptr %before.at, align 8
  ret i1 true
no:
  ret i1 false
}}
"""

_HOST: Final = f"""
; take a numpy array: false if it is not of the kind expected, or not one whose memory can be used as it is
define internal i1 @host(ptr %argument, ptr %value, ptr %type) {{
entry:
  %view = alloca [16 x i64], align 8
{_word("%wanted", "ptr", "%argument", ARGUMENT["low"])}
  %exact = icmp eq ptr %type, %wanted
  br i1 %exact, label %ask, label %no
ask:
{_word("%writes", "i64", "%argument", ARGUMENT["written"])}
  %writable = trunc i64 %writes to i32
  %flags = or i32 %writable, {_C_CONTIGUOUS | _FORMAT}
  %failed = call i32 @PyObject_GetBuffer(ptr %value, ptr %view, i32 %flags)
  %refused = icmp ne i32 %failed, 0
  br i1 %refused, label %clear, label %compare
clear:
  call void @PyErr_Clear()
  ret i1 false
compare:
{_word("%data", "ptr", "%view", 0)}
{_word("%format", "ptr", "%view", 5)}
{_word("%extents", "ptr", "%view", 6)}
{_word("%expected", "i64", "%argument", ARGUMENT["high"])}
  %rank.at = getelementptr i32, ptr %view, i64 9
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


def _take() -> str:
    """`i1 @take(record, argument, value)`: check one argument and store it where the kernel finds it."""
    return f"""
define internal i1 @take(ptr %record, ptr %argument, ptr %value, ptr %overflow) {{
entry:
  %type.at = getelementptr i64, ptr %value, i64 1
  %type = load ptr, ptr %type.at, align 8
{_word("%kind", "i64", "%argument", ARGUMENT["kind"])}
{_word("%slot", "ptr", "%argument", ARGUMENT["slot"])}
{_word("%low", "i64", "%argument", ARGUMENT["low"])}
{_word("%high", "i64", "%argument", ARGUMENT["high"])}
{_words(int_type="ptr", float_type="ptr")}
  %is.int = icmp eq ptr %type, %int_type
  %is.float = icmp eq ptr %type, %float_type
  switch i64 %kind, label %no [
    i64 {KINDS["int"]}, label %int
    i64 {KINDS["f64"]}, label %float
    i64 {KINDS["f32"]}, label %float
    i64 {KINDS["bool"]}, label %bool
    i64 {KINDS["same"]}, label %same
    i64 {KINDS["array"]}, label %array
    i64 {KINDS["host"]}, label %host
  ]
int:
  br i1 %is.int, label %int.value, label %no
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
  br i1 %is.float, label %float.value, label %no
float.value:
  %real = call double @PyFloat_AsDouble(ptr %value)
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
no:
  ret i1 false
}}
"""


def _arguments() -> str:
    return f"""
define internal i1 @arguments(ptr %record, ptr %args, i64 %count) {{
entry:
  %overflow = alloca i32, align 4
{_words(arguments="ptr")}
  br label %more
more:
  %k = phi i64 [ 0, %entry ], [ %k.next, %fine ]
  %left = icmp slt i64 %k, %count
  br i1 %left, label %next, label %yes
next:
  %argument = getelementptr [{len(ARGUMENT)} x i64], ptr %arguments, i64 %k
  %value.at = getelementptr ptr, ptr %args, i64 %k
  %value = load ptr, ptr %value.at, align 8
  %taken = call i1 @take(ptr %record, ptr %argument, ptr %value, ptr %overflow)
  br i1 %taken, label %fine, label %no
fine:
  %k.next = add i64 %k, 1
  br label %more
yes:
  ret i1 true
no:
  ret i1 false
}}
"""


def _attributes() -> str:
    return f"""
; whether every attribute that the kernel was compiled with is the object that it was
define internal i1 @unchanged(ptr %record) {{
entry:
{_words(attributes="ptr", attribute_count="i64")}
  br label %more
more:
  %k = phi i64 [ 0, %entry ], [ %k.next, %dropped ]
  %left = icmp slt i64 %k, %attribute_count
  br i1 %left, label %next, label %yes
next:
  %attribute = getelementptr [{len(ATTRIBUTE)} x i64], ptr %attributes, i64 %k
{_word("%owner", "ptr", "%attribute", ATTRIBUTE["owner"])}
{_word("%name", "ptr", "%attribute", ATTRIBUTE["name"])}
{_word("%was", "ptr", "%attribute", ATTRIBUTE["value"])}
  %now = call ptr @PyObject_GetAttr(ptr %owner, ptr %name)
  %missing = icmp eq ptr %now, null
  br i1 %missing, label %clear, label %compare
clear:
  call void @PyErr_Clear()
  ret i1 false
compare:
  call void @Py_DecRef(ptr %now)
  %same = icmp eq ptr %now, %was
  br i1 %same, label %dropped, label %no
dropped:
  %k.next = add i64 %k, 1
  br label %more
yes:
  ret i1 true
no:
  ret i1 false
}}
"""


def _launch() -> str:
    return f"""
; run the kernel; the interpreter's lock is held
define internal void @launch(ptr %record) {{
entry:
{_words(run="ptr", ctx="ptr", launches="ptr", launch_slot="ptr", release="i64")}
{_words(written="ptr", written_count="i64")}
  %before = load i64, ptr %launches, align 8
  %number = add i64 %before, 1
  store i64 %number, ptr %launches, align 8
  store i64 %number, ptr %launch_slot, align 8
  %long = icmp ne i64 %release, 0
  br i1 %long, label %apart, label %here
apart:
  %saved = call ptr @PyEval_SaveThread()
  call void %run(ptr %ctx)
  call void @PyEval_RestoreThread(ptr %saved)
  br label %ran
here:
  call void %run(ptr %ctx)
  br label %ran
ran:
  br label %more
more:
  %k = phi i64 [ 0, %ran ], [ %k.next, %next ]
  %left = icmp slt i64 %k, %written_count
  br i1 %left, label %next, label %done
next:
  %word.at = getelementptr ptr, ptr %written, i64 %k
  %word = load ptr, ptr %word.at, align 8
  store i64 1, ptr %word, align 8
  %k.next = add i64 %k, 1
  br label %more
done:
  ret void
}}
"""


def _result() -> str:
    def integer(name: str) -> str:
        bits, signed = int(name[1:]), name[0] == "i"
        wide = "%v." + name if bits == 64 else f"%w.{name}"
        widen = "" if bits == 64 else f"  {wide} = {'sext' if signed else 'zext'} i{bits} %v.{name} to i64\n"
        make = "PyLong_FromLongLong" if signed else "PyLong_FromUnsignedLongLong"
        return (
            f"{name}:\n  %v.{name} = load i{bits}, ptr %result, align 1\n{widen}"
            f"  %o.{name} = call ptr @{make}(i64 {wide})\n  ret ptr %o.{name}\n"
        )

    integers = [name for name in RESULTS if name[0] in "iu" and name != "u1"]
    cases = "\n".join(f"    i64 {number}, label %{name}" for name, number in RESULTS.items() if number)
    return f"""
define internal ptr @result(ptr %record) {{
entry:
{_words(result_kind="i64", result="ptr", none="ptr")}
  switch i64 %result_kind, label %nothing [
{cases}
  ]
nothing:
  call void @Py_IncRef(ptr %none)
  ret ptr %none
{"".join(map(integer, integers))}
f32:
  %single = load float, ptr %result, align 1
  %wide = fpext float %single to double
  %from.single = call ptr @PyFloat_FromDouble(double %wide)
  ret ptr %from.single
f64:
  %double = load double, ptr %result, align 1
  %from.double = call ptr @PyFloat_FromDouble(double %double)
  ret ptr %from.double
u1:
  %byte = load i8, ptr %result, align 1
  %set = icmp ne i8 %byte, 0
  %bit = zext i1 %set to i64
  %truth = call ptr @PyBool_FromLong(i64 %bit)
  ret ptr %truth
}}
"""


def _call() -> str:
    return f"""
define ptr @adstack_call(ptr %self, ptr %args, i64 %given, ptr %names) {{
entry:
  %address = call ptr @PyTuple_GetItem(ptr %self, i64 0)
  %record = call ptr @PyLong_AsVoidPtr(ptr %address)
{_words(guard="ptr", epoch="i64", count="i64", lock="ptr")}
  %epoch.now = load i64, ptr %guard, align 8
  %busy.at = getelementptr i64, ptr %guard, i64 1
  %compiling = load i64, ptr %busy.at, align 8
  %ok.epoch = icmp eq i64 %epoch, %epoch.now
  %ok.count = icmp eq i64 %given, %count
  %ok.names = icmp eq ptr %names, null
  %ok.idle = icmp eq i64 %compiling, 0
  %ok.1 = and i1 %ok.epoch, %ok.count
  %ok.2 = and i1 %ok.names, %ok.idle
  %ok = and i1 %ok.1, %ok.2
  br i1 %ok, label %attributes, label %other
attributes:
  %unchanged = call i1 @unchanged(ptr %record)
  br i1 %unchanged, label %lock.it, label %other
lock.it:
  %me = call i64 @PyThread_get_thread_ident()
  %tried = cmpxchg ptr %lock, i64 0, i64 %me acquire monotonic
  %mine = extractvalue {{ i64, i1 }} %tried, 1
  br i1 %mine, label %take, label %other
take:
  %taken = call i1 @arguments(ptr %record, ptr %args, i64 %count)
  br i1 %taken, label %go, label %unlock
unlock:
  store atomic i64 0, ptr %lock release, align 8
  br label %other
other:
  %served = call ptr @slow(ptr %self, ptr %args, i64 %given, ptr %names)
  ret ptr %served
go:
  call void @launch(ptr %record)
{_words(errors="ptr", overflow="ptr")}
  %raised = call ptr @PyErr_Occurred()
  %stopped = icmp ne ptr %raised, null
  %error = load i64, ptr %errors, align 8
  %deep = load i64, ptr %overflow, align 8
  %reported = or i64 %error, %deep
  %failed = icmp ne i64 %reported, 0
  br i1 %stopped, label %stop, label %check
stop:
  store atomic i64 0, ptr %lock release, align 8
  ret ptr null
check:
  br i1 %failed, label %fail, label %answer
fail:
  %raises = call ptr @PyTuple_GetItem(ptr %self, i64 2)
  %nothing = call ptr @PyObject_CallNoArgs(ptr %raises)
  store atomic i64 0, ptr %lock release, align 8
  ret ptr %nothing
answer:
  %value = call ptr @result(ptr %record)
  store atomic i64 0, ptr %lock release, align 8
  ret ptr %value
}}
"""


_LOCK: Final = """
; take the lock of launches: 0 if it was free, else who holds it
define i64 @adstack_begin(ptr %lock) {
  %me = call i64 @PyThread_get_thread_ident()
  %tried = cmpxchg ptr %lock, i64 0, i64 %me acquire monotonic
  %holder = extractvalue { i64, i1 } %tried, 0
  ret i64 %holder
}

; give the lock of launches back, if this thread has it
define void @adstack_end(ptr %lock) {
  %me = call i64 @PyThread_get_thread_ident()
  %tried = cmpxchg ptr %lock, i64 %me, i64 0 release monotonic
  ret void
}

; run a kernel without the interpreter's lock
define void @adstack_run(ptr %run, ptr %ctx) {
  %saved = call ptr @PyEval_SaveThread()
  call void %run(ptr %ctx)
  call void @PyEval_RestoreThread(ptr %saved)
  ret void
}
"""
