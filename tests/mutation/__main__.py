"""Change the code in one place at a time, and see whether the tests notice.

    python tests/mutation --map                    # once: which test runs which line, a few minutes
    python tests/mutation layout --number 200 --seed 1
    python tests/mutation cpu/copy.py --mutant 17 --seed 1

Needs ``pip install cosmic-ray coverage``. Cosmic Ray says what may change: an operator, a
comparison, a number, a ``break``, …. Places are drawn first, then one of the changes possible at
each, so that a ``+``, for which there are eleven, counts no more than a ``not``. Each change, a
*mutant*, runs in a process forked after all tests were collected: the changed function's code is
put into the function that everyone holds. It meets the tests that run its lines on the CPU, a few
of each file in turn, until one fails or `--seconds` are spent. README.md beside this file has the
figures, and says what is not drawn.
"""

from __future__ import annotations

import argparse
import ast
import functools
import gc
import importlib
import inspect
import itertools
import json
import os
import random
import resource
import signal
import sys
import time
from collections import defaultdict
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any, NamedTuple

import pytest

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "tensorlayout"
MAP = ROOT / ".mutation.json"
# They look at the sources, at other devices, processes or threads.
LEFT_OUT = (
    *("forks", "interrupts", "soak", "thread_counts", "threads"),
    *("architecture", "cli", "consumers", "cuda_", "cupy", "demo", "device_functions", "docs"),
    *("directml_device", "gpu", "nvrtc", "on_devices", "package", "public_api", "simulator"),
    *("families", "xla_buffers", "xla_functions", "xla_hlo", "xla_page", "xla_text"),
)
MAPPED = ("layout", "plan", "cpu", "functions", "interchange")
NOT_DRAWN = ("core/RemoveDecorator",)  # decorators run when the module is imported
OPTIONS = ["-q", "-s", "-p", "no:cacheprovider", "-p", "no:xdist"]
NOT_INSTALLED = "not installed"
MOST = 20  # sets of parameters of one test, drawn; of the table of operations all
MEMORY = 6 << 30  # bytes of addresses of one process
DEADLINE = 600  # seconds of one process, which may wait for ever


class Place(NamedTuple):
    """A change that Cosmic Ray can make."""

    path: Path
    line: int
    operator: str
    occurrence: int


class Mutant(NamedTuple):
    """A change made: the new source, and the lines that have to run for it to matter."""

    place: Place
    source: str
    lines: list[int]


# --- what can be changed --------------------------------------------------------------------------


def places(path: Path) -> dict[tuple[Any, ...], list[Place]]:
    """All changes to a file, by where they are."""
    from cosmic_ray.ast import ast_nodes, get_ast
    from cosmic_ray.plugins import get_operator, operator_names

    tree = get_ast(path.read_text())
    skipped = _not_run(path)
    result = defaultdict(list)
    for name in operator_names():
        operator_class = get_operator(name)
        if operator_class.arguments() or name in NOT_DRAWN:
            continue
        operator, occurrence = operator_class(), itertools.count()
        for node in ast_nodes(tree):
            for (line, column), end in operator.mutation_positions(node):
                place = Place(path, line, name, next(occurrence))
                if not any(a <= (line, column) < b for a, b in skipped):
                    result[line, column, end].append(place)
    return result


def _not_run(path: Path) -> list[tuple[tuple[int, int], tuple[int, int]]]:
    """From where to where there are annotations, decorators, defaults and other headers."""
    results: list[ast.AST] = []
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.FunctionDef):
            results += [*node.decorator_list, node.args, *filter(None, [node.returns])]
        if isinstance(node, ast.ClassDef):
            results += [n for n in (*node.decorator_list, *node.body) if not hasattr(n, "body")]
        if isinstance(node, ast.AnnAssign):
            results.append(node.annotation)
        if isinstance(node, ast.Assert | ast.ImportFrom):
            results.append(node)
    ends = [n for node in results for n in ast.walk(node) if hasattr(n, "end_lineno")]
    return [((n.lineno, n.col_offset), (n.end_lineno, n.end_col_offset)) for n in ends]


