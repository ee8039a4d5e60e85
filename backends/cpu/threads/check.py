"""Whether a launch must end, and the interpreter's lock, as LLVM assembly: part of the thread pool's code."""

from __future__ import annotations

from typing import Final

from .system import CHECK_NANOSECONDS

__all__ = ["CHECK"]

CHECK: Final = f"""
; whether this launch must end: Python's signal handlers run, now and then, and one of them raised
define internal i1 @interrupted(ptr %last) {{
  %stopped = call i1 @stopped()
  br i1 %stopped, label %yes, label %time
yes:
  ret i1 true
time:
  %now = call i64 @now()
  %then = load i64, ptr %last, align 8
  %since = sub i64 %now, %then
  %due = icmp sge i64 %since, {CHECK_NANOSECONDS}
  br i1 %due, label %look, label %no
look:
  store i64 %now, ptr %last, align 8
  %thread = call ptr @PyGILState_GetThisThreadState()
  %foreign = icmp eq ptr %thread, null
  br i1 %foreign, label %no, label %ask
ask:
  %held = call i32 @PyGILState_Ensure()
  %raised = call i32 @PyErr_CheckSignals()
  call void @PyGILState_Release(i32 %held)
  %stop = icmp ne i32 %raised, 0
  br i1 %stop, label %tell, label %no
tell:
  store atomic i64 1, ptr $stop$ monotonic, align 8
  ret i1 true
no:
  ret i1 false
}}

define internal i1 @stopped() {{
  %word = load atomic i64, ptr $stop$ monotonic, align 8
  %set = icmp ne i64 %word, 0
  ret i1 %set
}}

; what a long loop of a task asks now and then: whether to stop. Signal handlers run on the caller's thread, in seat 0
define i1 @adstack_poll(i64 %seat) {{
  %caller = icmp eq i64 %seat, 0
  br i1 %caller, label %ask, label %look
ask:
  %raised = call i1 @interrupted(ptr $looked$)
  ret i1 %raised
look:
  %set = call i1 @stopped()
  ret i1 %set
}}

; release the interpreter's lock if this thread holds it; what to give back to @enter, or null
define internal ptr @leave() {{
  %own = call ptr @PyGILState_GetThisThreadState()
  %current = call ptr @PyThreadState_GetUnchecked()
  %none = icmp eq ptr %own, null
  %other = icmp ne ptr %own, %current
  %without = or i1 %none, %other
  br i1 %without, label %not, label %release
release:
  %saved = call ptr @PyEval_SaveThread()
  ret ptr %saved
not:
  ret ptr null
}}

define internal void @enter(ptr %saved) {{
  %none = icmp eq ptr %saved, null
  br i1 %none, label %done, label %take
take:
  call void @PyEval_RestoreThread(ptr %saved)
  ret void
done:
  ret void
}}
"""
