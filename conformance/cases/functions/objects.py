"""Kernels and functions as methods; objects, dataclasses and structs as arguments."""

import numpy as np

from adstack.conformance.case import Run, case


@case(rules=["control.func", "control.template"])
def methods_are_kernels_and_functions(qd):
    @qd.data_oriented
    class Counter:
        def __init__(self, n, step):
            self.n, self.step = n, step
            self.x = qd.field(qd.i32, shape=n)

        @qd.func
        def value(self, i):
            return i * self.step

        @qd.kernel
        def fill(self, base: qd.i32):
            for i in self.x:
                self.x[i] = base + self.value(i)

    small, large = Counter(2, 10), Counter(3, 100)
    return [
        Run(small.fill, args=(1,), expect={small.x: [1, 11], large.x: 0}),
        Run(large.fill, args=(2,), expect={small.x: [1, 11], large.x: [2, 102, 202]}),
    ]


@case(rules=["control.template"])
def a_changed_attribute_is_seen(qd):
    @qd.data_oriented
    class Scale:
        def __init__(self):
            self.by = 2

        @qd.kernel
        def of(self, v: qd.i32) -> qd.i32:
            return self.by * v

    scale = Scale()

    def tripled():
        scale.by = 3
        return scale.of(7)

    return [Run(scale.of, args=(7,), returns=14), Run(tripled, returns=21)]


@case(rules=["control.template"], params={"kind": ["list", "nested", "vector", "matrix", "dict", "array"]})
def what_an_attribute_holds_may_change_in_place(qd, kind):
    """The object stays the same, and so does its attribute; later calls and their gradients see the new number."""

    @qd.data_oriented
    class Scale:
        def __init__(self):
            self.x, self.y = (qd.field(qd.f32, shape=2, needs_grad=True) for _ in range(2))
            self.by = {
                "list": [2.0, 3.0],
                "nested": [[5.0], [2.0, 3.0]],
                "vector": qd.Vector([2.0, 3.0]),
                "matrix": qd.Matrix([[2.0, 3.0], [4.0, 5.0]]),
                "dict": {"first": 2.0, "second": 3.0},
                "array": np.array([2.0, 3.0], np.float32),
            }[kind]

        @qd.kernel
        def of(self):
            for i in self.x:
                if qd.static(kind == "nested"):
                    self.y[i] = self.x[i] * self.by[1][0]
                elif qd.static(kind == "matrix"):
                    self.y[i] = self.x[i] * self.by[0, 0]
                elif qd.static(kind == "dict"):
                    self.y[i] = self.x[i] * self.by["first"]
                else:
                    self.y[i] = self.x[i] * self.by[0]

    scale = Scale()

    def both():
        for _ in range(3):
            scale.of()
        scale.of.grad()

    def changed():
        if kind == "nested":
            scale.by[1][0] = 7.0
        elif kind == "matrix":
            scale.by[0, 0] = 7.0
        else:
            scale.by["first" if kind == "dict" else 0] = 7.0
        both()

    given = {scale.x: [1, -3], scale.x.grad: 0, scale.y.grad: 1}
    return [
        Run(both, given=given, expect={scale.y: [2, -6], scale.x.grad: 2}),
        Run(changed, given=given, expect={scale.y: [7, -21], scale.x.grad: 7}),
    ]


@case(rules=["control.template"])
def an_attribute_may_be_a_list_of_fields_that_changes(qd):
    """An item replaced, then one appended: other fields are written."""

    @qd.data_oriented
    class Layers:
        def __init__(self):
            self.all = [qd.field(qd.i32, shape=2) for _ in range(3)]
            self.used = self.all[:2]

        @qd.kernel
        def fill(self):
            for k in qd.static(range(len(self.used))):
                for i in self.used[k]:
                    self.used[k][i] += 1

    layers = Layers()
    a, b, c = layers.all

    def thrice():
        for _ in range(3):
            layers.fill()

    def replaced():
        layers.used[1] = c
        thrice()

    def longer():
        layers.used.append(b)
        thrice()

    return [
        Run(thrice, expect={a: 3, b: 3, c: 0}),
        Run(replaced, expect={a: 6, b: 3, c: 3}),
        Run(longer, expect={a: 9, b: 6, c: 6}),
    ]


