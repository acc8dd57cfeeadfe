"""The tables of functions-of-libraries.md: names of other libraries, and what to write here.

The names are in library_names.toml, and what this package has is read from the package itself. The
tables below say which names mean the same function, which differ in meaning, and why a name is
missing. Tests check them.
"""

import functools
import itertools
import re
import tomllib
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

import tensorlayout as tl
from tensorlayout.support import spellings

PAGE = "functions-of-libraries.md"
LIBRARIES = {"numpy": "NumPy", "cupy": "CuPy", "torch": "PyTorch", "jax": "JAX"}
SECTIONS = {
    "functions": "Functions",
    "linalg": "Linear algebra",
    "fft": "Fourier transforms",
    "methods": "Methods and attributes",
}
# Sections with a heading for each initial letter.
LONG_SECTIONS = {"functions", "methods"}

# Names of one function.
SYNONYMS = """
abs absolute
acos arccos
acosh arccosh
all alltrue
any sometrue
array_split tensor_split
asarray as_tensor
asin arcsin
asinh arcsinh
atan arctan
atan2 arctan2
atanh arctanh
bitwise_invert bitwise_not invert
bitwise_left_shift left_shift
bitwise_right_shift right_shift
broadcast_arrays broadcast_tensors
broadcast_to expand
clip clamp
concat concatenate cat
conj conjugate
copy clone
cumprod cumproduct
deg2rad radians
degrees rad2deg
divide true_divide div
equal eq
expand_dims unsqueeze
from_dlpack fromDlpack
greater gt
greater_equal ge
isin in1d
iscomplexobj is_complex
less lt
less_equal le
max amax
min amin
mod remainder
moveaxis movedim
multiply mul
negative neg
not_equal ne
ndim dim ndimension
outer ger
permute_dims permute
pow power
prod product
repeat repeat_interleave
round round_ around
size numel nelement
subtract sub
swapaxes swapdims
take index_select
take_along_axis gather take_along_dim
trapezoid trapz
unstack unbind
vstack row_stack
"""

# Names of which one library means something else, by section.
DIFFERENCES = {
    "functions": """
clip: keeps the dtype of `x`; `x.clip` promotes, as NumPy's does
equal: PyTorch's `equal` is `array_equal`, and its `eq` compares elements
fill: works in place, where PyTorch's gives a new tensor
fill_diagonal place put_along_axis: works in place, where JAX's gives a new array
load save: PyTorch has its own file format
max min sort: PyTorch's result along an axis has the indices, too
median nanmedian: PyTorch's is the lower of two middle elements
meshgrid: PyTorch's default is `indexing="ij"`
nonzero: PyTorch's gives one matrix, as `argwhere` does
put: works in place, where PyTorch's and JAX's give a new tensor
scatter_add: PyTorch's arguments differ
select: PyTorch's takes one index of an axis
split: PyTorch's number is the size of a part
std var: PyTorch's divides by n - 1 by default
trace: `tl.trace` records operations
transpose: PyTorch's swaps two axes
""",
    "linalg": "vander: PyTorch's has increasing powers",
    "fft": "",
    "methods": """
T: for matrices only; see `x.mT`
equal: PyTorch's `equal` is `array_equal`, and its `eq` compares elements
layout: PyTorch's says whether a tensor is sparse
max min: PyTorch's result along an axis has the indices, too
median nanmedian: PyTorch's is the lower of two middle elements
nonzero: PyTorch's gives one matrix, as `argwhere` does
partition: gives a new tensor, where NumPy's and CuPy's work in place
put: works in place, where PyTorch's gives a new tensor
repeat: PyTorch's is `tile`
resize: gives a new tensor, where NumPy's works in place
scatter_add scatter_max scatter_min: gives a new tensor, where CuPy's works in place
size: PyTorch's is the shape
sort: works in place, where PyTorch's and JAX's give new tensors
std var: PyTorch's divides by n - 1 by default
strides: in elements, where NumPy's and CuPy's are in bytes
transpose: PyTorch's swaps two axes
view: PyTorch's takes a shape, too
""",
}

# Replacements of functions, where the name means something else here or in `spellings`.
MOVED = {"complex": "x + 1j * y", "trace": "tl.linalg.trace(x)"}

