"""Array-API tensors with an explicit memory layout.

This module is an array namespace of the standard 2025.12 (``x.__array_namespace__()`` returns it).
Beyond the standard it has `Layout`, `to_layout`, `from_storage`, `sliding_window`, `trace`,
``layout=`` on creation functions, and functions that other libraries need (`nansum`, `pad`, …).
"""

from __future__ import annotations

from typing import TYPE_CHECKING
from typing import Any as _Any

from tensorlayout import dtypes as _dtypes
from tensorlayout import errors as _errors
from tensorlayout import files as _files
from tensorlayout import functions as _chapters
from tensorlayout import interchange as _interchange
from tensorlayout import plan
from tensorlayout._version import __version__
from tensorlayout.cpu.engine.threads import get_num_threads, set_num_threads
from tensorlayout.devices import Device, default_device, set_default_device, using_device
from tensorlayout.dtypes import (
    bool,
    complex64,
    complex128,
    float16,
    float32,
    float64,
    int8,
    int16,
    int32,
    int64,
    uint8,
    uint16,
    uint32,
    uint64,
)
from tensorlayout.errors import CopyError
from tensorlayout.files import *
from tensorlayout.functions import methods as _methods
from tensorlayout.functions.aliases import *
from tensorlayout.functions.basics import *
from tensorlayout.functions.composed import *
from tensorlayout.functions.constants import *
from tensorlayout.functions.covariance import *
from tensorlayout.functions.differences import *
from tensorlayout.functions.extra_quantizing import *
from tensorlayout.functions.extra_scattering import *
from tensorlayout.functions.fuse import *
from tensorlayout.functions.histograms import *
from tensorlayout.functions.inspection import *
from tensorlayout.functions.interchange import *
from tensorlayout.functions.layouts import *
from tensorlayout.functions.mapping import *
from tensorlayout.functions.nan_statistics import *
from tensorlayout.functions.padding import *
from tensorlayout.functions.placing import *
from tensorlayout.functions.positions import *
from tensorlayout.functions.products import *
from tensorlayout.functions.quantiles import *
from tensorlayout.functions.selecting import *
from tensorlayout.functions.sets import *
from tensorlayout.functions.sorting import *
from tensorlayout.layout import BitPattern, Layout, PaddingValue, coalesce
from tensorlayout.support import spellings as _spellings
from tensorlayout.support.lazy_imports import import_lazily as _loaded
from tensorlayout.tensor import Tensor
from tensorlayout.tracing import explain, no_copies, trace

if TYPE_CHECKING:
    from tensorlayout import cuda, directml, fft, formats, linalg, xla
    from tensorlayout.dtypes import (
        bfloat16,
        float4_e2m1fn,
        float6_e2m3fn,
        float6_e3m2fn,
        float8_e3m4,
        float8_e4m3,
        float8_e4m3b11fnuz,
        float8_e4m3fn,
        float8_e4m3fnuz,
        float8_e5m2,
        float8_e5m2fnuz,
        float8_e8m0fnu,
        int1,
        int2,
        int4,
        uint1,
        uint2,
        uint4,
    )
    from tensorlayout.tracing.refusals import CopyWarning
    from tensorlayout.tracing.traces import Trace

__array_api_version__ = _methods.API_VERSIONS[-1]

# Each chapter lists its own names; a test compares them with the functions that it defines.
__all__ = [
    "BitPattern",
    "CopyError",
    "CopyWarning",
    "Device",
    "Layout",
    "PaddingValue",
    "Tensor",
    "Trace",
    "__array_api_version__",
    "__version__",
    "bfloat16",
    "bool",
    "coalesce",
    "complex64",
    "complex128",
    "cuda",
    "default_device",
    "directml",
    "explain",
    "fft",
    "float4_e2m1fn",
    "float6_e2m3fn",
    "float6_e3m2fn",
    "float8_e3m4",
    "float8_e4m3",
    "float8_e4m3b11fnuz",
    "float8_e4m3fn",
    "float8_e4m3fnuz",
    "float8_e5m2",
    "float8_e5m2fnuz",
    "float8_e8m0fnu",
    "float16",
    "float32",
    "float64",
    "formats",
    "get_num_threads",
    "int1",
    "int2",
    "int4",
    "int8",
    "int16",
    "int32",
    "int64",
    "linalg",
    "no_copies",
    "plan",
    "set_default_device",
    "set_num_threads",
    "trace",
    "uint1",
    "uint2",
    "uint4",
    "uint8",
    "uint16",
    "uint32",
    "uint64",
    "using_device",
    "xla",
]
__all__ += _files.__all__
__all__ += _chapters.extra_quantizing.__all__
__all__ += _chapters.extra_scattering.__all__
__all__ += _chapters.aliases.__all__
__all__ += _chapters.composed.__all__
__all__ += _chapters.constants.__all__
__all__ += _chapters.covariance.__all__
__all__ += _chapters.creation.__all__
__all__ += _chapters.data_types.__all__
__all__ += _chapters.diagonals.__all__
__all__ += _chapters.differences.__all__
__all__ += _chapters.elementwise.__all__
__all__ += _chapters.fuse.__all__
__all__ += _chapters.grids.__all__
__all__ += _chapters.histograms.__all__
__all__ += _chapters.inspection.__all__
__all__ += _chapters.interchange.__all__
__all__ += _chapters.joining.__all__
__all__ += _chapters.layouts.__all__
__all__ += _chapters.linear_algebra.__all__
__all__ += _chapters.manipulation.__all__
__all__ += _chapters.mapping.__all__
__all__ += _chapters.nan_statistics.__all__
__all__ += _chapters.padding.__all__
__all__ += _chapters.placing.__all__
__all__ += _chapters.positions.__all__
__all__ += _chapters.products.__all__
__all__ += _chapters.quantiles.__all__
__all__ += _chapters.rearranging.__all__
__all__ += _chapters.searching.__all__
__all__ += _chapters.selecting.__all__
__all__ += _chapters.sets.__all__
__all__ += _chapters.sorting.__all__
__all__ += _chapters.statistical.__all__
__all__ += _chapters.utility.__all__


def _import_lazy_attribute(name: str) -> _Any:
    """Return an attribute that is imported at first use: lazy dtypes and namespaces."""
    if name in _dtypes.LAZY_DTYPES:
        return getattr(_dtypes, name)
    if name in ("cuda", "directml", "fft", "formats", "linalg", "xla"):
        return _loaded(f"tensorlayout.{name}")
    if name in ("CopyWarning", "Trace"):
        module = "refusals" if name == "CopyWarning" else "traces"
        return getattr(_loaded(f"tensorlayout.tracing.{module}"), name)
    return _raise_missing_attribute(name)


__dir__ = _spellings.make_module_dir(globals())
_raise_missing_attribute = _spellings.make_module_getattr(__name__, __all__)
_errors.wrap_public_functions(globals(), __all__)
_interchange.register_protocols()
del tensor  # type: ignore[name-defined] # noqa: F821 # the module, so that tl.tensor is explained

if not TYPE_CHECKING:  # type checkers would accept any attribute of a module with __getattr__
    __getattr__ = _import_lazy_attribute
