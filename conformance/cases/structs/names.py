"""What structs are declared with: members of any name, defaults, functions."""

from adstack.conformance.case import Run, case


@case(rules=["struct.members"])
def members_named_like_components_are_no_swizzles(qd):
    light = qd.types.struct(color=qd.types.vector(3, qd.f32), xx=qd.f32, rgb=qd.types.vector(3, qd.f32))
    scene = qd.types.struct(ww=light, stst=qd.i32)
    x, out = scene.field(shape=2), qd.field(qd.f32, shape=12)

    @qd.func
    def dim(s: qd.template()):
        s.color = s.color * 0.5
        s.xx = 8

    @qd.kernel
    def k(given: light):
        for _ in range(1):
            s = light([1, 2, 3], 4, given.color)
            s.color = s.rgb.zyx
            s.xx = given.xx + 1
            s.rgb.xy = s.color.yx
            dim(s)
            t = scene(s, 1)
            t.ww.color = [7, 8, 9]
            t.ww.xx += 2
            t.stst = 5
            x[0] = t
            x[1].ww.color = t.ww.rgb
            x[1].ww.xx = s.xx
        for j in range(3):
            out[j], out[3 + j] = x[0].ww.color[j], x[1].ww.color[j]
            out[6 + j] = x[0].ww.rgb[j]
        out[9], out[10], out[11] = x[0].ww.xx, x[1].ww.xx, x[0].stst

    given = light(color=[2, 4, 6], xx=3)
    return Run(k, args=(given,), expect={out: [7, 8, 9, 4, 6, 6, 4, 6, 6, 10, 8, 5]})


@case(rules=["struct.members"])
def the_gradient_of_a_member_named_color(qd):
    item = qd.types.struct(color=qd.types.vector(2, qd.f32), xx=qd.f32)
    x = item.field(shape=2, needs_grad=True)
    total = qd.field(qd.f32, shape=(), needs_grad=True)

    @qd.kernel
    def k():
        for i in x:
            s = x[i]
            s.xx = s.xx * 2 + s.color.x
            s.color = s.color * s.xx
            total[None] += s.color.sum()

    def gradients():
        for i in range(2):
            x[i].color, x[i].xx = [1 + i, 2], 3
        total.grad[None] = 1
        k()
        k.grad()

    # total = sum of (a + b) (2 c + a): 2 c + 2 a + b, 2 c + a, 2 (a + b)
    return Run(gradients, expect={x.color.grad: [[10, 7], [12, 8]], x.xx.grad: [6, 8]})


@case(rules=["struct.members"])
def members_named_like_attributes_of_structs(qd):
    item = qd.types.struct(entries=qd.f32, keys=qd.i32, shape=qd.types.vector(2, qd.f32), items=qd.i32, copy=qd.i32)
    x, out = item.field(shape=2), qd.field(qd.f32, shape=7)

    @qd.kernel
    def k(given: item):
        for _ in range(1):
            s = item(keys=3, entries=given.entries)
            s.shape = [1, 2]
            s.items += 4
            t = s
            t.copy = 5
            x[0] = t
            x[1].shape = s.shape
            x[1].entries = given.keys
            out[0], out[1], out[2], out[3] = s.shape.y, s.keys, s.items, s.copy
            out[4], out[5], out[6] = t.copy, t.entries, t.items

    def numbers():
        k(item(entries=6, keys=7))
        a, b = x[0], x[1]
        return a.entries, a.keys, a.items, a.copy, a["shape"].y, b.shape.x, b.entries

    return Run(numbers, returns=(6, 3, 4, 5, 2, 1, 7), expect={out: [2, 3, 4, 0, 5, 6, 4]})


@case(rules=["struct.make"])
def members_that_are_left_out_have_their_defaults(qd):
    pair = qd.types.struct(a=qd.f32, b=qd.i32)

    @qd.dataclass
    class Body:
        mass: qd.f32 = 2.0
        at: qd.types.vector(2, qd.f32) = (0.5, 1.0)
        inner: pair = 3
        n: qd.i32

    out = qd.field(qd.f32, shape=(5, 6))

    @qd.kernel
    def k():
        for _ in range(1):
            bodies = [Body(), Body(1), Body(n=4, at=[7, 8]), Body(1, 2, pair(5), 6)]
            for i in qd.static(range(4)):
                body = bodies[i]
                out[i, 0], out[i, 1], out[i, 2] = body.mass, body.at.x, body.at.y
                out[i, 3], out[i, 4], out[i, 5] = body.inner.a, body.inner.b, body.n
            out[4, 0] = pair(1).a + pair(1).b + pair().a

    rows = [[2, 0.5, 1, 3, 3, 0], [1, 0.5, 1, 3, 3, 0], [2, 7, 8, 3, 3, 4], [1, 2, 2, 5, 0, 6], [1, 0, 0, 0, 0, 0]]
    return Run(k, expect={out: rows})


@case(rules=["struct.make"])
def a_struct_may_have_functions_alone_and_of_any_name(qd):
    @qd.dataclass
    class Rules:
        @qd.func
        def copy(self, x):
            return 2 * x

        @staticmethod
        def half(x):
            return x / 2

    x, y = qd.field(qd.f32, shape=2, needs_grad=True), qd.field(qd.f32, shape=2, needs_grad=True)

    @qd.kernel
    def k():
        for i in x:
            rules = Rules()
            y[i] = rules.copy(x[i]) * x[i] + Rules.half(x[i])

    def gradients():
        for i in range(2):
            x[i], y.grad[i] = i + 1, 1
        k()
        k.grad()

    return Run(gradients, expect={y: [2.5, 9], x.grad: [4.5, 8.5]})
