"""What was drawn can be drawn again, and reduced."""

from random import Random

from adstack.conformance.fuzz.choices import Choices, Draw
from adstack.conformance.fuzz.reduction import reduced
from adstack.conformance.fuzz.smooth import SmoothGenerator
from adstack.ir.text.printer import print_ir
from adstack.ir.types import f32


def drawn_list(choices: Choices) -> list[int]:
    """Numbers below 100, as many as are drawn."""
    numbers: list[int] = []
    while True:
        with choices.span("item"):
            if not choices.below(8):
                return numbers
            numbers.append(choices.below(100))


def long_list() -> tuple[list[int], Draw]:
    for seed in range(100):
        choices = Choices(source=Random(seed))
        numbers = drawn_list(choices)
        if len(numbers) > 5 and sum(numbers) > 150:
            return numbers, choices.drawn()
    raise AssertionError("no long list")


def test_prescribed_choices_give_the_same_again() -> None:
    numbers, draw = long_list()
    again = Choices(draw.values)
    assert drawn_list(again) == numbers
    assert again.drawn() == draw


def test_behind_what_is_prescribed_there_are_zeros() -> None:
    assert drawn_list(Choices(())) == []
    assert drawn_list(Choices((1,))) == [0]


def test_a_choice_too_large_is_the_largest() -> None:
    assert Choices((1000,)).below(5) == 4


def test_a_generator_of_random_numbers_draws_from_choices() -> None:
    """Whatever takes a `Random` can be reduced."""
    choices = Choices(source=Random(3))
    first = SmoothGenerator(choices, f32, False, False).kernel(20)
    again = SmoothGenerator(Choices(choices.drawn().values), f32, False, False).kernel(20)
    assert print_ir(first) == print_ir(again)


def test_a_list_is_reduced_to_what_matters() -> None:
    """A sum above 150 takes two numbers of at most 99 at least, and no more than 151 in all."""
    _, draw = long_list()

    def attempt(sequences):
        several = [Choices(values) for values in sequences]
        sums = [sum(drawn_list(choices)) for choices in several]
        return [one.drawn() if total > 150 else None for one, total in zip(several, sums, strict=True)]

    small = reduced(draw, attempt)
    numbers = drawn_list(Choices(small.values))
    assert 2 <= len(numbers) <= 3
    assert sum(numbers) == 151


def test_reduction_ends_when_there_is_no_time() -> None:
    _, draw = long_list()
    assert reduced(draw, lambda sequences: [None] * len(sequences), lambda: False) == draw
