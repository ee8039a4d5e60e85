"""Mistakes with blocks: threads that would wait for others that never come, races, sizes that can't be."""

from adstack.conformance.case import Raises, Run, case


def _parted(qd, how, x):
    """A kernel in which some threads of a block would not come to where the others wait."""
    block = qd.simt.block

    @qd.kernel
    def branch():
        qd.loop_config(block_dim=4)
        for i in x:
            if x[i] > 0:
                block.sync()
            x[i] = 1

    @qd.kernel
    def loop():
        qd.loop_config(block_dim=4)
        for i in x:
            for _ in range(block.thread_idx()):
                block.sync()

    @qd.kernel
    def left_out():
        qd.loop_config(block_dim=4)
        for i in x:
            if i > 5:
                continue
            block.sync()

    @qd.kernel
    def shared():
        qd.loop_config(block_dim=4)
        for i in x:
            tile = block.SharedArray(4, qd.i32)
            while tile[0] == 0:
                block.sync()
                tile[0] = 1

    @qd.kernel
    def counted():
        count = 0
        qd.loop_config(block_dim=4)
        for i in x:
            count += 1
            if count < 3:
                block.sync()

    @qd.kernel
    def subgroup():
        qd.loop_config(block_dim=4)
        for i in x:
            turns = 0
            if i == 0:
                turns = 3
            for _ in range(turns):
                x[i] += qd.simt.subgroup.reduce_add(1)

    return locals()[how]


@case(rules=["simt.uniform"], params={"how": ["branch", "loop", "left_out", "shared", "counted", "subgroup"]})
def threads_that_may_part_do_not_wait(qd, how):
    x = qd.field(qd.i32, shape=8)
    return Run(_parted(qd, how, x), raises=Raises("SyntaxError", "threads of a block may part before"))


def _racing(qd, how, x):
    block = qd.simt.block

    @qd.kernel
    def both_write():
        qd.loop_config(block_dim=4)
        for i in x:
            tile = block.SharedArray(4, qd.i32)
            tile[i // 2] = i

    @qd.kernel
    def no_wait_before_reading():
        qd.loop_config(block_dim=4)
        for i in x:
            tile = block.SharedArray(4, qd.i32)
            t = block.thread_idx()
            tile[t] = i
            x[i] = tile[3 - t]

    @qd.kernel
    def no_wait_after_reading():
        qd.loop_config(block_dim=4)
        for i in x:
            tile = block.SharedArray(4, qd.i32)
            t = block.thread_idx()
            for _ in range(2):
                tile[t] = i
                block.sync()
                x[i] += tile[(t + 1) % 4] + tile[t]

    @qd.kernel
    def not_all_atomic():
        qd.loop_config(block_dim=4)
        for i in x:
            tile = block.SharedArray(4, qd.i32)
            tile[0] += 1
            if block.thread_idx() == 3:
                x[i] = tile[0]

    return locals()[how]


@case(
    rules=["simt.race"],
    params={"how": ["both_write", "no_wait_before_reading", "no_wait_after_reading", "not_all_atomic"]},
    options={"debug": True},
)
def a_race_for_an_element_is_reported(qd, how):
    x = qd.field(qd.i32, shape=8)
    return Run(_racing(qd, how, x), raises=Raises("AssertionError", "Race on the shared array 'tile' at element"))


@case(rules=["simt.race"], options={"debug": True})
def what_one_thread_does_is_no_race(qd):
    x = qd.field(qd.i32, shape=4)

    @qd.kernel
    def k():
        qd.loop_config(block_dim=4)
        for i in x:
            tile = qd.simt.block.SharedArray((2, 4), qd.i32)
            t = qd.simt.block.thread_idx()
            for r in range(3):
                tile[r % 2, t] = tile[r % 2, t] + i
                qd.simt.block.sync()
                x[i] += tile[r % 2, 3 - t] + tile[r % 2, 0]

    # what thread t reads: r = 0: 3 - t; r = 1: 3 - t; r = 2: twice that; thread 0 leaves zeros
    return Run(k, expect={x: [4 * (3 - t) for t in range(4)]})


def _wrong(qd, how, x):
    block = qd.simt.block

    @qd.kernel
    def no_number():
        for i in x:
            block.sync()

    @qd.kernel
    def outside():
        block.sync()

    @qd.kernel
    def too_many():
        qd.loop_config(block_dim=2048)
        for i in x:
            x[i] = block.thread_idx()

    @qd.kernel
    def too_large():
        qd.loop_config(block_dim=4)
        for i in x:
            tile = block.SharedArray(5000, qd.f64)
            tile[i] = 1.0

    @qd.kernel
    def beyond():
        qd.loop_config(block_dim=4)
        for i in x:
            tile = block.SharedArray(4, qd.i32)
            tile[4] = 1

    @qd.kernel
    def one_index():
        qd.loop_config(block_dim=4)
        for i in x:
            tile = block.SharedArray((4, 4), qd.i32)
            tile[i] = 1

    return locals()[how]


WRONG = {
    "no_number": ("SyntaxError", "sync() needs a number of threads for each block"),
    "outside": ("SyntaxError", "sync() stands outside of a parallel loop"),
    "too_many": ("SyntaxError", "the loop has block_dim=2048"),
    "too_large": ("TypeError", "a block shares at most 32768 bytes"),
    "beyond": ("IndexError", "Accessing the shared array 'tile' out of bounds: index 4 of axis 0"),
    "one_index": ("IndexError", "the shared array 'tile' takes 2 indices, got 1"),
}


@case(rules=["simt.block", "simt.shared"], params={"how": list(WRONG)})
def a_mistake_with_blocks_is_told(qd, how):
    x = qd.field(qd.i32, shape=8)
    return Run(_wrong(qd, how, x), raises=Raises(*WRONG[how]))


@case(rules=["simt.shared"], options={"debug": True})
def an_index_outside_of_a_shared_array(qd):
    x = qd.field(qd.i32, shape=8)

    @qd.kernel
    def k():
        qd.loop_config(block_dim=4)
        for i in x:
            tile = qd.simt.block.SharedArray(4, qd.i32)
            tile[i] = 1

    return Run(k, raises=Raises("AssertionError", "Accessing the shared array 'tile' out of bounds"))
