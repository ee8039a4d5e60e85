"""Machine code that stands between the host's code of programs and the driver: see `lists`, as LLVM assembly.

`adstack.launch`, `adstack.zero`, `adstack.copy` and `adstack.fetch` are called as cuLaunchKernel, cuMemsetD8Async,
cuMemcpyDtoDAsync and cuMemcpyDtoH are, and do the same. Where a list is open, which is a record of `LIST` words, they
note what they do; or they compare it with the next row of the list, tell the row's node what is new, and leave it to
the graph that has the node, which is launched when its last row has come. Whatever is not the next row closes the
list: what was left to a graph that has not been launched is done then, in order, command by command.
"""

from __future__ import annotations

from typing import Final

from .layout import COPY, KERNEL, LIST, ROW, ZERO, loaded
from .noting import NOTE

__all__ = ["NAMES", "TEXT"]

_DRIVER: Final = ("launch", "zero", "copy", "fetch", "set", "start")
"""The driver's functions: the four that are stood in for, cuGraphExecKernelNodeSetParams and cuGraphLaunch."""
NAMES: Final = ("launch", "zero", "copy", "fetch", "install", "open", "close", "opened")
"""The functions of the text, without the prefix.

install(six addresses): what the driver's functions are.
open(list): a list is open from now on. close(): none is, once what was left is done; gives CUDA's first error, or 0.
opened(): the list that is open, or null.
"""


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
{loaded("kind", "%row", ROW)}{loaded("a", "%row", ROW)}{loaded("b", "%row", ROW)}{loaded("c", "%row", ROW)}
  switch i64 %kind, label %kernel [ i64 {ZERO}, label %zeroed i64 {COPY}, label %copied ]
kernel:
{loaded("words", "%row", ROW, "ptr")}
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
{loaded("next", "%list", LIST)}{loaded("launched", "%list", LIST)}{loaded("rows", "%list", LIST, "ptr")}
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

_EXPECT: Final = f"""
; the next row of a list, if it is this command; else null. A kernel may come with other blocks
define internal ptr @expect(ptr %list, i64 %kind.now, i64 %a.now, i64 %b.now, i64 %c.now) {{
entry:
{loaded("count", "%list", LIST)}{loaded("next", "%list", LIST)}{loaded("rows", "%list", LIST, "ptr")}
  %left = icmp slt i64 %next, %count
  br i1 %left, label %look, label %no
look:
  %row = getelementptr [{len(ROW)} x i64], ptr %rows, i64 %next
{loaded("kind", "%row", ROW)}{loaded("a", "%row", ROW)}{loaded("b", "%row", ROW)}{loaded("c", "%row", ROW)}
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
{loaded("words", "%row", ROW, "ptr")}{loaded("size", "%row", ROW)}{loaded("skip", "%row", ROW)}
{loaded("b", "%row", ROW)}{loaded("c", "%row", ROW)}
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
{loaded("a", "%row", ROW, "ptr")}
{loaded("node", "%row", ROW, "ptr")}{loaded("graph", "%row", ROW, "ptr")}
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
{loaded("next", "%list", LIST)}{loaded("last", "%row", ROW)}{loaded("graph", "%row", ROW, "ptr")}
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


_FOLLOW: Final = f"""
; a command has come while a list is open: -1 if it is to be done now, else it is, and this is CUDA's code
define internal i64 @follow(ptr %list, i64 %kind, i64 %a, i64 %b, i64 %c, ptr %ctx) {{
entry:
{loaded("notes", "%list", LIST)}
  %is.noted = icmp ne i64 %notes, 0
  br i1 %is.noted, label %noted, label %look
noted:
  call void @note(ptr %list, i64 %kind, i64 %a, i64 %b, i64 %c, ptr %ctx)
  ret i64 -1
look:
  %row = call ptr @expect(ptr %list, i64 %kind, i64 %a, i64 %b, i64 %c)
  %other = icmp eq ptr %row, null
  br i1 %other, label %end, label %same
same:
  %told = call i32 @tell(ptr %row, i64 %b, i64 %c, ptr %ctx)
  %is.told = icmp eq i32 %told, 0
  br i1 %is.told, label %next, label %over
next:
  %advanced = call i32 @advance(ptr %list, ptr %row)
  br label %over
end:
{loaded("otherwise", "%list", LIST)}
  %closed = call i32 @adstack.close()
  %refuses = icmp ne i64 %otherwise, 0
  %refusal = trunc i64 %otherwise to i32
  %ended = select i1 %refuses, i32 %refusal, i32 %closed
  %fine = icmp eq i32 %ended, 0
  br i1 %fine, label %now, label %over
now:
  ret i64 -1
over:
  %code = phi i32 [ %told, %same ], [ %advanced, %next ], [ %ended, %end ]
  %wide = zext i32 %code to i64
  ret i64 %wide
}}
"""


def _stand_in(name: str, parameters: str, row: str, before: str = "") -> str:
    """A function that stands in for one of the driver's.

    Args:
        name: of both.
        parameters: with their types.
        row: what `@follow` is told of it, with the types.
        before: computes that from the parameters.
    """
    return f"""
