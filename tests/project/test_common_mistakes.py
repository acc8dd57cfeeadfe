"""The whole message of each of the fifty commonest mistakes of those who know NumPy or PyTorch."""

import textwrap
from pathlib import Path

import numpy as np
import pytest

import tensorlayout as tl
from tensorlayout import directml, xla

TABLE = (Path(__file__).parents[1] / "data" / "common_mistakes.txt").read_text("utf-8")


def mistakes():
    for entry in TABLE.strip().split("\n\n"):
        call, message = entry.split("\n", 1)
        yield pytest.param(call, textwrap.dedent(message), id=call)


@pytest.mark.parametrize(("call", "message"), [*mistakes()])
def test_message(call, message):
    x, v = tl.ones((2, 3)), tl.ones((3,))
    names = {"np": np, "tl": tl, "directml": directml, "xla": xla, "Layout": tl.Layout}
    names |= {"x": x, "v": v, "i": tl.asarray([0, 1, 2]), "w": tl.broadcast_to(v, (2, 3))}
    with pytest.raises(Exception) as caught:  # noqa: PT011 # the message begins with the class
        exec(call, names)
    assert f"{type(caught.value).__name__}: {caught.value}" == message
