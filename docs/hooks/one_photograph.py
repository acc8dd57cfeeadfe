"""Writes docs/assets/one-photograph.jpg: the sheet `layouts.png` of the demo at three quarters.

`python docs/hooks/one_photograph.py` writes it. It needs Pillow.
"""

from pathlib import Path

from PIL import Image

import tensorlayout as tl
from tensorlayout.cli.demo.drawing import draw_layouts_sheet
from tensorlayout.cli.demo.pictures import load_pictures
from tensorlayout.cli.demo.pipeline import PITCH

PICTURE = Path(__file__).parents[1] / "assets" / "one-photograph.jpg"


def sheet() -> Image.Image:
    """The picture, before it is compressed."""
    photographs, _ = load_pictures([])
    first = tl.permute_dims(tl.asarray(photographs[0]), (2, 0, 1))
    large = draw_layouts_sheet(first, PITCH)
    size = large.width * 3 // 4, large.height * 3 // 4
    return large.resize(size, Image.Resampling.LANCZOS)


if __name__ == "__main__":
    sheet().save(PICTURE, quality=85, optimize=True)
