"""Registration with autoray, by which cotengra and quimb accept tensors.

autoray calls functions by the names and with the signatures of NumPy. `register` is called once
both packages are imported, in either order (`call_register_after_import`): it registers the
functions that NumPy's own call for tensors. New arrays come from the public namespace.
"""

from __future__ import annotations

from typing import Any

from tensorlayout import linalg
from tensorlayout.functions import creation, elementwise
from tensorlayout.interchange.dask import RandomState, to_numpy
from tensorlayout.interchange.numpy_functions import TABLE
from tensorlayout.support.lazy_imports import import_lazily


def register() -> None:
    """Register functions with autoray; repeated calls have no further effect."""
    functions_by_name = {
        f"{numpy_function.__module__}.{numpy_function.__name__}": tensor_function
        for numpy_function, tensor_function in TABLE.items()
    }
    for name, function in (functions_by_name | _OWN).items():
        import_lazily("autoray").register_function(
            "tensorlayout", name.removeprefix("numpy."), function
        )


_OWN: dict[str, Any] = {
    "array": creation.asarray,
    "complex": lambda real, imag: elementwise.add(real, elementwise.multiply(imag, 1j)),
    "dag": lambda x: elementwise.conj(x if x.ndim < 2 else x.mT),
    "linalg.svd": lambda x: linalg.svd(x, full_matrices=False),  # autoray's default
    "power": elementwise.pow,
    "random.normal": lambda *args, **options: RandomState().normal(*args, **options),
    "random.uniform": lambda *args, **options: RandomState().uniform(*args, **options),
    "to_numpy": to_numpy,
}