# Why names are missing, and a regular expression of the names.
REASONS = r"""
random numbers: bernoulli|binomial|multinomial|poisson|(get|set)_rng_state|seed
text and printing: array2string|array_(repr|str)|(base|binary)_repr|format_float_.*|disp|who|info
text and printing: set_string_function|get_printoptions|safe_eval|typename
Python objects and loops: frompyfunc|vectorize|nested_iters|nditer|ndenumerate|ndindex|broadcast
Python objects and loops: iterable|isscalar
dates: busday.*|is_busday|datetime_.*|isnat
`numpy.matrix`: asmatrix|bmat
polynomials: poly(?!gamma).*|roots
signal processing: .*_window|i?stft
special functions: digamma|polygamma|mvlgamma|igammac?|i0|xlogy
steps of a solver: lu|lu_.*|cholesky_(inverse|solve|ex)|geqrf|orgqr|ormqr|ldl_.*|triangular_solve
steps of a solver: (inv|solve)_ex|householder_product|.*_lowrank
types of scalars: common_type|find_common_type|.*sc(type|lass_).*|issubclass_|mintypecode
types of scalars: is_signed|min_scalar_type|make_aligned_dtype|asfarray|chalf
settings and the build: (get|set)(bufsize|errcall)|seterrcall|get_include|show_.*
CuPy's caches: clear_memo|memoize|get_default_pinned_memory_pool|get_array_wrap
transformations of functions: vmap
access to memory: base|byte_bounds|ctypes|cstruct|data|data_ptr|mdspan|reduced_view|setflags
access to memory: (untyped_)?storage
structured types and byte order: byteswap|[gs]etfield
shards: addressable_.*|committed|global_shards|is_fully_.*|sharding|copy_to_host_async
copy, then assign: index_(copy|fill|put|reduce)|(as_strided|diagonal)_scatter
copy, then assign: (masked|select|slice)_scatter
packed bits: (un)?packbits
files: dumps?|from_file|fromregex|fromstring
indexed objects: r_|c_|s_|index_exp
"""


SAME, OTHER, NUMPY, MISSING = "same", "other", "NumPy's", "missing"

# Where a function of a section may be: the namespaces of this package, "" for its own.
SPACES = {
    "functions": ["", "linalg", "Tensor"],
    "linalg": ["linalg", ""],
    "fft": ["fft"],
    "methods": ["Tensor", "", "linalg"],
}


class Cell(NamedTuple):
    """The last column: how a function is provided, and the text that says so."""

    kind: str
    text: str


class Row(NamedTuple):
    """The names of one function, and what this package has for it."""

    names: tuple[str, ...]
    cell: Cell
    same: frozenset[str]  # the names that this package has, too

    def kind_of(self, name: str) -> str:
        """Return how this package provides one of the names."""
        return OTHER if self.cell.kind == SAME and name not in self.same else self.cell.kind


@functools.cache
def data() -> dict[str, dict[str, Any]]:
    """Read the version of each library, and its names by section."""
    text = Path(__file__).with_name("library_names.toml").read_text("utf-8")
    return {
        library: {key: v if key == "version" else v.split() for key, v in entry.items()}
        for library, entry in tomllib.loads(text).items()
    }


@functools.cache
def names_of_space(space: str) -> frozenset[str]:
    """Return the functions of a namespace of this package, or the public members of `Tensor`."""
    if space == "Tensor":
        return frozenset(name for name in dir(tl.Tensor) if not name.startswith("_"))
    module = getattr(tl, space) if space else tl
    return frozenset(name for name in module.__all__ if callable(getattr(module, name)))


def link_to(space: str, name: str, arguments: str = "") -> str:
    """Return a link to the entry of a name in the reference."""
    shown_space = {"": "tl.", "Tensor": "x."}.get(space, f"tl.{space}.")
    target = f"{space}.{name}" if space else name
    return f"[`{shown_space}{name}{arguments}`][tensorlayout.{target}]"


def format_replacement(spelling: str) -> str:
    """Return a row of `spellings` as Markdown: code in backticks, linked if it is one call."""
    code, _, remark = spelling.partition("; ")
    parts = re.split(r"(, which .*|, on the CPU|, or | or | and )", code)
    for i, part in enumerate(parts[::2]):
        if not part:
            continue
        call = re.fullmatch(r"tl\.((?:linalg\.)?\w+)(\([^()]*\))", part)
        space, _, name = call[1].rpartition(".") if call else ("", "", "")
        linked = name in names_of_space(space)
        parts[2 * i] = link_to(space, name, call[2]) if call and linked else f"`{part}`"
    return "".join(parts) + (f"; {remark}" if remark else "")


def reason_for(name: str) -> str:
    """Return the category of a name that is not provided, or an empty string."""
    for line in REASONS.strip().splitlines():
        reason, _, pattern = line.partition(": ")
        if re.fullmatch(pattern, name):
            return reason
    return ""