def mutant(place: Place) -> Mutant | None:
    """The change made, if the compiler sees a difference."""
    from cosmic_ray.mutating import mutate_code
    from cosmic_ray.plugins import get_operator

    source = place.path.read_text()
    changed = mutate_code(source, get_operator(place.operator)(), place.occurrence)
    try:
        same = changed is None or ast.dump(ast.parse(changed)) == ast.dump(ast.parse(source))
    except SyntaxError:
        return None
    return None if same else Mutant(place, changed, _lines(source, place.line))


def _lines(source: str, line: int) -> list[int]:
    """The lines that have to run: the statement, or for a constant of the module its uses."""
    tree = ast.parse(source)
    for node in tree.body:
        if isinstance(node, ast.Assign) and node.lineno <= line <= (node.end_lineno or 0):
            names = {n.id for n in node.targets if isinstance(n, ast.Name)}
            uses = [n for n in ast.walk(tree) if isinstance(n, ast.Name) and n.id in names]
            return [item for n in uses for item in _statement(source, n.lineno)]
    return _statement(source, line)


def _statement(source: str, line: int) -> list[int]:
    """The lines of the statement around a line; of one with a body, the lines before that."""
    results = [line]
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.stmt) and node.lineno <= line <= (node.end_lineno or 0):
            body = getattr(node, "body", None)
            end = max(body[0].lineno - 1, node.lineno) if body else node.end_lineno or 0
            if line <= end:
                results = list(range(node.lineno, end + 1))
    return results


def drawn(paths: list[Path], number: int, seed: int) -> Iterator[tuple[int, Mutant]]:
    """`number` mutants of these files; the same for the same seed."""
    draw = random.Random(seed)
    groups = [group for path in paths for group in places(path).values()]
    draw.shuffle(groups)
    result = filter(None, (mutant(draw.choice(group)) for group in groups))
    return enumerate(itertools.islice(result, number))


# --- putting one in place -------------------------------------------------------------------------


def install(change: Mutant) -> None:
    """Put the changed code into the functions of this process."""
    path = change.place.path
    module = importlib.import_module(
        ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")
    )
    old = _codes(compile(path.read_text(), str(path), "exec"))
    new = _codes(compile(change.source, str(path), "exec"))
    differ = [name for name, code in new.items() if old.get(name) != code]
    for name in differ:
        function = _function(module, name)
        function.__code__ = new[name]
    if not differ:
        _assign(module, change)
    _forget()


def _codes(module: CodeType) -> dict[str, CodeType]:
    """The code of the functions and methods, not of those inside other functions."""
    results = {}
    for code in filter(inspect.iscode, module.co_consts):
        if code.co_flags & inspect.CO_NEWLOCALS and code.co_name != "<lambda>":
            results[code.co_qualname] = code
        elif not code.co_name.startswith("<"):
            results |= _codes(code)  # a class
    return results


def _function(module: ModuleType, name: str) -> Any:
    """The function behind properties, caches and the like."""
    result = inspect.getattr_static(module, name.split(".")[0])
    for part in name.split(".")[1:]:
        result = inspect.getattr_static(result, part)
    while not inspect.isfunction(result):
        inner = ("fget", "func", "__func__", "__wrapped__")
        result = next(getattr(result, n) for n in inner if hasattr(result, n))
    return inspect.unwrap(result)


def _assign(module: ModuleType, change: Mutant) -> None:
    """A constant of the module, for all who have imported it."""
    space = {"__name__": module.__name__, "__file__": module.__file__}
    exec(compile(change.source, str(change.place.path), "exec"), space)
    for node in ast.parse(change.source).body:
        if (
            isinstance(node, ast.Assign | ast.AnnAssign)
            and node.lineno <= change.place.line <= node.end_lineno
        ):
            target = node.targets[0] if isinstance(node, ast.Assign) else node.target
            before = getattr(module, target.id)
            for other in list(sys.modules.values()):
                if getattr(other, target.id, None) is before:
                    setattr(other, target.id, space[target.id])
            return
    raise ValueError(change.place)


