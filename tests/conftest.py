"""What all tests share: how hypothesis draws."""

from hypothesis import settings

# No deadline: two busy cores are no reason to fail. Draws differ from run to run; a failure prints
# the lines that repeat it.
settings.register_profile("tensorlayout", deadline=None, derandomize=False, print_blob=True)
settings.load_profile("tensorlayout")
