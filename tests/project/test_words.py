"""What errors repeat of what came: literal expectations."""

import enum

import numpy as np
import pytest

from tensorlayout.words import cut, kind_of, shown


class Colour(enum.IntEnum):
    RED = 1


class Whole(int):
    pass


class Rude:
    def __repr__(self):
        raise RuntimeError


class Wordy:
    def __repr__(self):
        return "w" * 100_000


def nested(levels):
    found = [1]
    for _ in range(levels):
        found = [found]
    return found


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (1, "1"),
        (True, "True"),
        (None, "None"),
        (1.5, "1.5"),
        (Colour.RED, "<Colour.RED: 1>"),
        (2**128 - 1, "340282366920938463463374607431768211455"),
        (2**128, "an integer of 129 bits"),
        (-(10**5000), "an integer of 16610 bits"),
        (Whole(10**5000), "an integer of 16610 bits"),
        ("word", "'word'"),
        ("it's", '"it\'s"'),
        ("a" * 60, f"'{'a' * 60}'"),
        ("a" * 61, f"'{'a' * 60}…'"),
        ("\U000e0001" * 100_000, "'" + r"\U000e0001" * 11 + r"\U000e000" + "…"),
        ((), "()"),
        ([], "[]"),
        ((1,), "(1,)"),
        ([1, "a"], "[1, 'a']"),
        ((10**5000, 2), "(an integer of 16610 bits, 2)"),
        ((7,) * 32000, f"({'7, ' * 66}… 32000 in all)"),
        ([2**64] * 1000, f"[{'18446744073709551616, ' * 9}… 1000 in all]"),
        (nested(2), "[[[1]]]"),
        (nested(100_000), "[[[list]]]"),
        (slice(1, 2), "slice(1, 2, None)"),
        (slice(10**5000), "slice"),
        (dict.fromkeys(range(100_000)), "dict"),
        (Rude(), "test_words.Rude"),
        (Wordy(), "test_words.Wordy"),
        (object(), "object"),
        (np.int64(3), "np.int64(3)"),
        (np.zeros(1000), "numpy.ndarray"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_shown(value, text):
    assert shown(value) == text


def test_a_text_that_an_error_is_about_is_shown_at_greater_length():
    assert shown("b" * 300, 200) == f"'{'b' * 200}…'"


def test_cut():
    assert cut("a" * 200) == "a" * 200
    assert cut("a" * 201) == "a" * 200 + "…"
    assert cut(ValueError("no")) == "no"
    assert cut("abc", 2) == "ab…"


def test_kind_of():
    assert kind_of(1) == "int"
    assert kind_of(np.zeros(1)) == "numpy.ndarray"
    assert kind_of(type("A" * 100_000, (), {"__module__": "m"})()) == f"m.{'A' * 58}…"
