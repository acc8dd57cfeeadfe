"""The notebooks: their kept outputs are what their cells give."""

from pathlib import Path

import pytest

NOTEBOOKS = sorted((Path(__file__).parents[2] / "docs" / "notebooks").glob("*.ipynb"))
# What other libraries draw differs between their versions.
OURS = ("text/plain", "text/html")


def outputs_of(notebook):
    """Return the output of each cell by kind of text."""
    for cell in notebook.cells:
        if cell.cell_type == "code":
            for output in cell.outputs:
                data = output.get("data", {"text/plain": output.get("text")})
                yield cell.source, {kind: data[kind] for kind in OURS if kind in data}


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.name)
@pytest.mark.filterwarnings("default")
def test_outputs_are_current(path):
    nbformat = pytest.importorskip("nbformat", reason="optional: nbformat")
    nbclient = pytest.importorskip("nbclient", reason="optional: nbclient")
    pytest.importorskip("ipykernel", reason="optional: ipykernel")
    kept = nbformat.read(path, as_version=4)
    run = nbformat.read(path, as_version=4)
    folder = {"metadata": {"path": str(path.parent)}}
    nbclient.NotebookClient(run, timeout=120, kernel_name="python3", resources=folder).execute()
    assert [*outputs_of(run)] == [*outputs_of(kept)]
