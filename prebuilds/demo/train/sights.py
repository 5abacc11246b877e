"""Questions about pictures and their only right answers."""

from collections import namedtuple

from grammar import expand, spoken
from pictures import COLOUR_NAMES, SHAPES, draw_digit, draw_shapes, random_kinds
from tasks import Task

Picture = namedtuple("Picture", "image scene")

NUMBERS = ("no", "one", "two", "three", "four")
IMAGE = "[picture|image|picture|image|photo|drawing|graphic]"
IN_IT = f"[in this {IMAGE}|in the {IMAGE}|in this {IMAGE}|on the {IMAGE}|here|in it]"
PLURALS = {shape: {"cross": "crosses"}.get(shape, shape + "s") for shape in SHAPES}

DESCRIBE = [
    f"what is {IN_IT}", f"what is {IN_IT}", f"what's {IN_IT}",
    f"what [do you see|can you see|can be seen|is there|is shown|is drawn|is visible|is to be seen] [|{IN_IT}]",
    f"what [objects|things|figures|shapes] [are|do you see|can you see] {IN_IT}",
    f"[describe|explain|show me|look at|analyse|read] [this|the] {IMAGE} [|briefly|in one sentence|for me|to me]",
    f"what does [this|the] {IMAGE} [show|contain|depict|have in it]",
    f"[tell me|say|write] what [you see|is {IN_IT}|you can see|this {IMAGE} shows|is drawn {IN_IT}]",
    f"[caption|name|list] [this {IMAGE}|what is {IN_IT}|what you see|the shapes {IN_IT}]",
    "what is [this|that|it|shown]", f"[can|do] you see [this|the] {IMAGE}", f"[and|what about] this [{IMAGE}|one]",
    f"[give me|write|make] a [description|caption] of [this|the] {IMAGE}",
    f"which shapes [are there|do you see|are {IN_IT}|can you see]",
    f"[and |]what [do you see|is] [on|in] this one", f"here is [a|my|the] {IMAGE}", f"this is [a|my|the] {IMAGE}",
]
COUNT = [
    f"how many [shapes|things|figures|objects|shapes] [are there|are there {IN_IT}|do you see|can you see"
    f"|are {IN_IT}|are shown]",
    f"[count|number of] the [shapes|figures|objects|things] [|{IN_IT}]", f"[what is|tell me] the number of shapes "
    f"[|{IN_IT}]", "how many",
]
COLOUR = [
    "[which|what] [colour|color] [is it|is the shape|are they|are the shapes|is this|is that|do you see|is used]",
    f"[what is|what's|tell me|name|say] [the|its|their] [colour|color] [|of the shape|of the shapes|of it|{IN_IT}]",
    f"[which|what] [colour|color] [is|does] the [shape|figure|object] [have|{IN_IT}]",
    f"[which|what] [colours|colors] [do you see|are there|are {IN_IT}|are used|can you see]",
]
SHAPE = [
    "[which|what] [shape|figure|kind of shape|form] [is it|is this|is that|is shown|do you see|are they|are these]",
    f"[which|what] [shape|figure|form] is {IN_IT}",
    f"[tell me|name|say|what is] the shape [|{IN_IT}|of it]", "what [kind|sort|type] of shape [is it|are they|is this]",
]
DIGIT = [
    f"[which|what] [digit|number|numeral] [is this|is it|is shown|do you see|can you see|is {IN_IT}|can you read]",
    f"[read|name|tell me|recognize|say] the [digit|number|numeral] [|{IN_IT}|to me]",
    f"[which|what] [digit|number] does [this|the] {IMAGE} show",
    f"what [number|digit] is [written|drawn] [|here|{IN_IT}]",
]
COMPARE = [
    f"[which|what] [{IMAGE}|one] [has|shows|contains|holds] the {{0}} [shape|shape|figure|object|one]",
    f"[in|on] which [{IMAGE}|of them|one] is the {{0}} [shape|figure|object]",
    f"[where|in which {IMAGE}] is the {{0}} [shape|figure|object]",
    f"which of the [two |][{IMAGE}s|shapes|two] [is {{0}}|has the {{0}} shape|holds the {{0}} shape"
    f"|shows the {{0}} shape]",
    f"compare [the|these|both] [two |]{IMAGE}s: which [shape is {{0}}|has the {{0}} shape|holds the {{0}} shape]",
    "which shape is {0}", "the {0} shape is in which [picture|image]", f"which {IMAGE} is the {{0}} shape in",
]
BOTH = "[these|both|the two|the] [pictures|images]"
DESCRIBE_BOTH = [f"[what is|describe|what do you see|tell me what is] [in|on] {BOTH}", f"describe {BOTH}",
                 f"what do {BOTH} show"]


