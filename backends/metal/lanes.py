"""The functions of a simdgroup and a threadgroup, for clang on the host: threads have stacks of their own, and meet.

A thread runs until it comes to such a function. When all threads of a simdgroup have come to one or have ended, those
that came must be at the same line, with the same distance: they are the active ones. What others have is `0xdeadbeef`,
so that it is seen if somebody takes it. Simdgroups of a threadgroup run one after another, to a barrier to which all
threads must come, then on: forwards, then backwards, so that it shows where a barrier is missing.
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
enum { WIDTH = 32, MOST = 1024, STACK = 1 << 17, BELOW = 1 << 13 };  // words; what is below a stack is looked at
enum State { RUNS, MEETS, STANDS, ENDED };  // at a function of the simdgroup, at a barrier
const ulong INTACT = 0x5afe57ac5afe57acul;
struct Lane { void* volatile stack; ulong* memory; volatile uint state, line, distance, value; };
static Lane all[MOST];
static volatile uint seen[WIDTH], now;
static volatile ulong active, function_at, launch_at, first, threads, size;
static volatile uint number, groups;
static void* volatile host;
static void (*volatile body)(uint);

static void begin() {
    body(now);
    all[now].state = ENDED;
    switch_lane(&all[now].stack, host);
}

static void stop(State state, uint line, uint distance, uint value) {
    Lane& me = all[now];
    me.line = line;
    me.distance = distance;
    me.value = value;
    me.state = state;
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

// Let a simdgroup run until each thread has ended or stands at a barrier; a line at which some are alone, or 0.
static uint simdgroup(uint from, uint count) {
    Lane* const lane = all + from;
    do {
        bool stands = false;
        for (uint k = 0; k < count; ++k) {
            if (lane[k].state != ENDED && lane[k].state != STANDS) {
                now = from + k;
                switch_lane(&host, lane[k].stack);
                if (lane[k].memory[BELOW] != INTACT) return 0xffffffff;
            }
            stands |= lane[k].state == STANDS;
        }
        active = 0;
        const Lane* some = nullptr;
        for (uint k = 0; k < WIDTH; ++k) {
            const bool here = k < count && lane[k].state == MEETS;
            seen[k] = here ? lane[k].value : 0xdeadbeef;
            if (!here) continue;
            if (stands || (some && (some->line != lane[k].line || some->distance != lane[k].distance))) {
                return lane[k].line;
            }
            some = &lane[k];
            active = active | 1ul << k;
        }
    } while (active);
    return 0;
}

// Let so many threads run until all have ended; a line at which some are while others are not, or 0.
static uint group(uint count) {
    const uint simdgroups = (count + WIDTH - 1) / WIDTH;
    for (uint k = 0; k < count; ++k) prepare(all[k]);
    for (bool back = false;; back = !back) {
        for (uint k = 0; k < simdgroups; ++k) {
            const uint from = (back ? simdgroups - 1 - k : k) * WIDTH;
            const uint line = simdgroup(from, count - from < WIDTH ? count - from : WIDTH);
            if (line) return line;
        }
        uint line = 0, standing = 0;
        for (uint k = 0; k < count; ++k) {
            if (all[k].state != STANDS) continue;
            if (line && line != all[k].line) return line;
            line = all[k].line;
            ++standing;
        }
        if (standing != count) return line;
        for (uint k = 0; k < count; ++k) all[k].state = RUNS;
    }
}

template <typename L>
static uint run(void (*function)(device L&, uint, uint), device L& launch, uint threads, uint) {
    for (uint thread = 0; thread < threads; ++thread) function(launch, thread, threads);
    return 0;
}
template <typename T, T... I> struct Numbers {};
template <typename F, typename L, uint... I> static void call_with(uint k, Numbers<uint, I...>) {
    const uint told[] = {k % WIDTH, WIDTH, k / WIDTH, uint(size + WIDTH - 1) / WIDTH, k, number, groups};
    ((F)function_at)(*(device L*)launch_at, first + k, threads, told[I]...);
}
template <typename L, typename... N> static void call(uint k) {
    typedef void (*Function)(device L&, uint, uint, N...);
    call_with<Function, L>(k, __make_integer_seq<Numbers, uint, sizeof...(N)>());
}
template <typename L, typename... N>
static uint run(void (*function)(device L&, uint, uint, uint, N...), device L& launch, uint count, uint most) {
    function_at = (ulong)function, launch_at = (ulong)&launch, threads = count, body = call<L, uint, N...>;
    if (most > count) most = count;
    for (uint k = 0; k < most; ++k) all[k].memory = (ulong*)malloc(8 * (BELOW + STACK));
    uint line = 0;
    number = 0, groups = count ? (count + most - 1) / most : 0;
    for (first = 0; first < count && !line; first = first + most, number = number + 1) {
        size = count - first < most ? count - first : most;
        line = group(size);
    }
    for (uint k = 0; k < most; ++k) free(all[k].memory);
    return line;
}
}  // namespace lanes

namespace metal {
enum class mem_flags { mem_none = 0, mem_device = 1, mem_threadgroup = 2 };
inline mem_flags operator|(mem_flags a, mem_flags b) { return mem_flags(int(a) | int(b)); }
inline void threadgroup_barrier(mem_flags, uint line = __builtin_LINE()) { lanes::stop(lanes::STANDS, line, 0, 0); }
struct simd_vote {
    typedef ulong vote_t;
    vote_t mask;
    explicit operator vote_t() const { return mask; }
};
inline simd_vote simd_ballot(bool x, uint line = __builtin_LINE()) {
    lanes::stop(lanes::MEETS, line, 0, x);
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
    lanes::stop(lanes::MEETS, line, distance, bits);
    const uint me = lanes::now % lanes::WIDTH, other = me + distance;
    bits = lanes::seen[other < lanes::WIDTH ? other : me];
    __builtin_memcpy(&x, &bits, sizeof(T));
    return x;
}
}  // namespace metal
"""
"""What stands behind the types of `shim`, and `run`, which runs all threads of a kernel function."""
