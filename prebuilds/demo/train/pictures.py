"""Draws the pictures that the model learns to see: one to four shapes, or a large digit, and what is on them."""

import io
import math
from collections import namedtuple
from glob import glob

from PIL import Image, ImageDraw, ImageFont

SHAPES = ("circle", "square", "triangle", "star", "cross", "diamond")
COLOURS = {
    "red": ((255, 0, 0), (220, 20, 20), (200, 0, 0), (255, 40, 30)),
    "orange": ((255, 165, 0), (255, 140, 0), (250, 125, 10)),
    "yellow": ((255, 255, 0), (255, 230, 0), (250, 240, 40)),
    "green": ((0, 128, 0), (0, 255, 0), (0, 170, 0), (34, 139, 34), (50, 205, 50)),
    "blue": ((0, 0, 255), (30, 80, 255), (0, 0, 200), (30, 144, 255)),
    "purple": ((128, 0, 128), (150, 0, 200), (102, 51, 153)),
    "pink": ((255, 192, 203), (255, 105, 180), (255, 150, 190)),
    "black": ((0, 0, 0), (20, 20, 20), (35, 35, 35)),
}
COLOUR_NAMES = tuple(COLOURS)
FONTS = sorted(path for path in glob("/usr/share/fonts/truetype/dejavu/*.ttf") if "ExtraLight" not in path)
SMALLEST_SIDE, LARGEST_SIDE = 64, 1024
SMALLEST_SHAPE = 0.18  # of the picture's shorter side, as the shape's width

# `x`, `y`: the centre, `share`: the covered area; all as parts of the picture.
Thing = namedtuple("Thing", "shape colour x y share")
Scene = namedtuple("Scene", "things digit")  # the digit is None on a picture of shapes


def polygon(shape, rng):
    """Corners of a shape that is about two wide, around the origin, slightly or (triangle, star) freely turned."""
    turn = math.radians(rng.uniform(-10, 10))
    if shape == "circle":
        corners = [(math.cos(step * math.pi / 60), math.sin(step * math.pi / 60)) for step in range(120)]
    elif shape == "square":
        corners = [(-0.9, -0.9), (0.9, -0.9), (0.9, 0.9), (-0.9, 0.9)]
    elif shape == "diamond":
        slim = rng.uniform(0.6, 0.8)
        corners = [(0, -1), (slim, 0), (0, 1), (-slim, 0)]
    elif shape == "cross":
        arm = rng.uniform(0.28, 0.4)
        quarter = [(arm, -1), (arm, -arm), (1, -arm)]
        corners = []
        for _ in range(4):
            corners += quarter
            quarter = [(-y, x) for x, y in quarter]
    elif shape == "triangle":
        corners = [(math.sin(angle), -math.cos(angle)) for angle in (0, math.tau / 3, 2 * math.tau / 3)]
    else:
        inner = rng.uniform(0.38, 0.5)
        corners = [(math.sin(step * math.pi / 5) * (inner if step % 2 else 1),
                    -math.cos(step * math.pi / 5) * (inner if step % 2 else 1)) for step in range(10)]
    if shape in ("triangle", "star") and rng.random() < 0.4:
        turn = rng.uniform(0, math.tau)
    cosine, sine = math.cos(turn), math.sin(turn)
    return [(x * cosine - y * sine, x * sine + y * cosine) for x, y in corners]


def area(corners):
    pairs = zip(corners, corners[1:] + corners[:1])
    return abs(sum(x1 * y2 - x2 * y1 for (x1, y1), (x2, y2) in pairs)) / 2


def picture_size(rng, largest=LARGEST_SIDE):
    """Width and height, at most twice as long as wide or the other way round; half of the pictures are square."""
    width = round(math.exp(rng.uniform(math.log(SMALLEST_SIDE), math.log(largest))))
    if rng.random() < 0.5:
        return width, width
    height = round(width * math.exp(rng.uniform(-math.log(2), math.log(2))))
    return width, min(largest, max(SMALLEST_SIDE, height))


def jittered(colour, rng):
    return tuple(min(255, max(0, value + rng.randrange(-8, 9))) for value in colour)


def background(colours, rng):
    """A background that differs clearly from all `colours`."""
    while True:
        kind = rng.random()
        if kind < 0.45:
            shade = (255, 255, 255)
        elif kind < 0.65:
            shade = (rng.randrange(190, 256),) * 3
        elif kind < 0.85:
            shade = tuple(rng.randrange(210, 256) for _ in range(3))
        else:
            shade = (rng.randrange(0, 60),) * 3 if rng.random() < 0.6 else tuple(rng.randrange(0, 60) for _ in range(3))
        least = 45 if kind < 0.85 else 90
        if all(max(abs(a - b) for a, b in zip(shade, colour)) >= least for colour in colours):
            return shade


