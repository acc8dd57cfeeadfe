"""functions-of-libraries.md: its names are those of the libraries, and its replacements exist."""

import re
from types import SimpleNamespace

import libraries
import library_names
import numpy as np
import pytest
import reference

import tensorlayout as tl

PAGE = (library_names.FILE.parents[1] / libraries.PAGE).read_text("utf-8")
ROWS = [(section, row) for section in libraries.SECTIONS for row in libraries.rows_of(section)]


def cells(kind: str) -> list[str]:
    return [row.cell.text for _, row in ROWS if row.cell.kind == kind]


@pytest.mark.skipif(
    np.__version__ != libraries.data()["numpy"]["version"],
    reason="optional: the version of NumPy whose names are listed",
)
def test_names_of_numpy():
    command = "run python tests/harness/library_names.py"
    assert library_names.names_of("numpy") == libraries.data()["numpy"], command


@pytest.mark.long
@pytest.mark.parametrize("library", ["cupy", "torch", "jax"])
def test_names_of_other_libraries(library):
    installed = pytest.importorskip(library, reason=f"optional: {library}")
    if installed.__version__.partition("+")[0] != libraries.data()[library]["version"]:
        pytest.skip(f"optional: the version of {library} whose names are listed")
    assert library_names.names_of(library) == libraries.data()[library]


def test_the_file_is_as_written():
    text = library_names.FILE.read_text("utf-8")
    assert library_names.text_of(libraries.data()) == text
    assert library_names.read() == libraries.data()


def test_every_name_has_one_row():
    for section in libraries.SECTIONS:
        names = [name for row in libraries.rows_of(section) for name in row.names]
        listed = {
            name for library in libraries.LIBRARIES for name in libraries.data()[library][section]
        }
        assert sorted(names) == sorted(listed)


def test_what_is_here_is_not_called_missing():
    spaces = {"functions": tl, "linalg": tl.linalg, "fft": tl.fft, "methods": tl.Tensor}
    for section, row in ROWS:
        for name in row.names:
            if section == "functions" and name in libraries.MOVED:
                assert row.kind_of(name) == libraries.OTHER, name
            elif not isinstance(getattr(spaces[section], name, None), (type(None), np.dtype)):
                assert row.kind_of(name) == libraries.SAME, name
                assert re.search(rf"\btensorlayout\.([\w.]+\.)?{name}\]", row.cell.text), name


def test_links_and_code_name_what_exists():
    entries = {
        name
        for page in (library_names.FILE.parents[1] / "reference").glob("*.md")
        for name in reference.names_of(re.findall(r"^  - (\S+)$", page.read_text("utf-8"), re.M))
    }
    entries |= {f"tensorlayout.Tensor.{name}" for name in reference.members_of(tl.Tensor)}
    texts = "\n".join(row.cell.text for _, row in ROWS)
    links = set(re.findall(r"\]\[([\w.]+)\]", texts))
    assert len(links) > 300
    assert links <= entries
    used = set(re.findall(r"\btl\.([\w.]+\w)", texts))
    assert {
        f"tl.{name}" for name in used if reference.value_of(f"tensorlayout.{name}") is None
    } == set()
    members = set(re.findall(r"`x\.([\w.]+)", texts))
    x = tl.zeros((2, 2))
    for member in members:
        value = x
        for name in member.split("."):
            value = getattr(value, name)


def test_functions_of_numpy_take_tensors():
    names = re.findall(r"np\.(\w+)", "\n".join(cells(libraries.NUMPY)))
    assert len(names) > 20
    for name in names:
        ufunc = getattr(np, name, None)
        if ufunc is None:  # an older NumPy
            continue
        x = tl.asarray([[1, 2], [3, 4]])
        for operands in ([x, x], [tl.astype(x, tl.float64)] * 2, [tl.astype(x, tl.float64), x]):
            try:
                result = ufunc(*operands[: ufunc.nin])
                break
            except TypeError:
                continue
        else:
            pytest.fail(f"{name} accepts no tensors")
        results = result if isinstance(result, tuple) else (result,)
        assert all(isinstance(part, tl.Tensor) for part in results), name


def test_totals_of_the_page():
    assert PAGE.endswith(f"{libraries.totals()}\n"), "run python tests/harness/library_names.py"


def test_tables_of_the_site():
    page = SimpleNamespace(file=SimpleNamespace(src_uri=libraries.PAGE))
    text = libraries.on_page_markdown(PAGE, page=page)
    assert text.startswith(PAGE)
    for line in (
        "| — | — | `det` | — | [`tl.linalg.det(x)`][tensorlayout.linalg.det] |",
        "| `concat`, `concatenate` | `concat`, `concatenate` | `concat`, `concatenate`, `cat` |",
        "| `cbrt` | `cbrt` | — | `cbrt` | `np.cbrt` |",
        "| — | — | `bernoulli` | — | — random numbers |",
    ):
        assert line in text


def test_synonyms_and_remarks_name_what_the_libraries_have():
    listed = {name for section in libraries.SECTIONS for _, row in ROWS for name in row.names}
    synonyms = libraries.SYNONYMS.split()
    assert len(synonyms) == len(set(synonyms))
    assert set(synonyms) <= listed
    for section, remarks in libraries.DIFFERENCES.items():
        heads = {row.names[0] for row in libraries.rows_of(section)}
        for line in remarks.strip().splitlines():
            assert set(line.partition(": ")[0].split()) <= heads, line
    missing = {name for _, row in ROWS for name in row.names if row.cell.kind == libraries.MISSING}
    for line in libraries.REASONS.strip().splitlines():
        pattern = line.partition(": ")[2]
        assert any(re.fullmatch(pattern, name) for name in missing), line
