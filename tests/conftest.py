"""What all tests share: how hypothesis draws."""

import os

from hypothesis import settings

# No deadline: two busy cores are no reason to fail. Draws differ from run to run, and a failure
# prints the lines that repeat it; in CI they are the same each time, so that what lands is judged
# by the change and not by luck.
settings.register_profile("search", deadline=None, derandomize=False, print_blob=True)
settings.register_profile("gate", deadline=None, derandomize=True, print_blob=True)
settings.load_profile("gate" if os.environ.get("CI") else "search")
