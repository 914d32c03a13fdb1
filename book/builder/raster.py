"""A drawing as pixels: what matplotlib wrote as SVG, drawn again by matplotlib's Agg, for viewers that show no SVG.

It knows the part of SVG that matplotlib writes for the figures of this book, and refuses what else there is.
"""

import base64
import io
import re
from collections.abc import Mapping
from functools import cache, cached_property

import numpy as np
from lxml import etree
from matplotlib.backends.backend_agg import RendererAgg
from matplotlib.colors import to_rgb
from matplotlib.path import Path
from matplotlib.transforms import Affine2D, Bbox, TransformedPath
from PIL import Image

from book.builder.figures import PIXELS_PER_POINT

WIDEST = 1100
"""Pixels."""
SHARPEST = 2.0
"""Pixels for a point of a small drawing."""
COLOURS = 128
"""What lines on white need with their soft edges."""
POINT = 72
SVG, LINK = "{http://www.w3.org/2000/svg}", "{http://www.w3.org/1999/xlink}href"
STEP = re.compile(r"([MLQCz])([^MLQCz]*)")
CODES = {"M": Path.MOVETO, "L": Path.LINETO, "Q": Path.CURVE3, "C": Path.CURVE4, "z": Path.CLOSEPOLY}
TRANSFORM = re.compile(r"(\w+)\(([^)]*)\)")
INITIAL = {"fill": "#000000", "stroke": "none", "stroke-width": "1", "stroke-linejoin": "round", "stroke-linecap": "butt"}
CAPS = {"butt": "butt", "round": "round", "square": "projecting"}
Style = Mapping[str, str]


@cache
def png(svg: str) -> tuple[str, int]:
    """A drawing on white as a PNG file with few colours, and how many pixels of a page it is wide; both files in base64."""
    canvas = _Canvas(etree.fromstring(base64.b64decode(svg), etree.XMLParser(huge_tree=True)))
    canvas.draw(canvas.root, canvas.to_pixels, INITIAL)
    drawn = Image.fromarray(np.asarray(canvas.renderer.buffer_rgba()))
    ground = Image.new("RGBA", drawn.size, "white")
    ground.alpha_composite(drawn)
    file = io.BytesIO()
    ground.convert("RGB").quantize(COLOURS, Image.Quantize.MAXCOVERAGE).save(file, format="PNG", optimize=True)
    return base64.b64encode(file.getvalue()).decode(), round(canvas.width * PIXELS_PER_POINT)