def joined(parts):
    return parts[0] if len(parts) == 1 else ", ".join(parts[:-1]) + " and " + parts[-1]


def things_said(scene):
    """All things of a picture: "one red circle and two blue squares"; by colour, then shape, in the palettes' order."""
    if scene.digit is not None:
        return f"the digit {scene.digit}"
    pairs = sorted((COLOUR_NAMES.index(thing.colour), SHAPES.index(thing.shape)) for thing in scene.things)
    said = []
    for colour, shape in dict.fromkeys(pairs):
        count, name = pairs.count((colour, shape)), SHAPES[shape]
        said.append(f"{NUMBERS[count]} {COLOUR_NAMES[colour]} {name if count == 1 else PLURALS[name]}")
    return joined(said)


def asked(patterns, answer, mark, rng, filler=""):
    """A question with a wording of `patterns`; its key is the wording, `filler` left open."""
    key = expand(rng.choice(patterns), rng)
    return Task(key, spoken(key, mark, rng).replace("{0}", filler), answer)


def describe(scene, rng):
    return asked(DESCRIBE, f"I see {things_said(scene)}.", "?", rng)


def count(scene, rng):
    number = len(scene.things)
    return asked(COUNT, f"There {'is' if number == 1 else 'are'} {NUMBERS[number]} shape{'' if number == 1 else 's'}.",
                 "?", rng)


def colour(scene, rng):
    names = [name for name in COLOUR_NAMES if any(thing.colour == name for thing in scene.things)]
    one = len(names) == 1
    return asked(COLOUR, f"The colour{'' if one else 's'} {'is' if one else 'are'} {joined(names)}.", "?", rng)


def shape(scene, rng):
    """Which shape; of different shapes all are named."""
    names = [name for name in SHAPES if any(thing.shape == name for thing in scene.things)]
    if len(names) > 1:
        return describe(scene, rng)
    one = len(scene.things) == 1
    return asked(SHAPE, f"It is a {names[0]}." if one else f"They are {PLURALS[names[0]]}.", "?", rng)


def digit(scene, rng):
    return asked(DIGIT + DESCRIBE[:2], f"I see the digit {scene.digit}.", "?", rng)


SHAPE_QUESTIONS = ((9, describe), (2, count), (4, colour), (3, shape))


def question(scene, rng):
    """A random question about one picture."""
    if scene.digit is not None:
        return rng.choice((digit, digit, describe))(scene, rng)
    weights, makers = zip(*SHAPE_QUESTIONS)
    return rng.choices(makers, weights)[0](scene, rng)


def compare(scenes, rng):
    """Which of two pictures of one shape holds the larger or smaller one, as parts of their pictures."""
    word = rng.choice(("larger", "larger", "bigger", "larger", "smaller"))
    shares = [scene.things[0].share for scene in scenes]
    first = (shares[0] > shares[1]) == (word != "smaller")
    word_said = "smaller" if word == "smaller" else "larger"
    return asked(COMPARE, f"The {'first' if first else 'second'} picture has the {word_said} shape.", "?", rng, word)


def describe_both(scenes, rng):
    first, second = map(things_said, scenes)
    return asked(DESCRIBE_BOTH, f"The first picture shows {first}, the second {second}.", "?", rng)


def shapes_picture(rng, same=None):
    return Picture(*draw_shapes(random_kinds(rng, rng.random() < 0.5 if same is None else same), rng))


def digit_picture(rng):
    return Picture(*draw_digit(rng.randrange(10), rng))


def any_picture(rng):
    """To practise with: more of different shapes than of others, which are harder."""
    return digit_picture(rng) if rng.random() < 0.12 else shapes_picture(rng, rng.random() < 0.3)


def picture_pair(rng):
    """Two pictures of one shape each; one shape covers at least 1.5 times the share of its picture."""
    alike = rng.random() < 0.5
    kind = random_kinds(rng, True)[:1]
    while True:
        kinds = (kind, kind if alike else random_kinds(rng, True)[:1])
        pair = [Picture(*draw_shapes(each, rng)) for each in kinds]
        small, large = sorted(picture.scene.things[0].share for picture in pair)
        if large >= 1.5 * small:
            return pair


def with_pictures(pictures, text, rng):
    """The parts of a message: pictures mostly before the text, sometimes after or on both sides of it."""
    place = rng.random()
    if place < 0.6:
        return [*pictures, text]
    if place < 0.92 or len(pictures) == 1:
        return [text, *pictures]
    return [pictures[0], text, *pictures[1:]]
