"""The gradient descent by which the evals `particle` and `saddle` minimise on the host.

The step grows after ten that went down, and shrinks after one that did not; both evals define it, since what comes out
depends on where it stops.
"""

import numpy as np

__all__ = ["SMALL", "START", "argmin"]

START, SMALL, STEADY = 1e-5, 1e-5, 10


def argmin(evaluate, start):
    """Where descent ends.

    Args:
        evaluate: gives the function's value at a vector, and its gradient there.
        start: a vector.
    """
    x, rate, steps = np.array(start, np.float64), START, 0
    least, slope = evaluate(x)
    while np.sqrt(slope @ slope) > SMALL:
        if steps == STEADY:
            rate, steps = 2.0 * rate, 0
            continue
        tried = x - rate * slope
        if np.sqrt((tried - x) @ (tried - x)) <= SMALL:
            break
        height, there = evaluate(tried)
        if height < least:
            x, least, slope, steps = tried, height, there, steps + 1
        else:
            rate, steps = 0.5 * rate, 0
    return x
