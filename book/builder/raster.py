"""A drawing as pixels, for viewers that show no SVG."""

import base64
import io

import resvg_py
from PIL import Image

from book.builder.figures import PIXELS_PER_POINT, SVG_SIZE

WIDEST = 1000
"""Pixels."""
SHARPEST = 1.8
"""Pixels for a point of a small drawing."""
COLOURS = 128
"""What lines on white need with their soft edges."""
Drawn = dict[str, tuple[str, int]]
DRAWN: Drawn = {}
"""What was drawn, by its drawing."""


def png(svg: str) -> tuple[str, int]:
    """A drawing on white as a PNG file with few colours, and how many pixels of a page it is wide; both files in base64.

    Raises ValueError for letters that are no paths.
    """
    if svg not in DRAWN:
        DRAWN[svg] = _drawn(svg)
    return DRAWN[svg]


def _drawn(svg: str) -> tuple[str, int]:
    drawing = base64.b64decode(svg).decode()
    if "<text" in drawing:
        raise ValueError("a drawing holds <text>, which needs a font: draw letters as paths")
    points = float(SVG_SIZE.search(drawing)[1])
    width = round(min(WIDEST, SHARPEST * points))
    drawn = resvg_py.svg_to_bytes(svg_string=drawing, dpi=96, width=width, background="white", skip_system_fonts=True)
    file = io.BytesIO()
    few = Image.open(io.BytesIO(drawn)).convert("RGB").quantize(COLOURS, Image.Quantize.MAXCOVERAGE)
    few.save(file, format="PNG", optimize=True)
    return base64.b64encode(file.getvalue()).decode(), round(points * PIXELS_PER_POINT)
