"""Tasks for a checkout: `nox -s NAME`, or `nox` for lint and tests.

What follows ``--`` goes to the command. `.ci/run` does all that CI does, without nox.
"""

import nox

nox.options.sessions = ["lint", "test"]
nox.options.reuse_existing_virtualenvs = True


def run(session: nox.Session, extra: str, *command: str) -> None:
    """Install the checkout with an extra, and run Python's `command`."""
    session.install("-e", f".[{extra}]")
    session.run("python", *command, *session.posargs)


@nox.session
def demo(session: nox.Session) -> None:
    """Draw the demo's pictures."""
    run(session, "demo", "-m", "tensorlayout", "demo")


@nox.session
def test(session: nox.Session) -> None:
    """Run the tests, five minutes on two cores, three with compiled kernels."""
    run(session, "test", "-m", "pytest", "-n", "2")


@nox.session
def consumers(session: nox.Session) -> None:
    """Run libraries and engines that take tensors."""
    names = ("consumers", "dask", "transport")
    files = [f"tests/exchange/test_{name}.py" for name in names]
    run(session, "test,consumers,engines", "-m", "pytest", "-n", "2", *files)


@nox.session
def lint(session: nox.Session) -> None:
    """Hold style and types against the rules."""
    session.install("-e", ".[test,ci]")
    session.run("ruff", "check")
    session.run("ruff", "format", "--check")
    session.run("mypy")


@nox.session
def docs(session: nox.Session) -> None:
    """Build the site of the documents; `nox -s docs -- serve` would show it."""
    session.install("-e", ".[docs]")
    session.run("mkdocs", *(session.posargs or ["build", "--strict"]))


@nox.session
def bench(session: nox.Session) -> None:
    """Run the benchmarks that follow ``--``, as in ``functions``."""
    run(session, "bench", "-m", "benchmarks")


@nox.session
def conformance(session: nox.Session) -> None:
    """Run the official suite, whose checkout the arguments name."""
    run(session, "conformance", "tests/conformance")


@nox.session
def coverage(session: nox.Session) -> None:
    """Run tests while lines and branches are counted, and print what nothing ran."""
    run(session, "test,coverage", "tests/harness/covered.py", "-n", "2")
    session.run("python", "tests/harness/covered.py", "report")
