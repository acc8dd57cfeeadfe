"""The functions that the other `basics` build on."""

from __future__ import annotations

from tensorlayout.functions.creation import *
from tensorlayout.functions.data_types import *
from tensorlayout.functions.elementwise import *
from tensorlayout.functions.joining import *
from tensorlayout.functions.manipulation import *
from tensorlayout.functions.searching import *
