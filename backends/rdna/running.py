"""What starts waves and runs them, as C++: workgroups one after another, and their waves, in turns where they wait."""

from __future__ import annotations

from typing import Final

__all__ = ["ENTRY", "RUN"]

ENTRY: Final = "adstack_run"
RUN: Final = """
// What a dispatch is: see `machine.Dispatch`. `pc`: of the instruction begun last.
struct Dispatch {
    u64 records, base, dwords, entry, packet, words, scratch, bytes, group, group_bytes, groups, threads;
    u64 properties, setup, skew;
    u64 state, pc;
};
// Registers hold anything when a wave starts, but for what the descriptor asks for.
static void set_up(Wave& w, const Dispatch& d, u32 group, u32 first) {
    for (u32 k = 0; k < 128; ++k) w.s[k] = 0xbad00000 + k;
    for (u32 k = 0; k < REGISTERS; ++k)
        for (u32 l = 0; l < LANES; ++l) w.v[k][l] = 0xbadbad00 + k;
    u32 at = 0;
    for (u32 k = 0; k < 7; ++k) {
        if (!(d.properties >> k & 1)) continue;
        const u32 sizes[] = {4, 2, 2, 2, 2, 2, 1};
        const u64 value = k == 1 ? d.packet : k == 3 ? d.words : k == 6 ? d.bytes : 0;
        w.s[at] = u32(value);
        if (sizes[k] > 1) w.s[at + 1] = u32(value >> 32);
        at += sizes[k];
    }
    at = d.setup >> 1 & 31;
    if (d.setup >> 7 & 1) w.s[at] = group;
    const u64 left = d.threads - first;
    set_scalar(w, EXEC, left >= LANES ? ~Bits(0) : (Bits(1) << left) - 1, sizeof(Bits));
    if (LANES == 32) w.s[EXEC + 1] = w.s[VCC + 1] = 0;
    for (u32 l = 0; l < LANES; ++l) w.v[0][l] = first + l;
    w.records = (const Record*)d.records;
    w.base = d.base;
    w.bytes = u32(d.bytes);
    w.scratch = d.scratch + u64(first) * w.bytes;
    w.group = d.group;
    w.group_bytes = u32(d.group_bytes);
    w.skew = i32(d.skew);
    w.pc = d.entry;
    w.state = RUNS;
    w.indexed = false;
    w.scc = 0;
}
// Until it ends, or waits for the others of its workgroup, or can't go on.
static void run(Wave& w, Dispatch& d) {
    while (w.state == RUNS) {
        const u64 at = (w.pc - w.base) / 4;
        const Record& rec = w.records[at < d.dwords ? at : 0];
        if (at >= d.dwords || rec.size == 0) return w.stop(OUTSIDE);
        d.pc = w.pc;
        w.pc += 4 * u64(rec.size);
        if (w.indexed) step_indexed(w, rec);
        else step(w, rec);
    }
}
static Wave waves[MOST_THREADS / LANES];
// The waves of a workgroup one after another, again and again, if some wait for the others: forwards, then backwards,
// so that it shows where they should have waited and did not.
static u32 run_group(Dispatch& d, u32 group) {
    const u32 count = u32((d.threads + LANES - 1) / LANES);
    for (u64 k = 0; k < d.group_bytes; ++k) ((u8*)d.group)[k] = 0xcd;
    for (u32 k = 0; k < count; ++k) set_up(waves[k], d, group, k * LANES);
    for (bool waits = true, back = false; waits; back = !back) {
        waits = false;
        for (u32 j = 0; j < count; ++j) {
            const u32 k = back ? count - 1 - j : j;
            run(waves[k], d);
            if (waves[k].state == WAITS) waits = true;
            else if (waves[k].state != ENDED) return waves[k].state;
        }
        for (u32 k = 0; k < count; ++k)
            if (waves[k].state == WAITS) waves[k].state = RUNS;
    }
    return ENDED;
}
extern "C" u64 adstack_run(Dispatch* d) {
    d->state = ENDED;
    for (u32 group = 0; group < d->groups && d->state == ENDED; ++group) d->state = run_group(*d, group);
    return d->state;
}
"""
"""The entry, which returns the state of the last wave."""
