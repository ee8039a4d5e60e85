"""What starts waves and runs them, as C++: workgroups one after another, and their waves."""

from __future__ import annotations

from typing import Final

__all__ = ["ENTRY", "RUN"]

ENTRY: Final = "adstack_run"
RUN: Final = """
// What a dispatch is: see `machine.Dispatch`. `state` and `pc` are told where a wave did not come to its end.
struct Dispatch {
    u64 records, base, dwords, entry, packet, words, scratch, bytes, group, group_bytes, groups, threads;
    u64 properties, setup, skew;
    u64 state, pc;
};
// Registers hold anything when a wave starts, but for what the descriptor asks for.
static void set_up(Wave& w, const Dispatch& d, u32 group, u32 first) {
    for (u32 k = 0; k < 128; ++k) w.s[k] = 0xbad00000 + k;
    for (u32 k = 0; k < 256; ++k)
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
    w.s[EXEC] = left >= LANES ? ~0u : (1u << left) - 1;
    w.s[EXEC + 1] = 0;
    w.s[VCC + 1] = 0;
    for (u32 l = 0; l < LANES; ++l) w.v[0][l] = first + l;
    w.pc = d.entry;
    w.state = RUNS;
    w.scc = 0;
}
static Wave wave;
extern "C" u64 adstack_run(Dispatch* d) {
    Wave& w = wave;
    w.records = (const Record*)d->records;
    w.base = d->base;
    w.scratch = d->scratch;
    w.bytes = u32(d->bytes);
    w.group = d->group;
    w.group_bytes = u32(d->group_bytes);
    w.skew = i32(d->skew);
    for (u32 group = 0; group < d->groups; ++group) {
        for (u64 k = 0; k < d->group_bytes; ++k) ((u8*)d->group)[k] = 0xcd;
        for (u32 first = 0; first < d->threads; first += LANES) {
            set_up(w, *d, group, first);
            while (w.state == RUNS) {
                const u64 at = (w.pc - w.base) / 4;
                if (at >= d->dwords) {
                    w.stop(OUTSIDE);
                    break;
                }
                const Record& rec = w.records[at];
                if (rec.size == 0) {
                    w.stop(OUTSIDE);
                    break;
                }
                d->pc = w.pc;
                w.pc += 4 * u64(rec.size);
                step(w, rec);
            }
            d->state = w.state;
            if (w.state != ENDED) return w.state;
        }
    }
    return ENDED;
}
"""
"""The entry, which returns the state of the last wave."""
