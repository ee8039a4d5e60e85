"""What kernels read of Python objects while they are compiled, and what has changed by the next call."""

from collections import deque

import numpy as np

from adstack.conformance.case import Run, case

HELD = {
    "set": (lambda: {2}, lambda held: (held.clear(), held.add(7))),
    "deque": (lambda: deque([2]), lambda held: (held.popleft(), held.append(7))),
    "dict": (lambda: {"k": 2}, lambda held: held.update(k=7)),
    "dict in a list": (lambda: [{"k": 2}], lambda held: held[0].update(k=7)),
    "array in a list": (lambda: [np.array([2.0])], lambda held: held[0].fill(7)),
    "list": (lambda: [2], lambda held: held.__setitem__(0, 7)),
}


def first_of(held):
    """The number in such a container."""
    while not isinstance(held, (int, float)):
        held = next(iter(held.values() if isinstance(held, dict) else held))
    return held


@case(rules=["control.template"], params={"kind": list(HELD), "of": ["argument", "attribute"]})
def what_a_container_holds_may_change(qd, kind, of):
    """The containers stay the same objects; the kernel is compiled for what they hold at the call."""

    @qd.data_oriented
    class Scale:
        def __init__(self):
            self.by = HELD[kind][0]()
            self.x, self.y = (qd.field(qd.f32, shape=2, needs_grad=True) for _ in range(2))

        @qd.kernel
        def by_argument(self, by: qd.template()):
            for i in self.x:
                self.y[i] = self.x[i] * float(qd.static(first_of(by)))

        @qd.kernel
        def by_attribute(self):
            for i in self.x:
                self.y[i] = self.x[i] * float(qd.static(first_of(self.by)))

    scale = Scale()
    kernel, args = (scale.by_argument, (scale.by,)) if of == "argument" else (scale.by_attribute, ())

    def both():
        for _ in range(3):
            kernel(*args)
        kernel.grad(*args)

    def changed():
        HELD[kind][1](scale.by)
        both()

    given = {scale.x: [1, -3], scale.x.grad: 0, scale.y.grad: 1}
    return [
        Run(both, given=given, expect={scale.y: [2, -6], scale.x.grad: 2}),
        Run(changed, given=given, expect={scale.y: [7, -21], scale.x.grad: 7}),
    ]


READERS = ["method", "method of a method", "function", "property in a method", "comprehension", "slots", "getattr"]


def doubled(thing):
    """What a function at the top of the file reads of its argument."""
    return 2 * thing.rate


def scaling(qd, reader):
    """An object whose kernel scales by what a plain function or method reads of it."""

    class Slots:
        __slots__ = ("rate",)

    @qd.data_oriented
    class Scale:
        def __init__(self):
            self.rate, self.rates, self.inner = 1, [1, 0], Slots()
            self.inner.rate = 1
            self.x, self.y = (qd.field(qd.f32, shape=2, needs_grad=True) for _ in range(2))

        @property
        def half(self):
            return self.rate * 0.5

        def method(self):
            return 2 * self.rate

        def of_a_method(self):
            return self.method()

        def of_property(self):
            return 4.0 * self.half

        def comprehension(self):
            return 2 * sum(rate for rate in self.rates)

        def slots(self):
            return 2 * self.inner.rate

        @qd.kernel
        def of(self):
            for i in self.x:
                if qd.static(reader == "method"):
                    self.y[i] = self.x[i] * self.method()
                elif qd.static(reader == "method of a method"):
                    self.y[i] = self.x[i] * self.of_a_method()
                elif qd.static(reader == "function"):
                    self.y[i] = self.x[i] * doubled(self)
                elif qd.static(reader == "property in a method"):
                    self.y[i] = self.x[i] * self.of_property()
                elif qd.static(reader == "comprehension"):
                    self.y[i] = self.x[i] * self.comprehension()
                elif qd.static(reader == "slots"):
                    self.y[i] = self.x[i] * self.slots()
                else:
                    self.y[i] = self.x[i] * 2 * getattr(self, "rate")  # noqa: B009 - it is what is tried

    return Scale()


@case(rules=["control.template", "control.once"], params={"reader": READERS})
def what_plain_functions_read_of_objects_may_change(qd, reader):
    """They are called while compiling: a changed attribute that they read has the kernel compiled again."""
    scale = scaling(qd, reader)

    def both():
        for _ in range(3):
            scale.of()
        scale.of.grad()

    def changed():
        scale.rate = scale.inner.rate = scale.rates[1] = 3
        scale.rates[0] = 0
        both()

    given = {scale.x: [1, -3], scale.x.grad: 0, scale.y.grad: 1}
    return [
        Run(both, given=given, expect={scale.y: [2, -6], scale.x.grad: 2}),
        Run(changed, given=given, expect={scale.y: [6, -18], scale.x.grad: 6}),
    ]


def answering(qd):
    """By what a kernel does with an object: (a func that does it, objects before and after)."""

    class Answers:
        c = 2.0

        def __init__(self, rate):
            self.rate, self.parts = rate, [rate]

        def __getitem__(self, k):
            return self.parts[k]

        def __mul__(self, other):
            return self.rate * other

        def __call__(self):
            return self.rate

        def __iter__(self):
            return iter(self.parts)

        def become(self, rate):
            self.rate, self.parts[0], Answers.c, self.more = rate, rate, rate, True
            self.struct.v[1] = rate

    answers = Answers(2.0)
    answers.struct = qd.types.struct(v=qd.types.vector(2, qd.f32))(v=[0.0, 2.0])

    @qd.func
    def by_subscript(t: qd.template()):
        return t[0]

    @qd.func
    def by_operator(t: qd.template()):
        return qd.static(t * 1.0)

    @qd.func
    def by_call(t: qd.template()):
        return t()

    @qd.func
    def by_loop(t: qd.template()):
        return sum(list(t))

    @qd.func
    def by_class(t: qd.template()):
        return qd.static(type(t)).c

    @qd.func
    def by_struct(t: qd.template()):
        return t.struct.v[1]

    @qd.func
    def by_hasattr(t: qd.template()):
        return 7.0 if qd.static(hasattr(t, "more")) else 2.0

    ways = by_subscript, by_operator, by_call, by_loop, by_class, by_struct, by_hasattr
    return answers, {way.function.__name__: way for way in ways}


ANSWERS = ["by_subscript", "by_operator", "by_call", "by_loop", "by_class", "by_struct", "by_hasattr"]


@case(rules=["control.template"], params={"way": ANSWERS})
def what_objects_answer_by_methods_of_theirs_may_change(qd, way):
    """Operators, subscripts, calls and loops run the object's methods while compiling; what these read is compared."""
    answers, ways = answering(qd)
    rate = ways[way]
    x, y = (qd.field(qd.f32, shape=2, needs_grad=True) for _ in range(2))

    @qd.kernel
    def k(t: qd.template()):
        for i in x:
            y[i] = x[i] * rate(t)

    def both():
        for _ in range(3):
            k(answers)
        k.grad(answers)

    def changed():
        answers.become(7.0)
        both()

    given = {x: [1, -3], x.grad: 0, y.grad: 1}
    return [
        Run(both, given=given, expect={y: [2, -6], x.grad: 2}),
        Run(changed, given=given, expect={y: [7, -21], x.grad: 7}),
    ]
