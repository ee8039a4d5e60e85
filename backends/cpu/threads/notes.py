"""What a task calls at its end where an access was outside: the form of its note is in `codegen_llvm.safety.notes`."""

from __future__ import annotations

from typing import Final

from adstack.backends.codegen_llvm.safety.notes import ENTRY, MASK_AT

__all__ = ["NOTES"]

NOTES: Final = f"""
; a value of a note in a lane, by its entry in the table, as a word
define internal i64 @noted(ptr %note, ptr %entry, i64 %lane) {{
  %offset = load i64, ptr %entry, align 8
  %stride.at = getelementptr i64, ptr %entry, i64 1
  %stride = load i64, ptr %stride.at, align 8
  %unused.at = getelementptr i64, ptr %entry, i64 2
  %unused = load i64, ptr %unused.at, align 8
  %signed.at = getelementptr i64, ptr %entry, i64 3
  %signed = load i64, ptr %signed.at, align 8
  %growth.at = getelementptr i64, ptr %entry, i64 4
  %growth = load i64, ptr %growth.at, align 8
  %grown = mul i64 %lane, %growth
  %along = mul i64 %lane, %stride
  %place = add i64 %offset, %along
  %at = getelementptr i8, ptr %note, i64 %place
  %first = load i64, ptr %at, align 1
  %bits = add i64 %first, %grown
  %high = shl i64 %bits, %unused
  %as.signed = ashr i64 %high, %unused
  %as.unsigned = lshr i64 %high, %unused
  %has.sign = icmp ne i64 %signed, 0
  %number = select i1 %has.sign, i64 %as.signed, i64 %as.unsigned
  ret i64 %number
}}

; whether it is not below what it should be below
define internal i1 @exceeds(ptr %note, ptr %entry, i64 %lane) {{
  %limit.at = getelementptr i64, ptr %entry, i64 5
  %limit = load i64, ptr %limit.at, align 8
  %place.at = getelementptr i64, ptr %entry, i64 6
  %place = load i64, ptr %place.at, align 8
  %is.noted = icmp sge i64 %place, 0
  %number = call i64 @noted(ptr %note, ptr %entry, i64 %lane)
  br i1 %is.noted, label %load, label %compare
load:
  %at = getelementptr i8, ptr %note, i64 %place
  %extent = load i64, ptr %at, align 8
  br label %compare
compare:
  %end = phi i64 [ %limit, %0 ], [ %extent, %load ]
  %is.limited = icmp sge i64 %end, 0
  %is.over = icmp uge i64 %number, %end
  %exceeds = and i1 %is.limited, %is.over
  ret i1 %exceeds
}}

; find the first access that was outside in a note, and write it to the error record, if nothing stands there yet
define void @adstack_outside(ptr %errors, ptr %note) {{
entry:
  %table = load ptr, ptr %note, align 8
  %lanes = load i64, ptr %table, align 8
  %accesses.at = getelementptr i64, ptr %table, i64 1
  %accesses = load i64, ptr %accesses.at, align 8
  %running.at = getelementptr i8, ptr %note, i64 {MASK_AT}
  %some.run = load i128, ptr %running.at, align 8
  %masked.at = getelementptr i64, ptr %table, i64 2
  %masked = load i64, ptr %masked.at, align 8
  %all.run = icmp eq i64 %masked, 0
  %running = select i1 %all.run, i128 -1, i128 %some.run
  %first = getelementptr i64, ptr %table, i64 3
  br label %access
access:
  %number = phi i64 [ 0, %entry ], [ %number.next, %fine ]
  %at = phi ptr [ %first, %entry ], [ %following, %fine ]
  %some = icmp ult i64 %number, %accesses
  br i1 %some, label %lanes.of, label %out
lanes.of:
  %site = load i64, ptr %at, align 8
  %count.at = getelementptr i64, ptr %at, i64 1
  %count = load i64, ptr %count.at, align 8
  %entries = getelementptr i64, ptr %at, i64 2
  %following = getelementptr [{ENTRY} x i64], ptr %entries, i64 %count
  %number.next = add i64 %number, 1
  br label %lane.of
lane.of:
  %lane = phi i64 [ 0, %lanes.of ], [ %lane.next, %inside ]
  %is.lane = icmp ult i64 %lane, %lanes
  br i1 %is.lane, label %test, label %fine
test:
  %by = zext i64 %lane to i128
  %shifted = lshr i128 %running, %by
  %runs = trunc i128 %shifted to i1
  br i1 %runs, label %indices, label %inside
indices:
  %k = phi i64 [ 0, %test ], [ %k.next, %index ]
  %more = icmp ult i64 %k, %count
  br i1 %more, label %index, label %inside
index:
  %index.at = getelementptr [{ENTRY} x i64], ptr %entries, i64 %k
  %k.next = add i64 %k, 1
  %bad = call i1 @exceeds(ptr %note, ptr %index.at, i64 %lane)
  br i1 %bad, label %told, label %indices
inside:
  %lane.next = add i64 %lane, 1
  br label %lane.of
fine:
  br label %access
told:
  %old = cmpxchg ptr %errors, i64 0, i64 1 monotonic monotonic
  %won = extractvalue {{ i64, i1 }} %old, 1
  br i1 %won, label %record, label %out
record:
  %record.at = getelementptr i64, ptr %errors, i64 1
  store i64 %site, ptr %record.at, align 8
  br label %values
values:
  %v = phi i64 [ 0, %record ], [ %v.next, %value ]
  %left = icmp ult i64 %v, %count
  br i1 %left, label %value, label %out
value:
  %value.at = getelementptr [{ENTRY} x i64], ptr %entries, i64 %v
  %word = call i64 @noted(ptr %note, ptr %value.at, i64 %lane)
  %v.next = add i64 %v, 1
  %to = getelementptr i64, ptr %record.at, i64 %v.next
  store i64 %word, ptr %to, align 8
  br label %values
out:
  ret void
}}
"""
