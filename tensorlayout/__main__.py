"""``python -m tensorlayout``."""

import sys

from tensorlayout.cli import entry

if __name__ == "__main__":
    sys.exit(entry())
