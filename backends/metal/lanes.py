"""The functions of a simdgroup, for clang on the host: its threads have stacks of their own, and meet at each.

A thread runs until it comes to such a function. When all threads of the simdgroup have come to one or have ended, those
that came must be at the same line, with the same distance: they are the active ones. What others have is `0xdeadbeef`,
so that it is seen if somebody takes it.
"""

from __future__ import annotations

from typing import Final

__all__ = ["BROKEN_STACK", "LANES"]

BROKEN_STACK: Final = 0xFFFFFFFF
"""What `run` gives, in place of a line, if a thread needed more of its stack than there is."""

LANES: Final = """
#if defined(__x86_64__)
asm(R"(
    .text
    .p2align 4
adstack_switch_lane:
    pushq %rbp
    pushq %rbx
    pushq %r12
    pushq %r13
    pushq %r14
    pushq %r15
    movq %rsp, (%rdi)
    movq %rsi, %rsp
    popq %r15
    popq %r14
    popq %r13
    popq %r12
    popq %rbx
    popq %rbp
    retq
)");
enum { SAVED = 8, RETURN = 6 };  // words on the stack of a thread that waits, and which of them is where it goes on
#elif defined(__aarch64__)
asm(R"(
    .text
    .p2align 4
adstack_switch_lane:
    sub sp, sp, #160
    stp x19, x20, [sp]
    stp x21, x22, [sp, #16]
    stp x23, x24, [sp, #32]
    stp x25, x26, [sp, #48]
    stp x27, x28, [sp, #64]
    stp x29, x30, [sp, #80]
    stp d8, d9, [sp, #96]
    stp d10, d11, [sp, #112]
    stp d12, d13, [sp, #128]
    stp d14, d15, [sp, #144]
    mov x9, sp
    str x9, [x0]
    mov sp, x1
    ldp x19, x20, [sp]
    ldp x21, x22, [sp, #16]
    ldp x23, x24, [sp, #32]
    ldp x25, x26, [sp, #48]
    ldp x27, x28, [sp, #64]
    ldp x29, x30, [sp, #80]
    ldp d8, d9, [sp, #96]
    ldp d10, d11, [sp, #112]
    ldp d12, d13, [sp, #128]
    ldp d14, d15, [sp, #144]
    add sp, sp, #160
    ret
)");
enum { SAVED = 20, RETURN = 11 };
#endif

namespace lanes {
extern "C" void* malloc(ulong size);
extern "C" void free(void* memory);
extern "C" void switch_lane(void* volatile* from, void* to) asm("adstack_switch_lane");
enum { WIDTH = 32, STACK = 1 << 17, BELOW = 1 << 13 };  // words; what is below a stack is looked at
enum State { RUNS, WAITS, ENDED };
const ulong INTACT = 0x5afe57ac5afe57acul;
struct Lane { void* volatile stack; ulong* memory; volatile uint state, line, distance, value; };
static Lane all[WIDTH];
static volatile uint seen[WIDTH], now;
static volatile ulong active, function_at, launch_at, first, threads;
static void* volatile host;
static void (*volatile body)(uint);

static void begin() {
    body(now);
    all[now].state = ENDED;
    switch_lane(&all[now].stack, host);
}

static void meet(uint line, uint distance, uint value) {
    Lane& me = all[now];
    me.line = line;
    me.distance = distance;
    me.value = value;
    me.state = WAITS;
    switch_lane(&me.stack, host);
}

static void prepare(Lane& lane) {
    lane.memory[BELOW] = INTACT;
    ulong* stack = (ulong*)((ulong)(lane.memory + BELOW + STACK) & ~15ul) - SAVED;
    for (uint k = 0; k < SAVED; ++k) stack[k] = 0;
    stack[RETURN] = (ulong)&begin;
    lane.stack = stack;
    lane.state = RUNS;
}

// Let so many threads run until all have ended; a line at which some are while others are not, or 0.
static uint simdgroup(uint count) {
    for (uint k = 0; k < count; ++k) prepare(all[k]);
    do {
        for (uint k = 0; k < count; ++k) {
            if (all[k].state == ENDED) continue;
            now = k;
            switch_lane(&host, all[k].stack);
            if (all[k].memory[BELOW] != INTACT) return 0xffffffff;
        }
        active = 0;
        const Lane* some = nullptr;
        for (uint k = 0; k < WIDTH; ++k) {
            const bool here = k < count && all[k].state == WAITS;
            seen[k] = here ? all[k].value : 0xdeadbeef;
            if (!here) continue;
            if (some && (some->line != all[k].line || some->distance != all[k].distance)) return all[k].line;
            some = &all[k];
            active = active | 1ul << k;
        }
    } while (active);
    return 0;
}

template <typename L> static uint run(void (*function)(device L&, uint, uint), device L& launch, uint threads) {
    for (uint thread = 0; thread < threads; ++thread) function(launch, thread, threads);
    return 0;
}
template <typename L> static void call(uint lane) {
    typedef void (*Function)(device L&, uint, uint, uint, uint);
    ((Function)function_at)(*(device L*)launch_at, first + lane, threads, lane, WIDTH);
}
template <typename L>
static uint run(void (*function)(device L&, uint, uint, uint, uint), device L& launch, uint count) {
    function_at = (ulong)function, launch_at = (ulong)&launch, threads = count, body = call<L>;
    const uint most = count < WIDTH ? count : WIDTH;
    for (uint k = 0; k < most; ++k) all[k].memory = (ulong*)malloc(8 * (BELOW + STACK));
    uint line = 0;
    for (first = 0; first < count && !line; first = first + WIDTH) {
        line = simdgroup(count - first < WIDTH ? count - first : WIDTH);
    }
    for (uint k = 0; k < most; ++k) free(all[k].memory);
    return line;
}
}  // namespace lanes

namespace metal {
struct simd_vote {
    typedef ulong vote_t;
    vote_t mask;
    explicit operator vote_t() const { return mask; }
};
inline simd_vote simd_ballot(bool x, uint line = __builtin_LINE()) {
    lanes::meet(line, 0, x);
    simd_vote vote{0};
    for (uint k = 0; k < lanes::WIDTH; ++k) vote.mask |= (lanes::active >> k & 1 & lanes::seen[k]) << k;
    return vote;
}
inline bool simd_any(bool x, uint line = __builtin_LINE()) { return simd_ballot(x, line).mask != 0; }
bool simd_shuffle_down(bool x, ushort distance, uint line = 0) = delete;
template <typename T> inline T simd_shuffle_down(T x, ushort distance, uint line = __builtin_LINE()) {
    static_assert(sizeof(T) <= 4, "threads of a simdgroup hand over 32 bits at most");
    uint bits = 0;
    __builtin_memcpy(&bits, &x, sizeof(T));
    lanes::meet(line, distance, bits);
    const uint me = lanes::now, other = me + distance;
    bits = lanes::seen[other < lanes::WIDTH ? other : me];
    __builtin_memcpy(&x, &bits, sizeof(T));
    return x;
}
}  // namespace metal
"""
"""What stands behind the types of `shim`, and `run`, which runs all threads of a kernel function."""