@case(rules=["control.template"])
def an_object_is_a_template_argument(qd):
    @qd.data_oriented
    class Line:
        def __init__(self, slope, start):
            self.slope, self.start = slope, start

        @qd.func
        def at(self, x):
            return self.slope * x + self.start

    out = qd.field(qd.i32, shape=3)

    @qd.kernel
    def plot(line: qd.template()):
        for i in out:
            out[i] = line.at(i)

    return [
        Run(plot, args=(Line(2, 1),), expect={out: [1, 3, 5]}),
        Run(plot, args=(Line(-1, 0),), expect={out: [0, -1, -2]}),
    ]


@case(rules=["control.func"])
def methods_call_methods_of_their_parts(qd):
    @qd.data_oriented
    class Wheel:
        def __init__(self, teeth):
            self.teeth = teeth

        @qd.func
        def turns(self, steps):
            return steps // self.teeth

    @qd.data_oriented
    class Clock:
        def __init__(self):
            self.fast, self.slow = Wheel(10), Wheel(6)

        @qd.kernel
        def read(self, steps: qd.i32) -> qd.i32:
            return self.slow.turns(self.fast.turns(steps))

    return Run(Clock().read, args=(437,), returns=7)


@case(rules=["struct.members", "memory.ndarray"])
def a_dataclass_of_arrays_is_an_argument(qd):
    import dataclasses

    @dataclasses.dataclass
    class State:
        position: qd.types.ndarray(dtype=qd.i32, ndim=1)
        speed: qd.types.ndarray(dtype=qd.i32, ndim=1)

    position, speed = np.array([1, 2, 3], np.int32), np.array([10, 20, 30], np.int32)

    @qd.kernel
    def step(state: State, n: qd.i32):
        for i in state.position:
            state.position[i] += n * state.speed[i]

    return Run(step, args=(State(position, speed), 2), expect=[(position, [21, 42, 63]), (speed, [10, 20, 30])])


@case(rules=["struct.members", "control.func"])
def a_struct_type_has_methods(qd):
    @qd.dataclass
    class Box:
        width: qd.i32
        height: qd.i32

        @qd.func
        def area(self):
            return self.width * self.height

    boxes, out = Box.field(shape=3), qd.field(qd.i32, shape=3)

    @qd.kernel
    def k():
        for i in boxes:
            boxes[i] = Box(width=i + 1, height=10)
        for i in boxes:
            out[i] = boxes[i].area()

    return Run(k, expect={out: [10, 20, 30]})


@case(rules=["struct.members"])
def a_struct_is_an_argument_and_a_result(qd):
    @qd.dataclass
    class Pair:
        a: qd.i32
        b: qd.f32

    @qd.kernel
    def swap(p: Pair, by: qd.i32) -> Pair:
        return Pair(a=p.b * by, b=p.a / 4)

    def call():
        p = swap(Pair(a=3, b=2.5), 4)
        return p.a, p.b

    return Run(call, returns=(10, 0.75))


@case(rules=["control.func"])
def a_method_may_call_its_object_anything(qd):
    @qd.data_oriented
    class Stack:
        def __init__(me):
            me.rows = [qd.field(qd.i32, shape=2) for _ in range(3)]

        @qd.func
        def value(me, row, i):
            return 10 * row + i

        @qd.kernel
        def fill(me):
            for row in qd.static(range(3)):
                for i in me.rows[row]:
                    me.rows[row][i] = me.value(row, i)

    stack = Stack()
    return Run(stack.fill, expect={row: [10 * n, 10 * n + 1] for n, row in enumerate(stack.rows)})


@case(rules=["control.func"])
def methods_are_inherited_and_may_be_static_or_properties(qd):
    @qd.data_oriented
    class Base:
        @property
        def start(self):
            return 100

        @staticmethod
        @qd.func
        def square(x):
            return x * x

        @qd.func
        def shift(self, x):
            return x + self.start

    @qd.data_oriented
    class Derived(Base):
        @qd.kernel
        def of(self, x: qd.i32) -> qd.i32:
            return self.shift(self.square(x))

    return Run(Derived().of, args=(7,), returns=149)


@case(rules=["control.func"])
def a_method_calls_the_one_that_it_overrides(qd):
    @qd.data_oriented
    class Base:
        @qd.func
        def shift(self, x):
            return x + 100

    @qd.data_oriented
    class Derived(Base):
        @qd.func
        def shift(self, x):
            return 2 * super().shift(x)

        @qd.kernel
        def of(self, x: qd.i32) -> qd.i32:
            return self.shift(x) + super().shift(x)

    return Run(Derived().of, args=(7,), returns=321)
