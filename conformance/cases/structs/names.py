"""Members of structs may have any name, those of components of vectors and of a struct's own functions included."""

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