def placed(count, width, height, widest, rng):
    """`count` circles (x, y, radius) in pixels that neither meet nor leave the picture."""
    short = min(width, height)
    least = max(SMALLEST_SHAPE * short, 12) / 2
    while True:
        circles = []
        for _ in range(count * 12):
            radius = math.exp(rng.uniform(math.log(least), math.log(max(least * 1.01, widest * short / 2))))
            x, y = rng.uniform(radius, width - radius), rng.uniform(radius, height - radius)
            if all(math.hypot(x - a, y - b) > radius + r + 0.02 * short for a, b, r in circles):
                circles.append((x, y, radius))
            if len(circles) == count:
                return circles


def draw_shapes(kinds, rng, size=None, widest=None):
    """A picture of the `kinds` (pairs of shape and colour), and its scene."""
    width, height = size or picture_size(rng)
    widest = widest or {0: 1, 1: 0.96, 2: 0.7, 3: 0.55, 4: 0.5}[len(kinds)]
    shades = {colour: jittered(rng.choice(COLOURS[colour]), rng) for _, colour in kinds}
    behind = background(list(shades.values()), rng)
    factor = rng.choice((1, 2)) if max(width, height) <= 512 else 1  # 2: soft edges
    image = Image.new("RGB", (width * factor, height * factor), behind)
    draw = ImageDraw.Draw(image)
    outline = rng.choice(((0, 0, 0), (60, 60, 60), (255, 255, 255))) if rng.random() < 0.12 else None
    things = []
    for (shape, colour), (x, y, radius) in zip(kinds, placed(len(kinds), width, height, widest, rng)):
        corners = polygon(shape, rng)
        points = [((x + radius * a) * factor, (y + radius * b) * factor) for a, b in corners]
        draw.polygon(points, fill=shades[colour])
        if outline:
            draw.line(points + points[:2], fill=outline, width=max(1, round(radius * factor * 0.05)))
        things.append(Thing(shape, colour, x / width, y / height, area(corners) * radius ** 2 / (width * height)))
    if factor > 1:
        image = image.resize((width, height), Image.BILINEAR)
    return image, Scene(tuple(things), None)


def draw_digit(digit, rng):
    """A picture of a large digit in some typeface, slightly turned."""
    width, height = picture_size(rng)
    short = min(width, height)
    ink = jittered(rng.choice(COLOURS[rng.choice(COLOUR_NAMES)]), rng)
    behind = background([ink], rng)
    font = ImageFont.truetype(rng.choice(FONTS), round(short * rng.uniform(0.5, 1.15)))
    left, top, right, bottom = font.getbbox(str(digit))
    image = Image.new("RGB", (width, height), behind)
    x = (width - right + left) / 2 - left + rng.uniform(-0.15, 0.15) * (width - right + left)
    y = (height - bottom + top) / 2 - top + rng.uniform(-0.15, 0.15) * (height - bottom + top)
    ImageDraw.Draw(image).text((x, y), str(digit), fill=ink, font=font)
    if rng.random() < 0.5:
        image = image.rotate(rng.uniform(-10, 10), Image.BICUBIC, fillcolor=behind)
    return image, Scene((), digit)


def encoded(image, kind, rng):
    """The bytes of `image` as "png" or "jpeg"."""
    buffer = io.BytesIO()
    image.save(buffer, kind, **({"quality": rng.randrange(70, 96)} if kind == "jpeg" else {"compress_level": 1}))
    return buffer.getvalue()


def seen_as(image, side):
    """What mtmd makes of a picture: stretched to a square of `side` pixels."""
    return image.resize((side, side), Image.BICUBIC) if image.size != (side, side) else image


def random_kinds(rng, same):
    """One to four pairs of shape and colour; all alike when `same`."""
    if same:
        return [(rng.choice(SHAPES), rng.choice(COLOUR_NAMES))] * rng.randrange(1, 5)
    count = rng.randrange(2, 5)
    known = [(rng.choice(SHAPES), rng.choice(COLOUR_NAMES)) for _ in range(rng.randrange(2, count + 1))]
    return known + [rng.choice(known) for _ in range(count - len(known))]
