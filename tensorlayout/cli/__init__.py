"""Command line: ``tensorlayout demo``, ``show`` and ``info``, also as ``python -m tensorlayout``.

Nothing but ``__main__`` imports it.
"""

from __future__ import annotations

import argparse
import errno
import importlib
import importlib.util
import io
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NoReturn

from tensorlayout._version import __version__
from tensorlayout.cli.answers import CommandError, raise_show_error
from tensorlayout.devices import as_device
from tensorlayout.errors import short_repr, truncate

_DEMO = """a pipeline on photographs: NHWC memory; NumPy code called with tensors, whose trace names
the line that moved elements; copies refused; functions fused; DirectML's operators, XLA's tiles and
statistics on the same memory, which NumPy and PyTorch then share. Each step is compared with NumPy
and timed beside it. The pictures go to the folder OUT, all of them or, after an error, none."""
_JSON = """write the results, times in seconds, to FILE, which ends with .json; without FILE, or
with -, to the standard output, and nothing else there"""
_REPORT = """write one page of HTML to the folder DIR: the table, the pictures, the layouts drawn,
and what each step called"""
_COMPLETION = """print the completion of this command for a shell and end; needs shtab. For bash:
eval "$(tensorlayout --print-completion bash)" """
_DEVICE = """where the tensors live: cpu (the default), or cuda, for which
TENSORLAYOUT_CUDA_SIMULATOR=1 in the environment sets a simulator in the place of a GPU"""
_INFO = "print versions, devices and the cache of plans, as reports of problems want them."
_SHOW = """print what a layout says: sizes, strides, order, padding, and its memory slot by slot.
A layout is a text such as '(2,3):(5,1) padded=(2,5) padding=ZERO', or labels and a shape such as
NHWC 1,2,2,3 (the shape in the logical order N, C, H, W), or order and tiles and a shape such as
'{1,0:T(2,2)}' 3,5, or an XLA shape such as 'f32[3,5]{1,0:T(2,2)}', with its bytes,
or a DirectML descriptor such as 'sizes=1,3,4,4 strides=48,1,12,3 type=FLOAT32', with its least
size, or the name of a file of HLO that ends in .hlo or .txt (- reads one from the standard input),
with its buffers, and what changes of layout cost."""

# Names of the arguments for which a shell completes file names, or folder names.
_FILE_ARGUMENTS, _FOLDER_ARGUMENTS = {"images", "json", "layout", "svg"}, {"out", "report"}


class _Parser(argparse.ArgumentParser):
    """Argument parser whose error messages fit one line."""

    def error(self, message: str) -> NoReturn:
        self.exit(2, f"{self.prog}: error: {truncate(message, 1000)} (see --help)\n")


class _PrintCompletion(argparse.Action):
    """Option that prints a shell's completion script, made by shtab, and exits."""

    def __call__(self, parser: argparse.ArgumentParser, _: Any, shell: Any, *__: Any) -> None:
        if importlib.util.find_spec("shtab") is None:
            parser.error("--print-completion needs shtab: pip install shtab")
        shtab: Any = importlib.import_module("shtab")
        if shell not in shtab.SUPPORTED_SHELLS:
            parser.error(f"--print-completion: this shtab does not know {shell}, a newer one does")
        # Only the choices of subcommands are a dict: their names and parsers.
        commands = [a.choices for a in parser._actions if isinstance(a.choices, dict)]
        for command in commands[0].values():
            for action in command._actions:
                if action.dest in _FILE_ARGUMENTS:
                    action.complete = shtab.FILE
                elif action.dest in _FOLDER_ARGUMENTS:
                    action.complete = shtab.DIRECTORY
        # Shells complete a command's name, even if this one was started by python -m.
        parser.prog = "tensorlayout"
        print(shtab.complete(parser, shell))
        parser.exit()


