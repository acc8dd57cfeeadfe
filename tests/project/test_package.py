"""Contents of the installed package: version, licence, typing, kernels, photographs."""

import re
import subprocess
import sys
import zipfile
from importlib import metadata
from pathlib import Path

import pytest
from processes import python

import tensorlayout
from tensorlayout.support.kernel_sources import kernel_directory

ROOT = Path(__file__).parents[2]
PACKAGE = Path(tensorlayout.__file__).parent


def test_version_is_that_of_the_distribution():
    assert tensorlayout.__version__ == metadata.version("tensorlayout")
    assert re.fullmatch(r"\d+\.\d+\.\d+", tensorlayout.__version__)


def test_licence():
    described = metadata.metadata("tensorlayout")
    assert described["License-Expression"] == "MIT"
    assert described["License-File"] == "LICENSE"
    assert (ROOT / "LICENSE").read_text().startswith("MIT License")


def test_changelog_and_citation_are_of_this_version():
    changelog = (ROOT / "CHANGELOG.md").read_text("utf-8")
    version, date = re.search(r"^## (\S+), (\d{4}-\d\d-\d\d)$", changelog, re.M).groups()
    assert version == tensorlayout.__version__
    cited = (ROOT / "CITATION.cff").read_text("utf-8")
    assert f"\nversion: {version}\n" in cited
    assert f"\ndate-released: {date}\n" in cited


def test_links_of_the_readme_lead_out_of_a_package_index():
    readme = metadata.metadata("tensorlayout").get_payload() or ""
    links = re.findall(r"\]\((\S+?)\)", readme)
    assert len(links) > 20
    assert [link for link in links if not link.startswith("https://")] == []


def test_dependencies_without_extras():
    needed = [r for r in metadata.requires("tensorlayout") if "extra ==" not in r]
    names = {re.split(r"[<>=]", requirement)[0].replace("_", "-") for requirement in needed}
    assert names == {"ml-dtypes", "numpy"}


def test_files_of_this_checkout():
    assert (PACKAGE / "py.typed").is_file()
    assert (kernel_directory() / "README.md").is_file()


def test_where_kernels_are(tmp_path):
    (tmp_path / "kernels").mkdir()
    (tmp_path / "pyproject.toml").touch()
    package = tmp_path / "tensorlayout"
    assert kernel_directory(package) == tmp_path / "kernels"  # beside a checkout
    (package / "kernels").mkdir(parents=True)
    assert kernel_directory(package) == package / "kernels"  # installed


def test_kernels_missing(tmp_path):
    (tmp_path / "kernels").mkdir()  # of somebody else: there is no pyproject.toml
    with pytest.raises(FileNotFoundError, match="no folder of kernel sources") as caught:
        kernel_directory(tmp_path / "tensorlayout")
    assert str(tmp_path / "tensorlayout" / "kernels") in str(caught.value)


def test_the_package_runs_as_a_module():
    assert (
        python("-P", "-m", "tensorlayout", "--version")
        == f"tensorlayout {tensorlayout.__version__}\n"
    )


@pytest.mark.long
def test_wheel(tmp_path):
    """Builds a wheel (which fetches the build backend) and runs it unpacked, from elsewhere."""
    build = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps"]
    subprocess.run([*build, "--wheel-dir", tmp_path, ROOT], check=True)
    (wheel,) = tmp_path.glob("tensorlayout-*-py3-none-any.whl")
    unpacked = tmp_path / "unpacked"
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(unpacked)
        names = set(archive.namelist())
    sources = {
        path.relative_to(ROOT).as_posix()
        for folder in ("tensorlayout", "kernels")
        for path in (ROOT / folder).rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    moved = {re.sub(r"^kernels/", "tensorlayout/kernels/", name) for name in sources}
    assert {"tensorlayout/py.typed", "tensorlayout/kernels/README.md"} <= moved
    assert any(re.fullmatch(r"tensorlayout/cli/demo/photographs/.*\.jpg", name) for name in moved)
    assert moved <= names
    assert not any(name.startswith("tests/") for name in names)
    code = "import tensorlayout.support.kernel_sources as k; print(k.kernel_directory())"
    result = python("-P", "-c", code, cwd=tmp_path, PYTHONPATH=str(unpacked)).strip()
    assert result == str(unpacked / "tensorlayout" / "kernels")
