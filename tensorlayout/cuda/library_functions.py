"""What CuPy is asked for: a function for each library operation, and what is done for its gaps.

Each takes the module, arrays in the dtype to compute in, and the operation's options. They only use
what CuPy 14 and NumPy both have, so that tests hold them against the CPU's functions, on NumPy.

What CuPy does otherwise than the standard or the CPU, and what is done about it:

- Failures (singular, not positive-definite, not converged) are NaN: CuPy is told to raise.
- `cholesky` has no upper factor: the lower one of the conjugate transpose, transposed back.
- `solve` does not broadcast stacks: they are broadcast before.
- `eig` and `eigvals` need cuSOLVER's geev (11.7, of CUDA 12.6); before, they run on the host.
- `det` is sign times exp of a logarithm: a relative error of about log|det| epsilons.
- `pinv` and `matrix_rank` have other tolerances: worked out from singular values here.
- `vector_norm` sums in the operand's dtype, and greatest and least pass NaN by: both done here.
- `irfftn` over several axes may leave the transform of numbers that are not symmetric undefined:
  one axis after the other, as NumPy does it. Transforms of empty lines raise: filled up before.
- `unique` and `isin` are by sorting here, for every dtype and NaN: each NaN is a value of its own,
  and both zeros are one.
- `repeat` takes counts from the host only: positions are searched in their running sum.
- `einsum` adds up bool in bool: counted instead.
- `bincount` with weights adds up in no fixed order: results may differ in the last bits.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tensorlayout.cuda import library_linalg as linear
from tensorlayout.cuda import library_sets as sets
from tensorlayout.cuda import library_transforms as transforms

# Calls for which the host waits: shapes depend on data, or what cuSOLVER reports is looked at.
# Those whose elements must be finite wait for that first.
WAIT = frozenset(
    {
        *("bincount", "isin", "repeat"),
        *("unique_all", "unique_counts", "unique_inverse", "unique_values"),
        *("cholesky", "eig", "eigh", "eigvals", "eigvalsh", "inv", "matrix_norm", "matrix_power"),
        *("matrix_rank", "pinv", "qr", "solve", "svd", "svdvals"),
    }
)

TABLE: dict[str, Callable[..., Any]] = {
    "bincount of 1": sets.bincount,
    "bincount of 2": sets.bincount_weighted,
    "cholesky": linear.cholesky,
    "cross": linear.cross,
    "det": linear.det,
    "eig": linear.eig,
    "eigh": linear.eigh,
    "eigvals": linear.eigvals,
    "eigvalsh": linear.eigvalsh,
    "einsum": linear.einsum,
    "fft": transforms.along("fft"),
    "fftn": transforms.over("fftn"),
    "gradient": sets.gradient,
    "hfft": transforms.along("hfft"),
    "ifft": transforms.along("ifft"),
    "ifftn": transforms.over("ifftn"),
    "ihfft": transforms.along("ihfft"),
    "inv": linear.inv,
    "irfft": transforms.along("irfft"),
    "irfftn": transforms.irfftn,
    "isin": sets.isin,
    "matrix_norm": linear.matrix_norm,
    "matrix_power": linear.matrix_power,
    "matrix_rank": linear.matrix_rank,
    "outer": linear.outer,
    "pinv": linear.pinv,
    "qr": linear.qr,
    "repeat": sets.repeat,
    "rfft": transforms.along("rfft"),
    "rfftn": transforms.rfftn,
    "slogdet": linear.slogdet,
    "solve": linear.solve,
    "svd": linear.svd,
    "svdvals": linear.svdvals,
    "unique_all": sets.unique_all,
    "unique_counts": sets.unique_counts,
    "unique_inverse": sets.unique_inverse,
    "unique_values": sets.unique_values,
    "vecdot": linear.vecdot,
    "vector_norm": linear.vector_norm,
}
