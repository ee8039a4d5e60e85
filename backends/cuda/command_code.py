"""Machine code that stands between the host's code of programs and the driver: see `command_lists`, as LLVM assembly.

`adstack.launch`, `adstack.zero`, `adstack.copy` and `adstack.fetch` are called as cuLaunchKernel, cuMemsetD8Async,
cuMemcpyDtoDAsync and cuMemcpyDtoH are, and do the same. Where a list is open, which is a record of `LIST` words, they
note what they do; or they compare it with the next row of the list, tell the row's node what is new, and leave it to
the graph that has the node, which is launched when its last row has come. Whatever is not the next row closes the
list: what was left to a graph that has not been launched is done then, in order, command by command.
"""

from __future__ import annotations

from typing import Final

from .command_layout import COPY, KERNEL, LIST, PROGRAM, ROW, ZERO

__all__ = ["NAMES", "TEXT"]

_DRIVER: Final = ("launch", "zero", "copy", "fetch", "set", "start")
"""The driver's functions: the four that are stood in for, cuGraphExecKernelNodeSetParams and cuGraphLaunch."""
NAMES: Final = ("launch", "zero", "copy", "fetch", "install", "open", "close", "opened")
"""The functions of the text, without the prefix.

install(six addresses): what the driver's functions are.
open(list): a list is open from now on. close(): none is, once what was left is done; gives CUDA's first error, or 0.
opened(): the list that is open, or null.
"""


def _at(name: str, base: str, words: dict[str, int], kind: str = "i64") -> str:
    """Load the word `name` of a record or a row, as `%name`."""
    return (
        f"  %{name}.at = getelementptr i64, ptr {base}, i64 {words[name]}\n"
        f"  %{name} = load {kind}, ptr %{name}.at, align 8\n"
    )


_GLOBALS: Final = "".join(f"@{name} = internal global ptr null\n" for name in ("list", *_DRIVER))

_INSTALL: Final = (
    "define void @adstack.install("
    + ", ".join(f"ptr %{name}" for name in _DRIVER)
    + ") {\n"
    + "".join(f"  store ptr %{name}, ptr @{name}\n" for name in _DRIVER)
    + "  ret void\n}\n"
)

_OPENING: Final = """
define void @adstack.open(ptr %list) {
  store ptr %list, ptr @list
  ret void
}
define ptr @adstack.opened() {
  %list = load ptr, ptr @list
  ret ptr %list
}
"""

_SIZES: Final = "i32 1, i32 1, i32 %block, i32 1, i32 1, i32 0"
_ISSUE: Final = f"""
; do what a row says, without its graph
define internal i32 @issue(ptr %row) {{
entry:
{_at("kind", "%row", ROW)}{_at("a", "%row", ROW)}{_at("b", "%row", ROW)}{_at("c", "%row", ROW)}
  switch i64 %kind, label %kernel [ i64 {ZERO}, label %zeroed i64 {COPY}, label %copied ]
kernel:
{_at("words", "%row", ROW, "ptr")}
  %params = alloca ptr, align 8
  store ptr %words, ptr %params, align 8
  %f = inttoptr i64 %a to ptr
  %grid = trunc i64 %b to i32
  %block = trunc i64 %c to i32
  %launch = load ptr, ptr @launch
  %code.kernel = call i32 %launch(ptr %f, i32 %grid, {_SIZES}, ptr null, ptr %params, ptr null)
  ret i32 %code.kernel
zeroed:
  %zero = load ptr, ptr @zero
  %code.zero = call i32 %zero(i64 %a, i8 0, i64 %b, ptr null)
  ret i32 %code.zero
copied:
  %copy = load ptr, ptr @copy
  %code.copy = call i32 %copy(i64 %a, i64 %b, i64 %c, ptr null)
  ret i32 %code.copy
}}
"""

_CLOSE: Final = f"""
define i32 @adstack.close() {{
entry:
  %list = load ptr, ptr @list
  store ptr null, ptr @list
  %none = icmp eq ptr %list, null
  br i1 %none, label %done, label %look
look:
{_at("next", "%list", LIST)}{_at("launched", "%list", LIST)}{_at("rows", "%list", LIST, "ptr")}
  br label %each
each:
  %k = phi i64 [ %launched, %look ], [ %k.next, %fine ]
  %more = icmp slt i64 %k, %next
  br i1 %more, label %one, label %done
one:
  %row = getelementptr [{len(ROW)} x i64], ptr %rows, i64 %k
  %code = call i32 @issue(ptr %row)
  %k.next = add i64 %k, 1
  store i64 %k.next, ptr %launched.at, align 8
  %ok = icmp eq i32 %code, 0
  br i1 %ok, label %fine, label %failed
fine:
  br label %each
failed:
  ret i32 %code
done:
  ret i32 0
}}
"""

