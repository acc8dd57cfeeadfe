"""Subscripts of `einsum` against NumPy's: which fit, the shape, and what is computed from them."""

import numpy as np
import pytest

import tensorlayout as tl
from tensorlayout import plan
from tensorlayout.cpu import library
from tensorlayout.plan.matrices import expand_einsum_subscripts


def term(rng, letters):
    """Some letters, and now and then "..."."""
    result = list(rng.choice(list(letters), rng.choice([0, 1, 2, 2, 3])))
    if rng.random() < 0.35:
        result.insert(rng.integers(len(result) + 1), "...")
    return "".join(result)


def shape_for(rng, text, sizes):
    """Sizes for a term, wrong now and then; "..." is for up to two dimensions, of 2 and 3."""
    results = []
    for letter in text.replace("...", "."):
        results += [2, 3][rng.integers(3) :] if letter == "." else [sizes[letter]]
    results = [rng.choice([n] * 17 + [1, 1, 3]) for n in results] + [2] * (rng.random() < 0.03)
    return tuple(int(n) for n in results)


def drawn(seed):
    """Subscripts, most of which fit, and a shape for each of their terms."""
    rng = np.random.default_rng(seed)
    terms = [term(rng, "ijk") for _ in range(rng.choice([1, 1, 2, 2, 3]))]
    text = ",".join(terms)
    if rng.random() < 0.6:
        text += "->" + term(rng, "".join(terms).replace(".", "") or "i")
    if rng.random() < 0.1:
        at = rng.integers(len(text) + 1)
        text = text[:at] + rng.choice(list(" .$->1i")) + text[at:]
    sizes = {letter: rng.choice([0, 1, 2, 2, 3, 3]) for letter in "ijk"}
    return text, tuple(shape_for(rng, item, sizes) for item in terms)


def by_numpy(text, arrays):
    """Return NumPy's result, or None; NumPy takes sizes of 0 and 1 for one letter of an operand."""
    for item, a in zip(text.replace(" ", "").partition("->")[0].split(","), arrays, strict=True):
        front, _, back = item.partition("...")
        named = [*zip(front, a.shape, strict=False), *zip(back[::-1], a.shape[::-1], strict=False)]
        if len(set(named)) > len(dict(named)):
            return None
    try:
        return np.einsum(text, *arrays, optimize=True)
    except (ValueError, IndexError):
        return None


def test_subscripts_mean_what_they_mean_to_numpy():
    fit = refused = 0
    for seed in range(800):
        text, shapes = drawn(seed)
        arrays = [np.arange(np.prod(s), dtype=np.int64).reshape(s) for s in shapes]
        expected = by_numpy(text, arrays)
        if expected is None:
            with pytest.raises(ValueError, match=r"name|letter|is in no operand"):
                expand_einsum_subscripts(text, shapes)
            refused += 1
            continue
        spelled, shape = expand_einsum_subscripts(text, shapes)
        assert shape == expected.shape, (text, shapes)
        np.testing.assert_array_equal(np.einsum(spelled, *arrays), expected, (text, shapes))
        fit += 1
    assert fit > 250
    assert refused > 150


def test_as_many_letters_as_there_are():
    assert expand_einsum_subscripts("...", ((1,) * 52,))[1] == (1,) * 52
    with pytest.raises(ValueError, match=r"51 letters left for the 52 dimensions of '\.\.\.'"):
        expand_einsum_subscripts("...a", ((1,) * 53,))


def test_the_library_is_not_asked_for_what_does_not_fit(monkeypatch):
    asked = []

    def numpy(*arrays, subscripts):
        asked.append(subscripts)
        return np.zeros((3, 2), np.int64)

    monkeypatch.setitem(library.FUNCTIONS, "einsum", numpy)
    plan.run.cache_clear()
    x = tl.asarray([[1, 2, 3], [4, 5, 6]])
    for text in ("ijk", "ii", "i$", "ij->k", "ij->ii", "i.j", "ij->i->j"):
        with pytest.raises(ValueError, match=r"^einsum: '.*' does not fit shapes"):
            tl.einsum(text, x)
    assert asked == []
    tl.einsum("...i -> i...", x)
    assert asked == ["ai->ia"]
    plan.run.cache_clear()
