"""Coordinate tuples: how GATHER_ND, GATHER_ND1 and SCATTER_ND address blocks of a tensor."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

from tensorlayout.directml.outputs import seen_as
from tensorlayout.directml.rules import check_rank, refuse
from tensorlayout.directml.tensor_desc import TensorDesc
from tensorlayout.functions.calling import shown
from tensorlayout.functions.creation import arange
from tensorlayout.tensor import Tensor


class Blocks(NamedTuple):
    """The sizes that count: of the tensor, of the indices, and of what the tuples address."""

    source: tuple[int, ...]
    indices: tuple[int, ...]
    batch: int

    @property
    def spread(self) -> tuple[int, ...]:
        """The sizes of all blocks together, ones in front left out."""
        return self.indices[:-1] + self.source[self.batch + self.indices[-1] :]

    @property
    def read(self) -> tuple[int, ...]:
        """Those sizes, as reading at the tuples gives them: one tuple is a list of one."""
        return (self.indices[:-1] or (1,)) + self.source[self.batch + self.indices[-1] :]


def blocks(
    name: str, source: TensorDesc, indices: TensorDesc, counts: tuple[int, int], batch: int = 0
) -> Blocks:
    """The rules of coordinate tuples; `counts`: how many trailing dimensions of both count."""
    rank = source.rank
    check_rank(name, "IndicesTensor", indices, rank)
    cut = []
    for kind, desc, count in zip(("Input", "Indices"), (source, indices), counts, strict=True):
        if not 1 <= count <= rank:
            refuse(name, f"{kind}DimensionCount must be 1 to {rank}, got {shown(count)}")
        if any(n != 1 for n in desc.sizes[: rank - count]):
            rule = f"Sizes before the last {count}, {kind}DimensionCount, must be 1"
            refuse(name, f"{kind}Tensor: {rule}, got {desc.sizes}")
        cut.append(desc.sizes[rank - count :])
    found = Blocks(cut[0], cut[1], batch)
    if not 0 <= batch < min(counts):
        refuse(name, f"BatchDimensionCount must be 0 to {min(counts) - 1}, got {shown(batch)}")
    coordinates, most = found.indices[-1], counts[0] - batch
    if coordinates > most:
        rule = f"the last size, of coordinate tuples, must be at most {most}"
        refuse(name, f"IndicesTensor: {rule}, got {coordinates}")
    if found.source[:batch] != found.indices[:batch]:
        rule = f"batch sizes must be {found.source[:batch]}"
        refuse(name, f"IndicesTensor: {rule}, got {found.indices[:batch]}")
    if len(found.spread) > rank:
        rule = f"blocks must have at most {rank} dimensions, DimensionCount"
        refuse(name, f"IndicesTensor: {rule}, got sizes {found.spread}")
    return found


def padded(sizes: tuple[int, ...], rank: int) -> tuple[int, ...]:
    """Ones in front up to a rank."""
    return (1,) * (rank - len(sizes)) + sizes


def key_of(indices: Tensor, found: Blocks) -> tuple[Any, ...]:
    """What to index the tensor with, cut to the sizes that count: a tensor for each coordinate."""
    lead = max(len(found.indices) - 1, 1)  # one tuple is a list of one: integers would make views
    tuples = seen_as(indices, (1,) * (lead + 1 - len(found.indices)) + found.indices)
    lines = []
    for d in range(found.batch):
        shape = [found.indices[d] if i == d else 1 for i in range(lead)]
        lines.append(seen_as(arange(found.indices[d], device=indices.device), tuple(shape)))
    return (*lines, *(tuples[..., i] for i in range(found.indices[-1])))


@contextmanager
def positions_of(name: str) -> Iterator[None]:
    """An IndexError raised here names the operator and the member."""
    try:
        yield
    except IndexError as error:
        msg = f"{name}: IndicesTensor: {str(error).partition(': ')[2]}"
        raise IndexError(msg) from None