define i32 @adstack.{name}({parameters}) {{
entry:
  %list = load ptr, ptr @list
  %none = icmp eq ptr %list, null
  br i1 %none, label %direct, label %open
open:
{before}
  %followed = call i64 @follow(ptr %list, {row})
  %now = icmp slt i64 %followed, 0
  br i1 %now, label %direct, label %done
done:
  %code.done = trunc i64 %followed to i32
  ret i32 %code.done
direct:
  %{name} = load ptr, ptr @{name}
  %code = call i32 %{name}({parameters})
  ret i32 %code
}}
"""


_LAUNCH: Final = _stand_in(
    "launch",
    "ptr %f, i32 %gx, i32 %gy, i32 %gz, i32 %bx, i32 %by, i32 %bz, i32 %shared, ptr %stream, ptr %told, ptr %extra",
    f"i64 {KERNEL}, i64 %a, i64 %b, i64 %c, ptr %ctx",
    "  %a = ptrtoint ptr %f to i64\n  %b = zext i32 %gx to i64\n  %c = zext i32 %bx to i64\n"
    "  %ctx = load ptr, ptr %told, align 8",
)
_ZEROED: Final = _stand_in(
    "zero", "i64 %at, i8 %value, i64 %size, ptr %stream", f"i64 {ZERO}, i64 %at, i64 %size, i64 0, ptr null"
)
"""Programs fill memory with nothing else."""
_COPIED: Final = _stand_in(
    "copy", "i64 %to, i64 %from, i64 %size, ptr %stream", f"i64 {COPY}, i64 %to, i64 %from, i64 %size, ptr null"
)
_FETCHED: Final = f"""
define i32 @adstack.fetch(i64 %to, i64 %from, i64 %size) {{
entry:
  %list = load ptr, ptr @list
  %none = icmp eq ptr %list, null
  br i1 %none, label %direct, label %open
open:
{loaded("notes", "%list", LIST)}
  %is.noted = icmp ne i64 %notes, 0
  br i1 %is.noted, label %direct, label %end
end:
  %closed = call i32 @adstack.close()
  %is.closed = icmp eq i32 %closed, 0
  br i1 %is.closed, label %direct, label %failed
failed:
  ret i32 %closed
direct:
  %fetch = load ptr, ptr @fetch
  %code = call i32 %fetch(i64 %to, i64 %from, i64 %size)
  ret i32 %code
}}
"""
"""What the host reads has been done before."""

TEXT: Final = "".join(
    (
        "declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)\n",
        *(_GLOBALS, _INSTALL, _OPENING, _ISSUE, _CLOSE, NOTE, _EXPECT, _TELL, _ADVANCE, _FOLLOW),
        *(_LAUNCH, _ZEROED, _COPIED, _FETCHED),
    )
)
"""The module."""