_NOTE: Final = f"""
; note a command in the next row of a list, if there is room
define internal void @note(ptr %list, i64 %kind, i64 %a, i64 %b, i64 %c, ptr %ctx) {{
entry:
{_at("count", "%list", LIST)}{_at("room", "%list", LIST)}{_at("rows", "%list", LIST, "ptr")}
{_at("programs", "%list", LIST, "ptr")}{_at("program_count", "%list", LIST)}
  %notes.at = getelementptr i64, ptr %list, i64 {LIST["notes"]}
  %row = getelementptr [{len(ROW)} x i64], ptr %rows, i64 %count
  %fits = icmp slt i64 %count, %room
  br i1 %fits, label %kinds, label %full
kinds:
  %is.kernel = icmp eq i64 %kind, {KERNEL}
  br i1 %is.kernel, label %search, label %write
search:
  %k = phi i64 [ 0, %kinds ], [ %k.next, %other ]
  %left = icmp slt i64 %k, %program_count
  br i1 %left, label %look, label %full
look:
  %program = getelementptr [{len(PROGRAM)} x i64], ptr %programs, i64 %k
{_at("function", "%program", PROGRAM)}
  %is.it = icmp eq i64 %function, %a
  br i1 %is.it, label %keep, label %other
other:
  %k.next = add i64 %k, 1
  br label %search
keep:
{_at("size", "%program", PROGRAM)}{_at("skip", "%program", PROGRAM)}
{_at("words", "%list", LIST, "ptr")}{_at("words_room", "%list", LIST)}
  %words.left = sub i64 %words_room, %size
  %words.fit = icmp sge i64 %words.left, 0
  br i1 %words.fit, label %copy, label %full
copy:
  %bytes = mul i64 %size, 8
  call void @llvm.memcpy.p0.p0.i64(ptr %words, ptr %ctx, i64 %bytes, i1 false)
  %words.after = getelementptr i64, ptr %words, i64 %size
  store ptr %words.after, ptr %words.at, align 8
  store i64 %words.left, ptr %words_room.at, align 8
  br label %write
write:
  %its.words = phi ptr [ null, %kinds ], [ %words, %copy ]
  %its.size = phi i64 [ 0, %kinds ], [ %size, %copy ]
  %its.skip = phi i64 [ -1, %kinds ], [ %skip, %copy ]
{
    "".join(
        f"  %to{at} = getelementptr i64, ptr %row, i64 {at}{chr(10)}  store {value}, ptr %to{at}, align 8{chr(10)}"
        for at, value in (
            (ROW["kind"], "i64 %kind"),
            (ROW["a"], "i64 %a"),
            (ROW["b"], "i64 %b"),
            (ROW["c"], "i64 %c"),
            (ROW["words"], "ptr %its.words"),
            (ROW["size"], "i64 %its.size"),
            (ROW["skip"], "i64 %its.skip"),
        )
    )
}
  %count.next = add i64 %count, 1
  store i64 %count.next, ptr %count.at, align 8
  ret void
full:
  store i64 -1, ptr %notes.at, align 8
  ret void
}}
"""

_EXPECT: Final = f"""
; the next row of a list, if it is this command; else null. A kernel may come with other blocks
define internal ptr @expect(ptr %list, i64 %kind.now, i64 %a.now, i64 %b.now, i64 %c.now) {{
entry:
{_at("count", "%list", LIST)}{_at("next", "%list", LIST)}{_at("rows", "%list", LIST, "ptr")}
  %left = icmp slt i64 %next, %count
  br i1 %left, label %look, label %no
look:
  %row = getelementptr [{len(ROW)} x i64], ptr %rows, i64 %next
{_at("kind", "%row", ROW)}{_at("a", "%row", ROW)}{_at("b", "%row", ROW)}{_at("c", "%row", ROW)}
  %same.kind = icmp eq i64 %kind, %kind.now
  %same.a = icmp eq i64 %a, %a.now
  %same.b = icmp eq i64 %b, %b.now
  %same.c = icmp eq i64 %c, %c.now
  %same.1 = and i1 %same.kind, %same.a
  %same.2 = and i1 %same.b, %same.c
  %is.kernel = icmp eq i64 %kind, {KERNEL}
  %same.3 = or i1 %same.2, %is.kernel
  %same = and i1 %same.1, %same.3
  br i1 %same, label %yes, label %no
yes:
  ret ptr %row
no:
  ret ptr null
}}
"""

