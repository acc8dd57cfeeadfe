"""Actions on the import of another library, whichever is imported first."""

import importlib
import sys

import pytest

from tensorlayout.support import lazy_imports as late

pytestmark = pytest.mark.cpu

CALLED = []


@pytest.fixture(name="modules")
def _modules(tmp_path, monkeypatch):
    """A package `followed`, whose part `followed.part` is waited for by the module `following`."""
    (tmp_path / "followed").mkdir()
    (tmp_path / "followed" / "__init__.py").write_text("")
    (tmp_path / "followed" / "part.py").write_text("READY = True\n")
    (tmp_path / "following.py").write_text(
        "def register():\n"
        "    from followed.part import READY\n"
        "    import test_followers\n"
        "    test_followers.CALLED.append(READY)\n"
    )
    (tmp_path / "failing.py").write_text("def register():\n    import followed.missing\n")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(sys, "meta_path", list(sys.meta_path))
    monkeypatch.setitem(sys.modules, "test_followers", sys.modules[__name__])
    CALLED.clear()
    importlib.invalidate_caches()
    yield
    for name in ("followed", "followed.part", "following", "failing"):
        sys.modules.pop(name, None)


@pytest.mark.usefixtures("modules")
def test_the_library_comes_later():
    finders = list(sys.meta_path)
    late.call_register_after_import("followed.part", "following")
    importlib.import_module("followed")
    assert not CALLED
    importlib.import_module("followed.part")
    assert CALLED == [True]
    assert sys.meta_path == finders
    importlib.reload(sys.modules["followed.part"])
    assert CALLED == [True]


@pytest.mark.usefixtures("modules")
def test_the_library_was_first():
    importlib.import_module("followed.part")
    late.call_register_after_import("followed.part", "following")
    assert CALLED == [True]


@pytest.mark.usefixtures("modules")
def test_a_library_that_is_missing():
    late.call_register_after_import("followed.missing", "following")
    with pytest.raises(ModuleNotFoundError):
        importlib.import_module("followed.missing")
    assert importlib.util.find_spec("followed.missing") is None
    assert not CALLED


@pytest.mark.usefixtures("modules")
def test_a_library_that_does_not_fit_can_be_imported():
    """Whoever imports it is warned; the import is as it would be without us."""
    late.call_register_after_import("followed.part", "failing")
    with pytest.warns(RuntimeWarning, match=r"^failing does not fit the followed\.part that is"):
        assert importlib.import_module("followed.part").READY
