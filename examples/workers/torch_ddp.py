"""Two processes that train one model with torch's DistributedDataParallel: gravity and friction, from pendulums.

The model's forward pass is a kernel. Each process has an adstack of its own, which simulates half of the pendulums and
gives torch the gradient; torch averages gradients between the processes (gloo), and its optimiser moves the parameters.

    python examples/workers/torch_ddp.py [ARCH [ITERATIONS]]
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from typing import Any

import torch
import torch.distributed
from torch.multiprocessing.spawn import spawn

import adstack as qd
import adstack.torch

PROCESSES, PENDULUMS, STEPS, DT = 2, 32, 100, 0.02
TRUE = (9.81, 0.3)


@qd.kernel
def swing(physics: qd.types.NDArray[qd.f32], start: qd.types.NDArray[qd.f32], end: qd.types.NDArray[qd.f32]) -> None:
    """Where pendulums that begin at rest are after STEPS steps."""
    for i in start:  # each pendulum on its own
        angle, speed = start[i], 0.0
        for _ in range(STEPS):
            speed -= DT * (physics[0] * qd.sin(angle) + physics[1] * speed)
            angle += DT * speed
        end[i] = angle


class Pendulums(torch.nn.Module):  # type: ignore[misc, unused-ignore]
    """Where pendulums are after STEPS steps; gravity and friction are its parameters."""

    def __init__(self, gravity: float, friction: float) -> None:
        super().__init__()
        self.physics = torch.nn.Parameter(torch.tensor([gravity, friction]))
        self.swing = adstack.torch.wrap(swing, outputs={"end": lambda physics, start: torch.empty_like(start)})

    def forward(self, start: torch.Tensor) -> Any:
        return self.swing(self.physics, start)


def gradient(start: torch.Tensor, end: torch.Tensor) -> torch.Tensor:
    """The gradient of the loss, a mean over pendulums, at the first guess, in one process."""
    model = Pendulums(7.0, 0.0)
    torch.nn.functional.mse_loss(model(start), end).backward()
    assert model.physics.grad is not None
    return model.physics.grad


def is_average(average: torch.Tensor, start: torch.Tensor, end: torch.Tensor) -> bool:
    """Whether the gradient that processes agreed on is that of one process which has all pendulums.

    Both are sums of the same terms, one for each pendulum, in different orders: each sum of n terms is off by no more
    than about n * eps times the sum of their magnitudes (Higham, Accuracy and Stability of Numerical Algorithms, 4.2).
    """
    terms = torch.stack([gradient(start[k : k + 1], end[k : k + 1]) for k in range(PENDULUMS)]) / PENDULUMS
    bound = 2 * PENDULUMS * torch.finfo(torch.float32).eps * terms.abs().sum(0)
    return bool(((average - gradient(start, end)).abs() <= bound).all())


def train(rank: int, arch: str, folder: str, iterations: int) -> None:
    """What each of the processes does; the first one writes down what came out."""
    torch.set_num_threads(1)
    qd.init(arch=arch, announce=False)
    torch.distributed.init_process_group(
        "gloo", init_method=f"file://{folder}/meeting", rank=rank, world_size=PROCESSES
    )
    start = torch.linspace(-2.0, 2.5, PENDULUMS)
    end = Pendulums(*TRUE)(start).detach()
    mine = slice(rank, None, PROCESSES)
    model = torch.nn.parallel.DistributedDataParallel(Pendulums(7.0, 0.0))
    optimiser = torch.optim.Adam(model.parameters(), lr=0.1)
    losses = []
    for step in range(iterations):
        optimiser.zero_grad()
        loss = torch.nn.functional.mse_loss(model(start[mine]), end[mine])
        loss.backward()
        if step == 0:
            assert is_average(model.module.physics.grad, start, end)
        optimiser.step()
        losses.append(loss.item())
    everywhere = [torch.zeros(2) for _ in range(PROCESSES)]
    torch.distributed.all_gather(everywhere, model.module.physics.detach())
    assert all(torch.equal(one, everywhere[0]) for one in everywhere)
    if rank == 0:
        torch.save({"losses": losses, "physics": everywhere[0].tolist()}, Path(folder) / "outcome")
    torch.distributed.destroy_process_group()


def main(arch: str, iterations: int) -> tuple[list[float], list[float]]:
    """Trains in two processes; returns the loss of every iteration in the first one, and gravity and friction."""
    with tempfile.TemporaryDirectory() as folder:
        spawn(train, (arch, folder, iterations), nprocs=PROCESSES)
        outcome = torch.load(Path(folder) / "outcome")
    losses, physics = outcome["losses"], outcome["physics"]
    assert losses[-1] < 0.5 * losses[0], losses
    return losses, physics


if __name__ == "__main__":
    iterations = int(sys.argv[2]) if sys.argv[2:] else 120
    history, (gravity, friction) = main(sys.argv[1] if sys.argv[1:] else "cpu", iterations)
    print(f"loss {history[0]:.4f} at first, {history[-1]:.7f} at last; gravity {gravity:.2f}, friction {friction:.2f}")
