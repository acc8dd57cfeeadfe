"""``python -m tensorlayout``."""

import io
import sys

from tensorlayout.cli import main

if __name__ == "__main__":
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # any file name can be printed
            stream.reconfigure(errors="backslashreplace")
    sys.exit(main())
