"""The eval `lstm`: how well a recurrent network foretells a text, and the gradient by the network's parameters.

All matrices of weights are diagonal, so that one unit of the network has layers below it and its own past, and
nothing else: a lane goes through the text for one unit. Idle units fill the last group of lanes up, since what is left
of a group costs more than a whole one. What the units foretell is normalised over all that are not
idle, at each character.
"""

import numpy as np

import adstack as qd

from .task import Block, Cell, Table, Task, array, gradient, number, zeros

FORGET, IN, OUT, CHANGE = range(4)
GROUP = 48
"""Lanes: three vectors of sixteen, which is as few as are handed to a processor whole."""


@qd.func
def gate(x):
    return 1.0 / (1.0 + qd.exp(-x))


@qd.kernel
def foretell(main: Block, extra: Table, state: Table, text: Table, layers: qd.template(), said: Table):
    """What the network says of each next character; a layer has two rows in `main`, weights and biases of its gates."""
    for unit in range(said.shape[1]):
        hidden, cell = qd.Vector([0.0] * layers), qd.Vector([0.0] * layers)
        for layer in qd.static(range(layers)):
            hidden[layer], cell[layer] = state[2 * layer, unit], state[2 * layer + 1, unit]
        for t in range(said.shape[0]):
            signal = text[t, unit] * extra[0, unit]
            for layer in qd.static(range(layers)):
                w, b = 2 * layer, 2 * layer + 1
                forget = gate(signal * main[w, FORGET, unit] + main[b, FORGET, unit])
                ingate = gate(hidden[layer] * main[w, IN, unit] + main[b, IN, unit])
                outgate = gate(signal * main[w, OUT, unit] + main[b, OUT, unit])
                change = qd.tanh(hidden[layer] * main[w, CHANGE, unit] + main[b, CHANGE, unit])
                cell[layer] = cell[layer] * forget + ingate * change
                hidden[layer] = outgate * qd.tanh(cell[layer])
                signal = hidden[layer]
            said[t, unit] = signal * extra[1, unit] + extra[2, unit]


@qd.kernel
def judge(said: Table, text: Table, units: qd.i32, loss: Cell):
    """The mean, over characters and units, of what was said of what came, normalised; the 2 is the eval's."""
    for t in range(said.shape[0]):
        total, right, ones = 2.0, 0.0, 0.0
        for unit in range(units):
            total += qd.exp(said[t, unit])
            right += text[t + 1, unit] * said[t, unit]
            ones += text[t + 1, unit]
        loss[None] -= (right - ones * qd.log(total)) / (said.shape[0] * units)


@qd.kernel
def clear(loss: Cell):
    loss[None] = 0.0


def _filled(values):
    """The numbers, with zeros for idle units behind the last axis."""
    numbers = np.asarray(values, np.float64)
    return np.pad(numbers, [*[(0, 0)] * (numbers.ndim - 1), (0, -numbers.shape[-1] % GROUP)])


def _task(given, differentiated):
    layers, count, units = len(given["main_params"]) // 2, len(given["sequence"]), len(given["sequence"][0])
    weights = np.reshape(given["main_params"], (2 * layers, 4, units))
    main, extra = (array(_filled(x), needs_grad=differentiated) for x in (weights, given["extra_params"]))
    state, text = array(_filled(given["state"])), array(_filled(given["sequence"]))
    said, loss = zeros(count - 1, text.shape[1], needs_grad=differentiated), zeros(needs_grad=differentiated)

    def program():
        clear(loss)
        foretell(main, extra, state, text, layers, said)
        judge(said, text, units, loss)

    def answer():
        return np.concatenate([x.grad.to_numpy()[..., :units].reshape(-1) for x in (main, extra)]).tolist()

    if differentiated:
        return Task(gradient(loss, program), answer)
    return Task(program, lambda: number(loss))


FUNCTIONS = {"objective": lambda given: _task(given, False), "jacobian": lambda given: _task(given, True)}
EXAMPLE = {
    "main_params": [[((5 * n + 3 * row) % 9) / 8.0 for n in range(12)] for row in range(4)],
    "extra_params": [[((7 * n + 2 * row) % 5) / 4.0 for n in range(3)] for row in range(3)],
    "state": [[((3 * n + row) % 7) / 8.0 for n in range(3)] for row in range(4)],
    "sequence": [[1.0, 0.0, 1.0], [0.0, 1.0, 1.0], [1.0, 1.0, 0.0], [0.0, 0.0, 1.0]],
}