class _Canvas:
    """The pixels of one drawing, and how its elements come onto them."""

    def __init__(self, root: etree._Element):
        self.root = root
        self.width, self.height = (float(root.get(side).removesuffix("pt")) for side in ("width", "height"))
        self.scale = min(WIDEST / self.width, SHARPEST)
        self.renderer = RendererAgg(round(self.width * self.scale), round(self.height * self.scale), POINT * self.scale)
        self.to_pixels = Affine2D().scale(self.scale, -self.scale).translate(0, self.renderer.height)
        self.paths: dict[etree._Element, Path] = {}

    @cached_property
    def named(self) -> dict[str, etree._Element]:
        return {each.get("id"): each for each in self.root.iter(f"{SVG}*") if each.get("id")}

    def draw(self, element: etree._Element, place: Affine2D, style: Style, clip: str = "") -> None:
        """Draw an element with all that is in it; `place` takes its own coordinates to pixels."""
        if not isinstance(element.tag, str):  # a comment
            return
        kind = element.tag.removeprefix(SVG)
        style, clip = {**style, **declared(element)}, element.get("clip-path", clip)
        place = moved(element.get("transform", "")) + place
        if kind in ("svg", "g"):
            for each in element:
                self.draw(each, place, style, clip)
        elif kind == "use":
            shift = Affine2D().translate(float(element.get("x", 0)), float(element.get("y", 0)))
            self.draw(self.named[element.get(LINK).removeprefix("#")], shift + place, style, clip)
        elif kind == "path":
            self._path(element, place, style, clip)
        elif kind == "image":
            self._image(element, clip)
        elif kind not in ("metadata", "defs"):
            raise ValueError(f"a drawing holds <{kind}>, which is not known here")

    def _path(self, element: etree._Element, place: Affine2D, style: Style, clip: str) -> None:
        if element not in self.paths:
            self.paths[element] = outline(element.get("d", ""))
        path = self.paths[element]
        if style["fill"].startswith("url"):
            self._hatch(path, place, self.named[reference(style["fill"])], clip)
            style = {**style, "fill": "none"}
        if len(path) and (style["fill"], style["stroke"]) != ("none", "none"):
            self.renderer.draw_path(self._pen(style, clip), path, place, shade(style, "fill"))

    def _pen(self, style: Style, clip: str):
        """What lines are drawn with, and where they end."""
        pen = self.renderer.new_gc()
        pen.set_foreground(shade(style, "stroke") or (0, 0, 0, 0), isRGBA=True)
        pen.set_linewidth(float(style["stroke-width"]) if style["stroke"] != "none" else 0)
        pen.set_joinstyle(style["stroke-linejoin"])
        pen.set_capstyle(CAPS[style["stroke-linecap"]])
        if "stroke-dasharray" in style:
            pen.set_dashes(float(style.get("stroke-dashoffset", 0)), [*map(float, style["stroke-dasharray"].split(","))])
        if clip:
            pen.set_clip_rectangle(self._box(self.named[reference(clip)][0]))
        return pen

    def _box(self, rect: etree._Element) -> Bbox:
        x, y, width, height = (float(rect.get(name)) for name in ("x", "y", "width", "height"))
        return Bbox(self.to_pixels.transform([(x, y + height), (x + width, y)]))

    def _hatch(self, path: Path, place: Affine2D, pattern: etree._Element, clip: str) -> None:
        """Fill an outline with the lines of a pattern, tile by tile."""
        lines = pattern.find(f"{SVG}path")
        pen, shape = self._pen({**INITIAL, **declared(lines)}, clip), TransformedPath(path, place)
        pen.set_clip_path(shape)
        side = float(pattern.get("width"))
        (left, bottom), (right, top) = (
            place.transform_path(path).get_extents().transformed(self.to_pixels.inverted()).get_points()
        )
        for x in np.arange(min(left, right) // side, max(left, right) // side + 1):
            for y in np.arange(min(bottom, top) // side, max(bottom, top) // side + 1):
                shift = Affine2D().translate(x * side, y * side) + self.to_pixels
                self.renderer.draw_path(pen, outline(lines.get("d")), shift, None)

    def _image(self, element: etree._Element, clip: str) -> None:
        """Draw a field of colours, whose first row lies at its lower end, as matplotlib hands it on."""
        x, y, width, height = (float(element.get(name)) for name in ("x", "y", "width", "height"))
        picture = Image.open(io.BytesIO(base64.b64decode(element.get(LINK).partition(",")[2]))).convert("RGBA")
        size = round(width * self.scale), round(height * self.scale)
        cells = np.array(picture.resize(size, Image.Resampling.NEAREST))
        self.renderer.draw_image(self._pen(INITIAL, clip), x * self.scale, (self.height - height + y) * self.scale, cells)


def declared(element: etree._Element) -> dict[str, str]:
    """What an element's own style says, by name."""
    pairs = (each.split(":", 1) for each in element.get("style", "").split(";") if each.strip())
    return {name.strip(): value.strip() for name, value in pairs}


def shade(style: Style, part: str) -> tuple[float, ...] | None:
    """The colour of an element's ``fill`` or ``stroke`` with its opacity, or None."""
    opacity = float(style.get("opacity", 1)) * float(style.get(f"{part}-opacity", 1))
    return None if style[part] == "none" else (*to_rgb(style[part]), opacity)


def reference(address: str) -> str:
    """The name in an address such as ``url(#clip0)``."""
    return address.removeprefix("url(#").removesuffix(")")


def outline(steps: str) -> Path:
    """The outline that the steps of a path describe."""
    corners, codes = [], []
    for letter, numbers in STEP.findall(steps):
        points = np.array(numbers.split(), float).reshape(-1, 2) if letter != "z" else np.zeros((1, 2))
        corners.extend(points)
        codes.extend([CODES[letter]] * len(points))
    return Path(np.array(corners).reshape(-1, 2), codes) if corners else Path(np.empty((0, 2)))


def moved(text: str) -> Affine2D:
    """A list of SVG's transforms, of which the last is the first to be applied."""
    whole = Affine2D()
    for name, numbers in TRANSFORM.findall(text):
        values = [float(each) for each in numbers.replace(",", " ").split()]
        step = {
            "translate": lambda x, y=0.0: Affine2D().translate(x, y),
            "scale": lambda x, y=None: Affine2D().scale(x, y),
            "rotate": lambda angle: Affine2D().rotate_deg(angle),
        }[name](*values)
        whole = step + whole
    return whole
