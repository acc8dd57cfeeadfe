"""Values as error messages repeat them: literal expectations."""

import enum

import numpy as np
import pytest

from tensorlayout.errors import qualified_type_name, short_repr, truncate


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
    results = [1]
    for _ in range(levels):
        results = [results]
    return results


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (True, "True"),
        (Colour.RED, "<Colour.RED: 1>"),
        (2**128, "an integer of 129 bits"),
        (-(10**5000), "an integer of 16610 bits"),
        (Whole(10**5000), "an integer of 16610 bits"),
        ("it's", '"it\'s"'),
        ("a" * 60, f"'{'a' * 60}'"),
        ("a" * 61, f"'{'a' * 60}…'"),
        ("\U000e0001" * 100_000, "'" + r"\U000e0001" * 11 + r"\U000e000" + "…"),
        ((), "()"),
        ((1,), "(1,)"),
        ([1, "a"], "[1, 'a']"),
        ((7,) * 32000, f"({'7, ' * 66}… 32000 in all)"),
        ([2**64] * 1000, f"[{'18446744073709551616, ' * 9}… 1000 in all]"),
        (nested(100_000), "[[[list]]]"),
        (slice(10**5000), "slice"),
        (dict.fromkeys(range(100_000)), "dict"),
        (Rude(), "test_words.Rude"),
        (Wordy(), "test_words.Wordy"),
        (np.zeros(1000), "numpy.ndarray"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_shown(value, text):
    assert short_repr(value) == text


def test_long_texts_are_cut():
    assert short_repr("b" * 300, 200) == f"'{'b' * 200}…'"
    assert truncate("a" * 200) == "a" * 200
    assert truncate("a" * 201) == "a" * 200 + "…"
    assert qualified_type_name(type("A" * 100_000, (), {"__module__": "m"})()) == f"m.{'A' * 58}…"
