"""Dataclasses that share their methods: what those of the standard library promise holds."""

from __future__ import annotations

import copy
import dataclasses
import inspect
import pickle
from dataclasses import field
from typing import ClassVar

import pytest

from tensorlayout.support.light_dataclasses import frozen_dataclass, plan_dataclass


@frozen_dataclass
class Point:
    """Two numbers, and what is told of them."""

    kind: ClassVar[str] = "point"

    x: int
    y: int = 0
    notes: list[str] = field(default_factory=list)


@frozen_dataclass
class Solid(Point):
    z: int = 5


@frozen_dataclass
class Checked:
    size: int

    def __post_init__(self):
        if self.size < 0:
            raise ValueError("size")


@plan_dataclass
class Alone:
    name: str
    size: int = 1


def test_members_by_position_by_name_and_by_default():
    point = Point(1, notes=["a"])
    assert (point.x, point.y, point.notes, point.kind) == (1, 0, ["a"], "point")
    assert Point(y=3, x=2).y == 3
    assert Point(1).notes is not Point(1).notes
    solid = Solid(1, 2, [], 3)
    assert (solid.x, solid.z, Solid(1).z) == (1, 3, 5)
    assert not hasattr(point, "__dict__")


@pytest.mark.parametrize("kind", [Point, Alone])
def test_calls_that_do_not_fit(kind):
    for args, named in ((), {}), ((1, 2, 3, 4), {}), ((1,), {"w": 1}), ((1, 2, []), {"x": 1}):
        with pytest.raises(TypeError, match=rf"^{kind.__name__}: needs "):
            kind(*args, **named)


def test_equal_by_members():
    assert Point(1, 2) == Point(1, 2) != Point(1, 3)
    assert Point(1) != Solid(1)
    assert Point(1) != (1, 0, [])
    assert hash(Checked(3)) == hash(Checked(3))
    assert len({Checked(3), Checked(3), Checked(4)}) == 2
    assert Alone("a") != Alone("a")
    assert len({Alone("a"), Alone("a")}) == 2


def test_checks_after_the_members_are_there():
    with pytest.raises(ValueError, match="size"):
        Checked(-1)


def test_nobody_changes_a_frozen_one():
    point = Point(1)
    with pytest.raises(dataclasses.FrozenInstanceError, match="'x'"):
        point.x = 2
    with pytest.raises(dataclasses.FrozenInstanceError, match="'x'"):
        del point.x
    assert point.x == 1


def test_signature():
    named = "(x: 'int', y: 'int' = 0, notes: 'list[str]' = "
    assert str(inspect.signature(Solid)).startswith(named)


def test_replace_copies_and_pickles():
    assert dataclasses.replace(Solid(1, 2), y=7) == Solid(1, 7)
    assert dataclasses.replace(Alone("a"), size=3).size == 3
    assert [item.name for item in dataclasses.fields(Solid)] == ["x", "y", "notes", "z"]
    solid = Solid(1, 2, ["a"], 4)
    for protocol in range(2, pickle.HIGHEST_PROTOCOL + 1):
        assert pickle.loads(pickle.dumps(solid, protocol)) == solid
    assert copy.deepcopy(solid) == copy.copy(solid) == solid
    assert copy.deepcopy(solid).notes is not solid.notes