def make_parser() -> argparse.ArgumentParser:
    """Return the parser of all commands; each sets ``run`` to the function that executes it."""
    command_name = Path(sys.argv[0]).stem if sys.argv else ""
    prog = "tensorlayout" if command_name == "tensorlayout" else "python -m tensorlayout"
    root_parser = _Parser(prog=prog, description="Tensors that know their layout.")
    root_parser.add_argument("--version", action="version", version=f"tensorlayout {__version__}")
    root_parser.add_argument(
        "--print-completion",
        action=_PrintCompletion,
        choices=("bash", "zsh", "fish", "tcsh"),
        help=_COMPLETION,
    )
    commands = root_parser.add_subparsers(dest="command", required=True, metavar="demo|show|info")
    demo = commands.add_parser(
        "demo", help="photographs as tensors, each step checked", description=_DEMO
    )
    demo.add_argument(
        "images",
        nargs="*",
        metavar="IMAGE",
        help="photographs, or folders of them (default: our own)",
    )
    demo.add_argument(
        "--out", default="tensorlayout-demo", help="folder of the pictures (default: %(default)s)"
    )
    demo.add_argument("--device", default="cpu", help=_DEVICE)
    demo.add_argument(
        "--repeat",
        type=int,
        default=5,
        metavar="N",
        help="how many warm calls of each step are timed; the table shows the median (default:"
        " %(default)s)",
    )
    demo.add_argument("--json", nargs="?", const="-", metavar="FILE", help=_JSON)
    demo.add_argument("--report", metavar="DIR", help=_REPORT)
    show = commands.add_parser("show", help="what a layout says", description=_SHOW)
    show.add_argument("layout", metavar="LAYOUT", help="such a text, labels, or order and tiles")
    show.add_argument(
        "shape", nargs="?", metavar="SHAPE", help="with these two: sizes, as in 1,3,4,5"
    )
    show.add_argument(
        "--svg",
        metavar="FILE",
        help="write the picture of the layout, too: an SVG, or a PNG, which needs Pillow, where"
        " FILE ends with .png; with -, an SVG to the standard output, and nothing else there",
    )
    show.add_argument(
        "--color-by",
        metavar="LAYOUT",
        help="with --svg: colour each slot by the rows of this other layout of the same memory, so"
        " that a slot has the same colour in several pictures; a text such as '(2,3):(3,1)'",
    )
    info = commands.add_parser("info", help="versions and devices", description=_INFO)
    for command, handler in ((demo, _run_demo), (show, _run_show), (info, _run_info)):
        command.set_defaults(run=handler)
    return root_parser


def _run_info(_: argparse.Namespace) -> None:
    # Commands import their modules when they run: the demo needs Pillow, which is optional.
    from tensorlayout.cli.info import version_report

    print(version_report())


def _run_show(arguments: argparse.Namespace) -> None:
    from tensorlayout.cli.show import describe_layout_text, draw_layout_text

    if arguments.color_by is not None and arguments.svg is None:
        raise_show_error("--color-by colours a picture and needs --svg FILE")
    if arguments.svg != "-":
        print(describe_layout_text(arguments.layout, arguments.shape))
        if arguments.svg is None:
            return
    picture = draw_layout_text(arguments.layout, arguments.shape, arguments.color_by)
    if arguments.svg == "-":
        # The output may have any encoding, so characters beyond ASCII become XML references.
        print(picture.svg.encode("ascii", "xmlcharrefreplace").decode(), end="")
        return
    try:
        picture.save(arguments.svg)
    except ValueError as error:
        raise_show_error(str(error))
    except (OSError, ModuleNotFoundError) as error:
        fix = "; pip install pillow" * isinstance(error, ImportError)
        raise_show_error(f"cannot write {short_repr(arguments.svg)}: {error}{fix}")


def _run_demo(arguments: argparse.Namespace) -> None:
    if importlib.util.find_spec("PIL") is None:
        msg = "the demo reads and writes pictures with Pillow: pip install pillow"
        raise CommandError(msg)
    try:
        as_device(arguments.device, "demo: --device")
    except ValueError as error:
        raise CommandError(str(error)) from None
    if arguments.repeat < 1:
        raise CommandError(f"demo: --repeat must be at least 1, got {arguments.repeat}")
    # --json takes an optional file: `--json a.jpg` would overwrite the picture it should read.
    if arguments.json not in (None, "-") and not arguments.json.endswith(".json"):
        raise CommandError(
            f"demo: the file of --json must end with .json, got {short_repr(arguments.json)};"
            " for the standard output write --json after the pictures, or --json=-"
        )
    from tensorlayout.cli.demo import run_demo

    run_demo(arguments)


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit status."""
    arguments = make_parser().parse_args(argv)
    try:
        arguments.run(arguments)
        sys.stdout.flush()
    except CommandError as error:
        return _print_error(error.status, str(error))
    except KeyboardInterrupt:
        return 130  # 128 + SIGINT, as shells report it
    except BrokenPipeError:  # the reader closed the pipe early, as in ``… | head``
        _discard_output()
    except OSError as error:
        if error.errno != errno.ENOSPC:
            raise
        _discard_output()
        return _print_error(1, f"cannot write the results: {error.strerror}")
    return 0


def entry() -> int:
    """Run the installed command ``tensorlayout`` and return its exit status."""
    # File names may have bytes that the terminal's encoding lacks; printing them must not fail.
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    return main()


def _discard_output() -> None:
    """Send buffered output to the null device; flushing it at exit would fail again."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _print_error(status: int, message: str) -> int:
    print(f"tensorlayout: error: {' '.join(truncate(message, 1500).split())}", file=sys.stderr)
    return status