@functools.cache
def caches() -> list[Any]:
    """All caches of functions of the package."""
    results = [v for v in gc.get_objects() if isinstance(v, functools._lru_cache_wrapper)]
    return [v for v in results if v.__module__.startswith("tensorlayout.")]


def _forget() -> None:
    """Clear caches and cached properties that the unchanged code filled."""
    layouts = importlib.import_module("tensorlayout.layout.placement")
    kept = functools.cached_property
    bases = importlib.import_module("tensorlayout.layout").Layout.__mro__
    names = [n for base in bases for n, v in vars(base).items() if isinstance(v, kept)]
    for cache in caches():
        cache.cache_clear()
    held = [value() for value in list(layouts._interned._references.values())]
    for layout in filter(None, held):
        for name in names:
            layout.__dict__.pop(name, None)


# --- running tests --------------------------------------------------------------------------------


class Runner:
    """A plugin of pytest: collects once, then runs tests in forked processes."""

    def __init__(self, options: argparse.Namespace) -> None:
        self.options = options
        self.failed = ""
        self.took = 0.0

    def pytest_collection(self) -> None:
        from hypothesis import HealthCheck, settings

        every = list(HealthCheck)
        settings.register_profile("m", deadline=None, derandomize=True, suppress_health_check=every)
        settings.load_profile("m")

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        functions = defaultdict(list)
        for item in items:
            if "simulator" not in item.nodeid and "gpu" not in item.nodeid:
                functions[item.nodeid.split("[")[0]].append(item)
        draw = random.Random(0)
        items[:] = [
            item
            for name, result in functions.items()
            for item in (result if "/ops/" in name else draw.sample(result, min(len(result), MOST)))
        ]

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self.took += report.duration
        if report.failed:
            self.failed = f"{report.nodeid}: {str(report.longrepr)[-300:]!r}"

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        if self.options.map:
            MAP.unlink(missing_ok=True)
            failed = _forked(lambda: self.write_map(session.items), 10**5)
            if not MAP.exists():
                raise pytest.UsageError(f"no map was written: {failed}")
        else:
            self.mutate({item.nodeid: item for item in session.items})
        return True

    def write_map(self, items: list[pytest.Item]) -> str:
        import coverage

        include = [f"{PACKAGE}/{folder}/*" for folder in MAPPED]
        seen = coverage.Coverage(data_file=None, config_file=False, include=include)
        took = {}
        seen.start()
        for item, following in zip(items, [*items[1:], None], strict=True):
            self.took = 0.0
            seen.switch_context(item.nodeid)
            with suppress(Exception):  # of pytest itself, about texts that it cannot write
                item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
            took[item.nodeid] = self.took
            if len(took) % 200 == 0:
                print(f"{len(took)} of {len(items)} {item.nodeid}", file=sys.stderr, flush=True)
        seen.stop()
        data, index = seen.get_data(), {item.nodeid: n for n, item in enumerate(items)}
        lines = {
            str(Path(path).relative_to(ROOT)): {
                line: [index[name] for name in names if name]
                for line, names in data.contexts_by_lineno(path).items()
            }
            for path in data.measured_files()
        }
        MAP.write_text(json.dumps({"took": took, "lines": lines}))
        return self.failed

    def mutate(self, items: dict[str, pytest.Item]) -> None:
        known = json.loads(MAP.read_text())
        counts: dict[str, int] = defaultdict(int)
        options = self.options
        caches()
        gc.freeze()  # else each process would copy all objects, to mark them
        for number, change in drawn(options.paths, options.number, options.seed):
            if options.mutant and number not in options.mutant:
                continue
            names = chosen(change, known, options.seconds)
            tests = [items[name] for name in names if name in items]
            began = time.monotonic()
            meet = functools.partial(self.meet, change, tests)
            killer = _forked(meet, options.seconds) if tests else ""
            kind = "unreached" if not tests else "killed" if killer else "survived"
            kind = NOT_INSTALLED if killer.startswith(NOT_INSTALLED) else kind
            counts[kind] += 1
            print(f"{number} {kind} {describe(change)}")
            print(f"    {len(tests)} tests, {time.monotonic() - began:.1f} s; {killer}", flush=True)
        print(dict(counts))

    def meet(self, change: Mutant, tests: list[pytest.Item]) -> str:
        try:
            if not self.options.unchanged:
                install(change)
        except (AttributeError, StopIteration, SyntaxError, ValueError) as error:
            return f"{NOT_INSTALLED}: {error!r}"
        for item, following in zip(tests, [*tests[1:], None], strict=True):
            item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
            if self.failed:
                break
        return self.failed


