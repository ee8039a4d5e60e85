"""The programs of `examples/` run in small, each with the checks that it makes itself: gradients, losses that fall."""

from __future__ import annotations

from unittest.mock import MagicMock

import numpy as np
import pytest

from adstack.conformance.harness.loading import load_module
from adstack.tools.pictures import EXAMPLES, FOLDER, MOST, draw

PROGRAMS = sorted(EXAMPLES.glob("*.py"))
SMALL = {
    "bouncing_ball": {"balls": 3, "iterations": 30},
    "choreography": {"n": 48, "iterations": 40},
    "cloth": {"n": 4, "steps": 20},
    "denoise": {"n": 24, "iterations": 40},
    "falling_jelly": {"side": 4, "steps": 8, "iterations": 3},
    "heat_source": {"n": 12, "steps": 5, "iterations": 20},
    "neural_network": {"hidden": 8, "iterations": 120},
    "pendulum": {"steps": 160, "iterations": 120},
    "ray_marching": {"n": 16},
}


@pytest.mark.parametrize("path", PROGRAMS, ids=lambda path: path.stem)
def test_the_example_runs_its_loss_falls_and_its_picture_is_drawn(path):
    losses, panels = load_module(path).main("cpu", **SMALL.get(path.stem, {}))
    assert losses[-1] < 0.6 * losses[0]
    assert all(np.isfinite(panel).all() for panel in panels.values())
    figure = MagicMock()
    axes = [MagicMock() for _ in range(len(panels) + 1)]
    figure.subplots.return_value = [axes]
    draw(figure, losses, panels)
    assert [axis.set_title.call_args.args[0] for axis in axes[:-1]] == list(panels)
    axes[-1].semilogy.assert_called_once_with(losses)


def test_every_example_has_a_small_picture_and_a_row_in_the_readme():
    readme = (EXAMPLES.parent / "README.md").read_text()
    assert [path.stem for path in PROGRAMS if f"examples/{path.name}" not in readme] == []
    assert [path.stem for path in sorted(FOLDER.glob("*.png"))] == [path.stem for path in PROGRAMS]
    assert [path.name for path in FOLDER.glob("*.png") if path.stat().st_size > MOST] == []
    assert all(len(path.read_text().splitlines()) <= 130 for path in PROGRAMS)
