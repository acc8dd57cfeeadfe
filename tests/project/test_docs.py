"""README and docs: every code block runs, every table tells the truth."""

import doctest
import functools
import importlib
import inspect
import re
import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import home
import numpy as np
import pytest
import reference
import special_cases_page
from processes import python
from tensors import over, shared
from test_errors import templates

import tensorlayout as tl
from tensorlayout.layout import Layout

on_devices = pytest.mark.usefixtures("device")

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
RECIPES = sorted((DOCS / "recipes").glob("*.md"))
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted(DOCS.rglob("*.md"))]
LAYOUTS = (ROOT / "docs" / "layouts.md").read_text("utf-8")

# Times and paths differ, and long lines of output are wrapped: "..." and any space match.
OPTIONS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE

FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.DOTALL | re.MULTILINE)


class Block(NamedTuple):
    language: str
    code: str
    line: int


class Checker(doctest.OutputChecker):
    """Accept other times in the output of traces: numbers with a fraction."""

    def check_output(self, want: str, got: str, optionflags: int) -> bool:
        if " us" in want:
            want, got = (re.sub(r"\d[\d,]*\.\d+", "0.0", text) for text in (want, got))
        return super().check_output(want, got, optionflags)


def blocks_of(page: Path) -> list[Block]:
    source = page.read_text("utf-8")
    return [
        Block(match[1], match[2], source.count("\n", 0, match.start()) + 1)
        for match in FENCE.finditer(source)
    ]