_TELL: Final = f"""
%params = type {{ ptr, i32, i32, i32, i32, i32, i32, i32, ptr, ptr, ptr, ptr }}
; hand the kernel of a row other words, or launch it with other blocks, if these are not those that its node has
define internal i32 @tell(ptr %row, i64 %b.now, i64 %c.now, ptr %ctx) {{
entry:
{_at("words", "%row", ROW, "ptr")}{_at("size", "%row", ROW)}{_at("skip", "%row", ROW)}
{_at("b", "%row", ROW)}{_at("c", "%row", ROW)}
  %skips = icmp sge i64 %skip, 0
  br i1 %skips, label %leave, label %each
leave:
  %now.at = getelementptr i64, ptr %ctx, i64 %skip
  %had.at = getelementptr i64, ptr %words, i64 %skip
  %now = load i64, ptr %now.at, align 8
  store i64 %now, ptr %had.at, align 8
  br label %each
each:
  %k = phi i64 [ 0, %entry ], [ 0, %leave ], [ %k.next, %alike ]
  %more = icmp slt i64 %k, %size
  br i1 %more, label %compare, label %same
compare:
  %x.at = getelementptr i64, ptr %ctx, i64 %k
  %y.at = getelementptr i64, ptr %words, i64 %k
  %x = load i64, ptr %x.at, align 8
  %y = load i64, ptr %y.at, align 8
  %equal = icmp eq i64 %x, %y
  br i1 %equal, label %alike, label %differ
alike:
  %k.next = add i64 %k, 1
  br label %each
same:
  %same.b = icmp eq i64 %b, %b.now
  %same.c = icmp eq i64 %c, %c.now
  %same.blocks = and i1 %same.b, %same.c
  br i1 %same.blocks, label %known, label %differ
known:
  ret i32 0
differ:
  store i64 %b.now, ptr %b.at, align 8
  store i64 %c.now, ptr %c.at, align 8
{_at("a", "%row", ROW, "ptr")}
{_at("node", "%row", ROW, "ptr")}{_at("graph", "%row", ROW, "ptr")}
  %bytes = mul i64 %size, 8
  call void @llvm.memcpy.p0.p0.i64(ptr %words, ptr %ctx, i64 %bytes, i1 false)
  %arguments = alloca ptr, align 8
  store ptr %words, ptr %arguments, align 8
  %told = alloca %params, align 8
  store %params zeroinitializer, ptr %told
  %grid = trunc i64 %b.now to i32
  %block = trunc i64 %c.now to i32
{
    "".join(
        f"  %to{at} = getelementptr %params, ptr %told, i32 0, i32 {at}{chr(10)}  store {value}, ptr %to{at}{chr(10)}"
        for at, value in enumerate(
            ("ptr %a", "i32 %grid", "i32 1", "i32 1", "i32 %block", "i32 1", "i32 1", "i32 0", "ptr %arguments")
        )
    )
}
  %set = load ptr, ptr @set
  %code = call i32 %set(ptr %graph, ptr %node, ptr %told)
  ret i32 %code
}}
"""

_ADVANCE: Final = f"""
; a row has come: launch its graph if it was the last one
define internal i32 @advance(ptr %list, ptr %row) {{
entry:
{_at("next", "%list", LIST)}{_at("last", "%row", ROW)}{_at("graph", "%row", ROW, "ptr")}
  %after = add i64 %next, 1
  store i64 %after, ptr %next.at, align 8
  %ends = icmp ne i64 %last, 0
  br i1 %ends, label %start.it, label %done
start.it:
  %launched.at = getelementptr i64, ptr %list, i64 {LIST["launched"]}
  store i64 %after, ptr %launched.at, align 8
  %start = load ptr, ptr @start
  %code = call i32 %start(ptr %graph, ptr null)
  ret i32 %code
done:
  ret i32 0
}}
"""


