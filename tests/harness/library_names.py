"""Writes docs/hooks/library_names.toml: the public names of NumPy, CuPy, PyTorch and JAX.

    python tests/harness/library_names.py

Updates the lists of the libraries that are installed and keeps the others. Then it writes the table
of totals in docs/functions-of-libraries.md.
"""

from __future__ import annotations

import importlib
import re
import sys
import textwrap
import tomllib
import types
from collections.abc import Iterable
from pathlib import Path
from typing import Any

FILE = Path(__file__).parents[2] / "docs" / "hooks" / "library_names.toml"

# Library, the module of its functions, and its array type.
LIBRARIES = {
    "numpy": ("numpy", "numpy.ndarray"),
    "cupy": ("cupy", "cupy.ndarray"),
    "torch": ("torch", "torch.Tensor"),
    "jax": ("jax.numpy", "jax.Array"),
}

# Classes that are used as functions. Other classes are data types, errors and types of arrays.
FUNCTION_LIKE_CLASSES = """
broadcast errstate finfo iinfo memmap ndenumerate ndindex nditer poly1d vectorize
"""

# `torch` also holds settings, so its functions are those that compute with tensors, and these.
OTHER_TORCH_FUNCTIONS = """
broadcast_shapes from_dlpack get_default_device get_num_threads get_rng_state is_tensor load
manual_seed save seed set_default_device set_num_threads set_printoptions set_rng_state unique
unravel_index vmap
"""

# PyTorch's names that are no array functions, as regular expressions.
LEFT_OUT_OF_TORCH = r"""
.*_                                        in-place versions of functions without the underscore
.*_copy|unsafe_.*|sym_.*|resolve_.*|slice_inverse|const_data_ptr|fork|wait      for compilers
(cudnn|miopen|mkldnn|fbgemm|native)_.*|is_vulkan_available                      kernels
.*(quantize|_quant).*|q_.*|qscheme|int_repr|choose_qparams.*|fused_.*           quantized tensors
sparse_.*|to_sparse.*|to_dense|(c?col|c?row|crow)_indices|indices|(sparse|dense)_dim|(is_)?coalesced?
(d?s|h|sp|hs|ssp)(p?mm|addmm)|is_sparse.*|values|to_padded_tensor|is_nested     sparse tensors
.*(norm_except_dim|batch_norm|group_norm|instance_norm|layer_norm|rms_norm).*   layers
(rnn|gru|lstm)_.*|gru|lstm|.*_loss|.*_with_logits|.*dropout|embedding.*|.*pool\dd.*|conv.*\dd
convolution|conv_tbc|kl_div|.*prelu|rrelu|celu|selu|hardshrink|threshold|grid_sampler.*
affine_grid_generator|pixel_.*|.*channel_shuffle|bilinear
backward|grad|grad_.*|is_leaf|output_nr|register_.*|reinforce|requires_grad|retain.*|volatile
is_inference|module_load|name                                                   differentiation
(is_)?(cuda|ipu|xpu|xla|mps|mtia|maia|meta|mkldnn|vulkan|cpu|distributed)       kinds of devices
is_(shared|set_to|conj|neg|same_size)|to_mkldnn|storage_type|as_subclass|hash_tensor
"""
KEPT = {"cpu", "cuda", "index_copy"}

# Methods that raise an error, with the new name in it.
REMOVED_METHODS = {"eig", "lstsq", "solve", "symeig"}


def is_function(name: str, value: Any) -> bool:
    """Return True for functions, and for objects such as ``mgrid`` that are indexed like one."""
    if name.startswith("_") or name == "test" or isinstance(value, types.ModuleType):
        return False
    if isinstance(value, type):
        return name in FUNCTION_LIKE_CLASSES.split()
    if type(value).__module__ in ("builtins", "numpy"):  # texts, tables, and NumPy's True_
        return callable(value)
    return callable(value) or hasattr(value, "__getitem__")


def functions_of(space: Any) -> list[str]:
    """List the public functions of a module."""
    return [name for name in dir(space) if is_function(name, getattr(space, name, None))]


def array_functions_of_torch(names: Iterable[str], torch: Any) -> list[str]:
    """Return the array functions among `names`."""
    of_tensors = {*dir(torch._C._VariableFunctions), *torch.functional.__all__}
    others = {*OTHER_TORCH_FUNCTIONS.split(), *FUNCTION_LIKE_CLASSES.split()}
    return [name for name in names if name in of_tensors | others]


def is_left_out_of_torch(name: str) -> bool:
    """Return True for names of PyTorch that match a rule above."""
    rules = [re.split(r"\s{2,}", line)[0] for line in LEFT_OUT_OF_TORCH.strip().splitlines()]
    return name not in KEPT and re.fullmatch("|".join(rules), name) is not None


def names_of(library: str) -> dict[str, Any]:
    """Return the version of an installed library, and its names by section."""
    space_name, array_name = LIBRARIES[library]
    space = importlib.import_module(space_name)
    top = importlib.import_module(library)
    array = getattr(top, array_name.partition(".")[2])
    sections = {
        "functions": functions_of(space),
        "linalg": functions_of(importlib.import_module(f"{space_name}.linalg")),
        "fft": functions_of(importlib.import_module(f"{space_name}.fft")),
        "methods": [name for name in dir(array) if not name.startswith("_")],
    }
    if library == "torch":
        sections["functions"] = array_functions_of_torch(sections["functions"], space)
        for section, names in sections.items():
            sections[section] = [name for name in names if not is_left_out_of_torch(name)]
        sections["methods"] = [n for n in sections["methods"] if n not in REMOVED_METHODS]
    if library == "numpy":
        ufuncs = [
            name for name in sections["functions"] if isinstance(vars(space)[name], space.ufunc)
        ]
        sections["ufuncs"] = ufuncs
    version = top.__version__.partition("+")[0]
    return {"version": version} | {section: sorted(names) for section, names in sections.items()}


def read() -> dict[str, dict[str, Any]]:
    """Read the file: for each library its version, and sorted names by section."""
    if not FILE.exists():
        return {}
    data = tomllib.loads(FILE.read_text("utf-8"))
    return {
        library: {key: v if key == "version" else v.split() for key, v in entry.items()}
        for library, entry in data.items()
    }


def text_of(data: dict[str, dict[str, Any]]) -> str:
    """Return the text of the file."""
    lines = ["# Written by tests/harness/library_names.py."]
    for library, entry in data.items():
        lines += ["", f"[{library}]", f'version = "{entry["version"]}"']
        for section, names in entry.items():
            if section != "version":
                lines += [f'{section} = """', *textwrap.wrap(" ".join(names), 98), '"""']
    return "\n".join(lines) + "\n"


def main() -> None:
    """Update the lists of the libraries that are installed, and the totals."""
    data = read()
    for library in LIBRARIES:
        try:
            data[library] = names_of(library)
        except ModuleNotFoundError as error:
            print(f"{library}: kept, because {error.name} is not installed")
        else:
            print(f"{library} {data[library]['version']}")
    ordered = {library: data[library] for library in LIBRARIES if library in data}
    FILE.write_text(text_of(ordered), "utf-8")
    sys.path.insert(0, str(FILE.parent))
    libraries = importlib.import_module("libraries")
    page = FILE.parents[1] / libraries.PAGE
    introduction = page.read_text("utf-8").partition("\n| library | version |")[0]
    page.write_text(f"{introduction}\n{libraries.totals()}\n", "utf-8")


if __name__ == "__main__":
    main()