def chosen(change: Mutant, known: dict[str, Any], seconds: float) -> list[str]:
    """The tests that a mutant meets: of each file one, then of each another, the long ones last."""
    by_line = known["lines"].get(str(change.place.path.relative_to(ROOT)), {})
    numbers = {n for line in change.lines for n in by_line.get(str(line), ())}
    names, took = list(known["took"]), known["took"]
    files = defaultdict(list)
    for name in (names[n] for n in sorted(numbers)):
        files[name.split("::")[0]].append(name)
    for group in files.values():
        random.Random(0).shuffle(group)
        group.sort(key=lambda name: took[name] > 0.3)
    turns = itertools.chain.from_iterable(itertools.zip_longest(*files.values()))
    results, total = [], 0.0
    for name in filter(None, turns):
        total += took[name]
        if total < seconds or not results:
            results.append(name)
    return results


def _forked(work: Any, seconds: float) -> str:
    """Return the result of `work` in a new process, or how the process ended."""
    reader, writer = os.pipe()
    child = os.fork()
    if not child:
        _limit(seconds)
        try:
            answer = work()
        except BaseException as error:  # a mutant may raise whatever it likes
            answer = f"{type(error).__name__}: {error}"
        os.write(writer, answer.encode()[:4000])
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader, "rb") as pipe:
        answer = pipe.read().decode(errors="replace")
    status = os.waitpid(child, 0)[1]
    return answer or (f"ended by {status}" if status else "")


def _limit(seconds: float) -> None:
    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, 1)
    if seconds < 10**4:
        os.dup2(null, 2)
        limit = int(4 * seconds + 20)
        resource.setrlimit(resource.RLIMIT_CPU, (limit, limit + 5))
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        signal.alarm(DEADLINE)


def describe(change: Mutant) -> str:
    """The line before and after."""
    before, after = change.place.path.read_text().splitlines(), change.source.splitlines()
    n = next(n for n, (a, b) in enumerate(zip(before, after, strict=False)) if a != b)
    where = change.place.path.relative_to(PACKAGE)
    return f"{where}:{n + 1}\n    - {before[n].strip()}\n    + {after[n].strip()}"


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python tests/mutation", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("paths", nargs="*", help="folders or files of the package: layout, plan, …")
    parser.add_argument("--map", action="store_true", help="find out which test runs which line")
    parser.add_argument("--number", type=int, default=100, help="of mutants (default: 100)")
    parser.add_argument("--seed", type=int, default=1, help="of the draws (default: 1)")
    parser.add_argument("--mutant", type=int, nargs="+", help="these of them alone")
    parser.add_argument("--seconds", type=float, default=20, help="of tests for each (default: 20)")
    parser.add_argument("--unchanged", action="store_true", help="nothing changed: all survive")
    options = parser.parse_args()
    operands = [PACKAGE / path for path in options.paths]
    options.paths = [f for p in operands for f in (sorted(p.glob("*.py")) if p.is_dir() else [p])]
    return options


def main() -> int:
    tests = sorted((ROOT / "tests").glob("*/test_*.py"))
    tests = [t for t in tests if t.parent.name not in ("conformance", "fuzz")]
    kept = [str(t) for t in tests if not t.stem.removeprefix("test_").startswith(LEFT_OUT)]
    return int(pytest.main([*OPTIONS, *kept], plugins=[Runner(arguments())]))


if __name__ == "__main__":
    sys.exit(main())