def name_of(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


def wrong_in(page: Path) -> str:
    """The blocks of a page run one after the other; what they print is compared."""
    space: dict[str, object] = {}
    runner = doctest.DocTestRunner(Checker(), verbose=False, optionflags=OPTIONS)
    said: list[str] = []
    for block in blocks_of(page):
        if block.language != "python":
            continue
        assert ">>>" in block.code, f"{page.name}, line {block.line}: nothing to run"
        test = doctest.DocTestParser().get_doctest(
            block.code, space, page.name, str(page), block.line
        )
        test.globs = space  # not a copy: functions see what later blocks define
        runner.run(test, out=said.append, clear_globs=False)
    return "".join(said)


@pytest.mark.parametrize("page", [page for page in PAGES if page not in RECIPES], ids=name_of)
def test_python_blocks(page):
    assert wrong_in(page) == ""


@pytest.mark.parametrize("page", RECIPES, ids=name_of)
def test_recipes(page):
    """In a process of its own where another library is set up before it is imported."""
    text = page.read_text("utf-8")
    for name in re.findall(r"^>>> (?:import|from) (\w+)", text, re.MULTILINE):
        pytest.importorskip(name, reason=f"optional: {name}")
    if "os.environ" not in text:
        assert wrong_in(page) == ""
        return
    code = f"import pathlib, test_docs; print(test_docs.wrong_in(pathlib.Path({str(page)!r})))"
    assert python("-c", code).strip() == ""


def test_languages():
    """python is run here, sh by the README's own test of its commands, the rest is read by tests.

    Files of the worked example are py and cpp, and diff where they are changed.
    """
    for page in PAGES:
        known = {"python", "sh", "text"}
        known |= {"py", "cpp", "diff"} if page.name == "CONTRIBUTING.md" else set()
        assert {block.language for block in blocks_of(page)} <= known, page


def test_text_blocks_are_the_ones_that_tests_read():
    texts = [(page.name, [b for b in blocks_of(page) if b.language == "text"]) for page in PAGES]
    assert {name: len(result) for name, result in texts if result} == {
        "cuda.md": 4,  # test_cuda_page
        "design.md": 1,  # test_architecture
        "larger-than-memory.md": 1,  # test_examples
        "README.md": 1,  # the address to clone, test_platforms
    }


def test_the_readme_has_two_commands():
    commands = [b.code for b in blocks_of(ROOT / "README.md") if b.language == "sh"]
    assert [len(command.splitlines()) for command in commands] == [1, 1]
    assert "tensorlayout demo" in commands[0]
    assert "-m pytest" in commands[1]
    (clone,) = [b.code for b in blocks_of(ROOT / "README.md") if b.language == "text"]
    urls = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["urls"]
    assert clone == f"git clone {urls['Homepage']}\ncd tensorlayout\n"


@functools.cache
def anchors_of(page: Path) -> set[str]:
    """The anchors that GitHub and mkdocs give the headings of a page."""
    headings = re.findall(r"^#+ (.*)$", FENCE.sub("", page.read_text("utf-8")), re.MULTILINE)
    return {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}


def test_links_inside_the_repository():
    texts = {page: FENCE.sub("", page.read_text("utf-8")) for page in PAGES}
    links = [(page, to) for page in PAGES for to in re.findall(r"\]\(([^)\s]+)\)", texts[page])]
    for page, target in links:
        if "://" in target:
            continue
        name, _, anchor = target.partition("#")
        linked = page.parent / name if name else page
        assert linked.exists(), (page, target)
        assert not anchor or anchor in anchors_of(linked), (page, target)


def test_every_page_is_on_the_site_and_the_guide_in_the_readme():
    pages = [*DOCS.rglob("*.md"), *DOCS.rglob("*.ipynb")]
    site = (ROOT / "mkdocs.yml").read_text("utf-8")
    shown = re.findall(r"^ +- (?:.*: )?(\S+\.(?:md|ipynb))$", site, re.MULTILINE)
    assert sorted(shown) == sorted(page.relative_to(DOCS).as_posix() for page in pages)
    readme = re.findall(r"\]\(docs/([\w./-]+)\)", (ROOT / "README.md").read_text("utf-8"))
    guide = {page.name for page in DOCS.glob("*.md")} - {"index.md"}
    assert guide | {"start/tutorial.md", "start/installation.md", "recipes/index.md"} <= {*readme}


def test_the_home_page_is_the_readme():
    readme = (ROOT / "README.md").read_text("utf-8")
    for target in re.findall(r"\]\(([^)\s]+)\)", readme):
        link = home.link_on_site(target, "https://repository")
        page = link.partition("#")[0]
        assert link.startswith("https://") or (DOCS / page).exists(), target
    assert home.link_on_site("docs/fuse.md", "") == "fuse.md"
    assert home.link_on_site("LICENSE", "https://r") == "https://r/blob/main/LICENSE"
    shown = home.page_text(readme, "https://r")
    assert "](assets/one-photograph.jpg)" in shown
    assert "](docs/" not in shown


def test_every_public_name_has_one_entry_in_the_reference():
    names = [
        name
        for page in (DOCS / "reference").glob("*.md")
        for name in reference.names_of(re.findall(r"^  - (\S+)$", page.read_text("utf-8"), re.M))
    ]
    spaces = [tl, tl.cuda, tl.linalg, tl.fft, tl.directml, tl.xla]
    spaces += [getattr(tl.xla, name) for name in tl.xla.__all__ if name.endswith("_util")]
    rows = (getattr(tl.formats, name) for name in tl.formats.__all__)
    spaces += [tl.formats, *filter(inspect.ismodule, rows)]
    public = {f"{space.__name__}.{name}" for space in spaces for name in space.__all__}
    modules = {name for name in public if inspect.ismodule(reference.value_of(name))}
    twice = {"cross", "matmul", "matrix_transpose", "outer", "tensordot", "vecdot"}  # in `linalg`
    assert public - modules <= {*names}
    assert {name for name in names if names.count(name) > 1} <= twice


@pytest.mark.parametrize("name", reference.GROUPS)
def test_every_member_has_one_group_in_the_reference(name):
    grouped = [member for group in reference.groups_of(name).values() for member in group]
    assert sorted(grouped) == sorted(reference.members_of(reference.value_of(name)))
    entry = reference.entry_of(name)
    assert all(f"::: {name}.{member}\n" in entry for member in grouped)


@pytest.mark.skipif(
    np.lib.NumpyVersion(np.__version__) < "2.3.0",
    reason="optional: where two answers are allowed, older NumPys give the other",
)
def test_the_page_of_special_cases_is_up_to_date():
    committed = special_cases_page.PAGE.read_text("utf-8")
    head = committed.split(special_cases_page.MEASURED)[0]
    assert head == f"{special_cases_page.described()}\n", (
        "run python tests/harness/special_cases_page.py"
    )


# --- coming-from.md: what it says of others ----------------------------------------------------

COMING = (ROOT / "docs" / "coming-from.md").read_text("utf-8")


def names_of(library: str, column: int) -> set[str]:
    """The dotted names that a column of the page's tables gives after ``library.``."""
    rows = [line.strip("|").split(" | ") for line in COMING.splitlines() if line.startswith("| ")]
    cells = "\n".join(row[column] for row in rows if len(row) >= 3)
    return set(re.findall(rf"\b{library}\.([A-Za-z][\w.]*)", cells))


def missing_in(library: object, names: set[str]) -> set[str]:
    def has(name: str) -> bool:
        result = library
        for part in name.split("."):
            result = getattr(result, part, None)
        return result is not None

    return {name for name in names if not has(name)}


def test_names_of_the_tables_exist():
    assert {"permute_dims", "linalg.trace"} < names_of("tl", -1)
    assert {"T", "layout.is_packed"} < names_of("x", -1)
    assert missing_in(tl, names_of("tl", -1)) == set()
    assert missing_in(tl.zeros((2, 2)), names_of("x", -1)) == set()
    assert missing_in(np, names_of("np", -3)) == set()
    assert missing_in(np.zeros((2, 2)), names_of("a", -3)) == set()


def test_numpy_is_as_the_page_says():
    def dtype_of(one: object, other: object) -> object:
        return np.add(one, other).dtype

    single = np.ones(1, np.float32)
    assert dtype_of(single, np.asarray(1.0)) == np.float64
    assert dtype_of(single, np.ones(1, np.int64)) == np.float64
    assert dtype_of(np.ones(1, np.uint64), np.ones(1, np.int64)) == np.float64
    assert dtype_of(np.ones(1, np.int64), 1.0) == np.float64
    assert dtype_of(np.ones(1, np.float16), np.ones(1, tl.bfloat16)) == np.float32
    with pytest.warns(RuntimeWarning, match="divide by zero"):
        assert np.asarray([7]) // 0 == 0
    with pytest.raises(ValueError, match="negative integer powers"):
        np.asarray([2]) ** -1
    with pytest.raises(OverflowError):
        np.ones(1, np.int8) + 300
    assert np.asarray([-1.0]) // np.inf == -1.0
    assert np.asarray([2**63], np.uint64) != np.asarray([2**63 - 1])
    assert np.zeros((2, 3, 4)).T.shape == (4, 3, 2)


def test_pytorch_is_as_the_page_says():
    torch = pytest.importorskip("torch", reason="optional: PyTorch")
    assert missing_in(torch, names_of("torch", -2)) == set()
    assert missing_in(torch.zeros(2), names_of("x", -2)) == set()
    single = torch.ones(1)
    assert (single + torch.tensor(1.0, dtype=torch.float64)).dtype == torch.float32
    assert (single + torch.ones(1, dtype=torch.int64)).dtype == torch.float32
    assert (torch.ones(1, dtype=torch.int64) + 1.0).dtype == torch.float32
    halves = torch.ones(1, dtype=torch.float16), torch.ones(1, dtype=torch.bfloat16)
    assert (halves[0] + halves[1]).dtype == torch.float32
    with pytest.raises(RuntimeError, match="not supported"):
        torch.ones(1, dtype=torch.int64) + torch.ones(1, dtype=torch.uint64)
    with pytest.raises(RuntimeError, match="ZeroDivisionError"):
        torch.tensor([7]) // 0
    with pytest.raises(RuntimeError, match="negative integer powers"):
        torch.tensor([2]) ** -1
    assert torch.tensor([1], dtype=torch.int8) + 300 == 45
    assert torch.tensor([-1.0]) // np.inf == -1.0
    row, column = torch.zeros(2, 3), torch.zeros(3, 2).permute(1, 0)
    assert ((row + column).stride(), (column + row).stride()) == ((3, 1), (1, 2))
    assert column.clone().stride() == (1, 2)


# --- layouts.md: the text form -----------------------------------------------------------------


def rows_of(heading: str) -> list[list[str]]:
    """The body rows of the table under a heading."""
    section = LAYOUTS.split(f"## {heading}\n", 1)[1].split("\n## ", 1)[0]
    lines = [line for line in section.splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[2:]]


def test_text_forms():
    texts = [row[0].strip("`") for row in rows_of("Text form")]
    assert [str(Layout.parse(text)) for text in texts] == texts


# --- layouts.md: result layout of each function ------------------------------------------------


def square() -> tl.Tensor:
    return tl.asarray([[4.0, 1.0], [1.0, 3.0]], layout=Layout.padded((2, 2), (3, 3), (0, 1)))


# Calls, in which `x` is a matrix and `s` a square one.
_BY_NAME = """
argpartition(x, 0); partition(x, 0); lexsort([x, x]); compress([True, False], x, axis=0)
top_k(x, 2)[0]
argsort corrcoef cov empty_like flip matrix_transpose ones_like sort transpose tril triu (x)
unique unique_values zeros_like linalg.diagonal flatnonzero (x)
atleast_1d atleast_2d atleast_3d copy diagonal (x)
ediff1d fliplr flipud rot90 trapezoid unwrap (x)
append(x, x, axis=0); block([[x], [x]]); insert(x, 1, 7, axis=0); delete(x, 1, axis=1)
column_stack concatenate hstack vstack ([x, x])
array_split split vsplit (x, 2)
hsplit(x, 3); dsplit(x[..., None], 1); dstack([x[..., None], x[..., None]]); rollaxis(x, 1)
swapaxes(x, 0, 1); ix_(x[0, :], x[1, :]); interp(x, [1, 5], [2, 4]); resize(x, (3, 5))
apply_along_axis(tl.sum, 0, x); diagflat(x)
linalg.cholesky linalg.det linalg.eig linalg.eigh linalg.eigvals linalg.eigvalsh linalg.inv (s)
linalg.cond linalg.matrix_norm linalg.matrix_rank linalg.norm linalg.pinv linalg.qr (s)
linalg.slogdet linalg.svd linalg.svdvals linalg.vector_norm fft.fft2 fft.ifft2 fft.rfft2 (s)
fft.irfft2 fft.fft fft.fftn fft.hfft fft.ifft fft.ifftn fft.ihfft (s)
fft.irfft fft.irfftn fft.rfft fft.rfftn (s)
fft.fftshift fft.ifftshift (tl.astype(x, tl.float64))
cross inner intersect1d isin kron outer setdiff1d setxor1d union1d vdot vecdot (x, x)
arange fft.fftfreq fft.rfftfreq (6)
linspace logspace (0, 1, 6); geomspace(1, 2, 6)
histogram_bin_edges(x); histogram(x)[0]; digitize(x, [2, 4])
empty ones zeros ((2, 3))
identity(3); tri(2, 3)
all any argmax argmin average count_nonzero max mean median min (x, axis=0, keepdims=True)
prod ptp std sum var (x, axis=1, keepdims=True)
nanargmax nanargmin nanmax nanmean nanmedian nanmin nanprod nanstd (x, axis=1, keepdims=True)
nansum nanvar (x, axis=1, keepdims=True)
cumprod cumsum cumulative_prod cumulative_sum diff nancumprod nancumsum (x, axis=1)
nanpercentile nanquantile percentile quantile (x, 0.5, axis=1, keepdims=True)
moveaxis(x, 0, 1); isclose(x, 1); expand_dims(x, 1); squeeze(x[None], 0); pad(x, 1); eye(2, 3)
broadcast_to(x, (2, 2, 3)); sliding_window(x, 2, axis=1); bincount(x[0, :]); gradient(x, axis=1)
einsum("ij,j->ij", x, x[0, :]); concat([x, x]); stack([x, x], axis=1); roll(x, 1, axis=0)
repeat(x, 2, axis=0); tile(x, (2, 1)); take(x, tl.asarray([1, 0]), axis=0); where(x > 2, x, 0)
permute_dims(x, (1, 0)); take_along_axis(x, tl.argsort(x)); searchsorted(x[0, :], x)
tensordot(x, x.T, axes=1); matmul(x.T, x); full_like(x, 7); full((2, 3), 1); astype(x, tl.float32)
scatter_add(x, tl.asarray([1, 0, 1]), 10); scatter_max(x, tl.asarray([1]), 4)
scatter_min(x, tl.asarray([[1], [0]]), 1, axis=1); linalg.matrix_power(s, 1); linalg.solve(s, s)
linalg.multi_dot([s, s]); linalg.trace(tl.ones((3, 4, 4), layout=(0, 1, 2)))
convolve(x[0, :], x[1, :]); diagflat(x); dot(x.T, x); vander(x[0, :]); polyval([1, 2], x)
extract(x > 1, x); select([x > 1], [x]); choose(x > 1, [x, x]); piecewise(x, [x > 1], [0])
diag_indices_from(s)[0]; tril_indices_from(x)[0]; triu_indices_from(x)[0]
unravel_index(x, (99,))[0]; ravel_multi_index((x, x), (99, 99))
nonzero(x)[0]; unstack(x)[1]; broadcast_arrays(x, x)[1]; meshgrid(x[0, :], x[1, :])[0]
unique_all(x).inverse_indices; unique_counts(x).counts; unique_inverse(x).inverse_indices
quantize_blocks(tl.astype(x, tl.float32), "mxfp4").data
dequantize_blocks(*tl.quantize_blocks(tl.astype(x, tl.float32), "nvfp4"))
scaled_matmul(tl.quantize_blocks(x / 2, "mxfp4"), tl.quantize_blocks(x.mT / 2, "mxfp4", axis=0))
"""
CALLS = {
    **{c.partition("(")[0]: f"tl.{c}" for row in templates(_BY_NAME) for c in row.split("; ")},
    "x[…] by integers, slices, None": "x[0, ::2, None]",
    "x[…] by tensors of positions or masks": "x[tl.asarray([1, 0])]",
    # Two of the group; `tests/ops` draws the others.
    "all other elementwise functions": "tl.add(x, x), tl.sinc(x)",
}

# Both ways of these, by hand below or in tests of their own.
EITHER = {"asarray", "diag", "from_dlpack", "from_storage", "imag", "ravel", "real", "reshape"}
EITHER |= {
    "argwhere",
    "array",
    "ascontiguousarray",
    "asfortranarray",
    "correlate",
    "real_if_close",
    "to_layout",
}
IN_PLACE = {"copyto", "fill_diagonal", "place", "put", "put_along_axis", "putmask"}
IN_PLACE |= {"x[…] = y", "x += y and its like"}
NO_TENSOR = {
    *("__array_namespace_info__", "allclose", "allow_negative_strides", "array_equal"),
    *(
        "array_equiv",
        "broadcast_shapes",
        "can_cast",
        "default_device",
        "finfo",
        "get_num_threads",
        "iinfo",
        "isdtype",
        "result_type",
    ),
    *("set_default_device", "set_num_threads", "using_device"),
}

_ROWS = [
    (name.strip().replace("`", ""), memory, layout)
    for names, memory, layout in rows_of("Result layout of each function")
    for name in re.split(r", (?=`|all )(?!`None`)", names)
]
_NAMED = {name for name, _, _ in _ROWS}


def chapter_of(name: str) -> list[str]:
    return list(importlib.import_module(f"tensorlayout.functions.{name}").__all__)


def extensions() -> set[str]:
    """The functions of the standard's extensions that are in no other namespace."""
    own = set(tl.linalg.__all__) - {*chapter_of("linear_algebra"), *chapter_of("products")}
    return {f"linalg.{n}" for n in own} | {f"fft.{n}" for n in tl.fft.__all__}


# Whose functions are elementwise, or other names of functions.
CHAPTERS = {"aliases", "composed", "elementwise"}


# The row of the other functions of the extensions stands for a row of each.
TABLE = [
    (function, memory, layout)
    for name, memory, layout in _ROWS
    for function in (
        sorted(extensions() - _NAMED) if name == "all other functions of linalg and fft" else [name]
    )
]


# Matrices that are packed, padded, with gaps, backwards, moved, and that share slots.
MATRICES = [
    "(2,3):(3,1)",
    "(2,3):(4,1) padded=(2,4) padding=LOWEST",
    "(2,3):(1,4) padded=(4,3) padding=ONE",
    "(2,3):(1,5)",
    "(2,3):(1,-2)+4",
    "(2,3):(0,1)",
    "(2,3):(1,1)",
]


def matrix_in(text: str) -> tl.Tensor:
    """A matrix in a layout; those that share slots hold fewer numbers."""
    layout = Layout.parse(text)
    numbers = np.arange(1, layout.required_size + 1)
    x = over(numbers, layout, fill_padding=layout.is_padded)
    assert x.layout == layout
    return x


def holds(result: tl.Tensor | Sequence[tl.Tensor], x: tl.Tensor, memory: str, layout: str) -> None:
    if isinstance(result, (tuple, list)):
        for part in result:
            holds(part, x, memory, layout)
        return
    assert shared(result, x) == (memory == "view")
    word = layout.split(",")[0]
    if word == "form":
        assert result.layout == x.layout.form
    elif word == "packed":
        assert result.layout.is_packed
        assert not result.layout.is_padded
        if result.ndim == x.ndim:
            assert result.layout.minor_to_major == x.layout.minor_to_major
    elif word == "row-major":
        assert result.layout.is_row_major
        assert not result.layout.is_padded
    else:
        assert word == "the same slots"
        assert memory == "view"


def test_every_public_function_is_in_the_table():
    named = {name for name, _, _ in TABLE}
    assert len(named) == len(TABLE), "a function has two rows"
    assert named - EITHER - IN_PLACE == CALLS.keys()
    assert {n for n in named if n.startswith(("linalg.", "fft."))} == extensions()
    values = {n: getattr(tl, n) for n in tl.__all__}  # other names of a function are the function
    functions = {n for n, f in values.items() if inspect.isfunction(f) and f.__name__ == n}
    covered = {n for chapter in CHAPTERS for n in chapter_of(chapter)} | named | NO_TENSOR
    others = {"trace", "no_copies", "explain", "coalesce", "fuse", "load", "save", "savez"}
    others |= {"apply_over_axes"}  # what the function that is given gives
    assert functions - covered - others == set(), "add them to docs/layouts.md"


@on_devices
@pytest.mark.parametrize("row", [r for r in TABLE if r[0] in CALLS], ids=lambda r: r[0])
def test_what_a_function_gives(row):
    name, memory, layout = row
    for text in MATRICES:
        x = matrix_in(text)
        holds(eval(CALLS[name], {"tl": tl, "x": x, "s": square()}), x, memory, layout)


@on_devices
def test_quantiles_lead():
    x = tl.ones((2, 3, 4), layout=Layout.padded((2, 3, 4), (3, 3, 4), (0, 1, 2)))
    result = tl.quantile(x, [0.25, 0.5, 0.75], axis=1)
    assert result.layout == tl.Layout.packed((3, 2, 4), (1, 2, 0))