def cell_of(section: str, name: str) -> Cell:
    """Find what this package has for a name of a section."""
    of_methods = section == "methods"
    if section == "functions" and name in MOVED:
        return Cell(OTHER, format_replacement(MOVED[name]))
    own, *others = SPACES[section]
    if name in names_of_space(own):
        return Cell(SAME, link_to(own, name))
    tables = [spellings.SPELLINGS, spellings.CUDA_SPELLINGS]
    if of_methods:
        tables = [spellings.METHOD_SPELLINGS]
    for table in tables:
        code, _, remark = table.get(name, "").partition("; ")
        if code == "nothing":
            return Cell(MISSING, f"— {remark}")
        if code:
            return Cell(OTHER, format_replacement(table[name]))
    for space in others:
        if name in names_of_space(space):
            return Cell(OTHER, link_to(space, name, "(x, …)" if of_methods else ""))
    if name in spellings.SPELLINGS:
        return Cell(OTHER, format_replacement(spellings.SPELLINGS[name]))
    reason = reason_for(name)
    if name in data()["numpy"]["ufuncs"] and not reason:
        return Cell(NUMPY, f"`np.{name}`")
    return Cell(MISSING, f"— {reason}".rstrip())


def row_of(section: str, names: tuple[str, ...]) -> Row:
    """Return the row of a function that has these names."""
    cells = [cell_of(section, name) for name in names]
    same = [cell.text for cell in cells if cell.kind == SAME]
    best = min(cells, key=lambda cell: [SAME, OTHER, NUMPY, MISSING].index(cell.kind))
    text = ", ".join(same) or best.text
    for line in DIFFERENCES[section].strip().splitlines():
        changed, _, remark = line.partition(": ")
        if names[0] in changed.split():
            text += f"; {remark}"
    own = frozenset(name for name, cell in zip(names, cells, strict=True) if cell.kind == SAME)
    return Row(names, Cell(best.kind, text), own)


@functools.cache
def rows_of(section: str) -> list[Row]:
    """Return the rows of a section, by name."""
    present = {name for library in LIBRARIES for name in data()[library][section]}
    groups = [tuple(line.split()) for line in SYNONYMS.strip().splitlines()]
    groups = [tuple(name for name in group if name in present) for group in groups]
    grouped = {name for group in groups for name in group}
    groups += [(name,) for name in present - grouped]
    return sorted((row_of(section, group) for group in groups if group), key=sort_key)


def sort_key(row: Row) -> tuple[str, str]:
    """Sort without regard to case."""
    return row.names[0].lower(), row.names[0]


def line_of(section: str, row: Row) -> str:
    """Return the line of a row in the table."""
    lists = [[n for n in row.names if n in data()[lib][section]] for lib in LIBRARIES]
    cells = [", ".join(f"`{name}`" for name in names) or "—" for names in lists]
    return f"| {' | '.join([*cells, row.cell.text])} |"


def table_of(section: str, rows: Iterable[Row]) -> list[str]:
    """Return the lines of a table."""
    head = f"| {' | '.join([*LIBRARIES.values(), 'tensorlayout'])} |"
    lines = [head, "| --- | --- | --- | --- | --- |", *(line_of(section, row) for row in rows)]
    return ['<div class="libraries" markdown>', "", *lines, "", "</div>", ""]


def tables() -> str:
    """Return the tables of all sections; long ones have a heading for each letter."""
    lines = []
    for section, title in SECTIONS.items():
        lines += ["", f"## {title}", ""]
        if section not in LONG_SECTIONS:
            lines += table_of(section, rows_of(section))
            continue
        for letter, rows in itertools.groupby(
            rows_of(section), lambda row: row.names[0][0].upper()
        ):
            lines += [f"### {letter}", "", *table_of(section, rows)]
    return "\n".join(lines)


def totals() -> str:
    """Return the table of totals that the committed page has."""
    lines = [
        "| library | version | names | same name | another name or expression | function of NumPy "
        "| not provided |",
        "| --- | --- | --- | --- | --- | --- | --- |",
    ]
    for library, title in LIBRARIES.items():
        kinds = [
            row.kind_of(name)
            for section in SECTIONS
            for row in rows_of(section)
            for name in row.names
            if name in data()[library][section]
        ]
        counts = [len(kinds), *(kinds.count(kind) for kind in (SAME, OTHER, NUMPY, MISSING))]
        cells = [title, data()[library]["version"], *map(str, counts)]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def on_page_markdown(markdown: str, *, page: Any, **_: Any) -> str:
    """Hook that MkDocs calls for each page."""
    return markdown + tables() if page.file.src_uri == PAGE else markdown