def _stand_in(name: str, parameters: str, row: str, call: str, tell: str) -> str:
    """A function that stands in for one of the driver's.

    Args:
        name: of both.
        parameters: with their types.
        row: the four words, with their types, that a row has of it.
        call: the arguments, with their types, that the driver's function is called with.
        tell: the address of a kernel's words, or null.
    """
    words = "".join(f"  %words.now = load ptr, ptr {tell}, align 8\n" if tell else "")
    ctx = "%words.now" if tell else "null"
    told = f"  %told = call i32 @tell(ptr %row, i64 %b, i64 %c, ptr {ctx})\n" if tell else "  %told = add i32 0, 0\n"
    return f"""
define i32 @adstack.{name}({parameters}) {{
entry:
  %list = load ptr, ptr @list
  %none = icmp eq ptr %list, null
  br i1 %none, label %direct, label %open
open:
{_ROWS[name]}{words}{_at("notes", "%list", LIST)}
  %is.noted = icmp ne i64 %notes, 0
  br i1 %is.noted, label %noted, label %follow
noted:
  call void @note(ptr %list, {row}, ptr {ctx})
  br label %direct
follow:
  %row = call ptr @expect(ptr %list, {row})
  %other = icmp eq ptr %row, null
  br i1 %other, label %end, label %same
same:
{told}  %is.told = icmp eq i32 %told, 0
  br i1 %is.told, label %next, label %failed
next:
  %code.next = call i32 @advance(ptr %list, ptr %row)
  ret i32 %code.next
end:
{_at("otherwise", "%list", LIST)}
  %code.close = call i32 @adstack.close()
  %refuses = icmp ne i64 %otherwise, 0
  %refusal = trunc i64 %otherwise to i32
  %code.end = select i1 %refuses, i32 %refusal, i32 %code.close
  %is.closed = icmp eq i32 %code.end, 0
  br i1 %is.closed, label %direct, label %failed
failed:
  %code.bad = phi i32 [ %told, %same ], [ %code.end, %end ]
  ret i32 %code.bad
direct:
  %{name} = load ptr, ptr @{name}
  %code = call i32 %{name}({call})
  ret i32 %code
}}
"""


_ROWS: Final = {
    "launch": "  %a = ptrtoint ptr %f to i64\n  %b = zext i32 %gx to i64\n  %c = zext i32 %bx to i64\n",
    "zero": "",
    "copy": "",
}
_LAUNCH: Final = (
    "ptr %f, i32 %gx, i32 %gy, i32 %gz, i32 %bx, i32 %by, i32 %bz, i32 %shared, ptr %stream, ptr %given, ptr %extra"
)
_FETCH: Final = """
define i32 @adstack.fetch(i64 %to, i64 %from, i64 %size) {
entry:
  %list = load ptr, ptr @list
  %none = icmp eq ptr %list, null
  br i1 %none, label %direct, label %open
open:
  %notes.at = getelementptr i64, ptr %list, i64 NOTES
  %notes = load i64, ptr %notes.at, align 8
  %is.noted = icmp ne i64 %notes, 0
  br i1 %is.noted, label %direct, label %end
end:
  %code.end = call i32 @adstack.close()
  %is.closed = icmp eq i32 %code.end, 0
  br i1 %is.closed, label %direct, label %failed
failed:
  ret i32 %code.end
direct:
  %fetch = load ptr, ptr @fetch
  %code = call i32 %fetch(i64 %to, i64 %from, i64 %size)
  ret i32 %code
}
""".replace("NOTES", str(LIST["notes"]))

TEXT: Final = "".join(
    (
        "declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)\n",
        *(_GLOBALS, _INSTALL, _OPENING, _ISSUE, _CLOSE, _NOTE, _EXPECT, _TELL, _ADVANCE),
        _stand_in("launch", _LAUNCH, f"i64 {KERNEL}, i64 %a, i64 %b, i64 %c", _LAUNCH, "%given"),
        _stand_in(
            "zero",
            "i64 %at, i8 %value, i64 %size, ptr %stream",
            f"i64 {ZERO}, i64 %at, i64 %size, i64 0",
            "i64 %at, i8 %value, i64 %size, ptr %stream",
            "",
        ),
        _stand_in(
            "copy",
            "i64 %to, i64 %from, i64 %size, ptr %stream",
            f"i64 {COPY}, i64 %to, i64 %from, i64 %size",
            "i64 %to, i64 %from, i64 %size, ptr %stream",
            "",
        ),
        _FETCH,
    )
)
"""The module; zeroed memory is the only kind of filling that programs ask for."""
