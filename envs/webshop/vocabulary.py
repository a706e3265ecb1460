"""Vocabulary of generated products: kinds of product, attributes and option groups.

The tables, here and in `departments` and `attribute_phrases`, were written by hand; `kinds` parses them once. Option
values are chosen so that the reward distinguishes any two of a product's values (see `reward`): no value consists of
another value's words, no value has a colour's name inside a word ("standard" has tan), and a product has at most one of
the values that the reward treats as the same colour.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from cairn.envs.webshop.attribute_phrases import ATTRIBUTES, Role
from cairn.envs.webshop.departments import DEPARTMENTS


@dataclass(frozen=True, slots=True, kw_only=True)
class Attribute:
    """An attribute that a goal can ask for."""

    text: str
    title: str  # in the form used in names
    role: Role
    saying: str  # a paraphrase


@dataclass(frozen=True, slots=True, kw_only=True)
class OptionGroup:
    """One option to choose before buying."""

    name: str
    values: tuple[tuple[str, ...], ...]  # groups of alternatives; a product has at most one of each group
    count: tuple[int, int]  # minimum and maximum number of values
    is_scale: bool  # a product's values are adjacent, like sizes


@dataclass(frozen=True, slots=True, kw_only=True)
class ProductKind:
    """One kind of product."""

    department: str
    query: str  # plural, lower case
    path: str  # parts joined by " › "
    prices: tuple[float, float]  # dollars
    nouns: tuple[str, ...]  # in the form used in names
    uses: tuple[str, ...]  # target users or purposes, in the form used in names
    attributes: tuple[tuple[Attribute, ...], ...]  # groups of alternatives; a product has at most one of each group
    details: tuple[str, ...]  # clauses that are true of every product of the kind
    options: tuple[OptionGroup, ...]


@lru_cache(maxsize=1)
def kinds() -> tuple[ProductKind, ...]:
    """Return all kinds of product."""
    attributes = {
        text: Attribute(text=text, title=text.title(), role=role, saying=saying)
        for role, table in ATTRIBUTES.items()
        for text, saying in (line.split(": ") for line in _lines(table))
    }
    options = dict(map(_option_group, _lines(_OPTIONS)))
    return tuple(
        _kind(department, root, lines[at : at + 5], attributes, options)
        for department, (root, text) in DEPARTMENTS.items()
        for lines in [_lines(text)]
        for at in range(0, len(lines), 5)
    )


def _kind(
    department: str, root: str, lines: list[str], attributes: dict[str, Attribute], options: dict[str, OptionGroup]
) -> ProductKind:
    head, path, names, pool, details = lines
    query, prices, groups = head.split(" | ")
    low, high = map(float, prices.split("-"))
    nouns, uses = names.split(" | ")
    return ProductKind(
        department=department,
        query=query,
        path=f"{root} > {path}".replace(">", "\u203a"),
        prices=(low, high),
        nouns=tuple(nouns.split(", ")),
        uses=tuple(uses.split(", ")),
        attributes=tuple(tuple(attributes[text] for text in slot.split("|")) for slot in pool.split(", ")),
        details=tuple(details.split(" / ")),
        options=tuple(options[name] for name in groups.split(", ")),
    )


def _option_group(line: str) -> tuple[str, OptionGroup]:
    head, values = line.split(": ")
    key, name, count, order = head.split(" | ")
    low, high = map(int, count.split("-"))
    alternatives = tuple(tuple(value.split("|")) for value in values.split(", "))
    return key, OptionGroup(name=name, values=alternatives, count=(low, high), is_scale=order == "scale")


def _lines(text: str) -> list[str]:
    """Return a table's entries; a line that ends in a comma or a slash continues in the next."""
    return text.strip().replace(",\n", ", ").replace("/\n", "/ ").splitlines()


def _words(text: str) -> tuple[str, ...]:
    return tuple(text.split())


# A brand is one word of each.
BRANDS = (
    _words(
        "Ald Bren Cor Dax Eld Fenn Gar Hal Iver Jor Kest Lum Mar Nor Ost Pell Quin Rav Sel Tarn Ul Vel Wex Yar Zel "
        "Bly Crim Drav Ember Frell Grim Hux Jask Kyr Lorn Myr Nesk Orl Prax Rusk Skel Thorn Umb Vorn Wyn Xal Yev Zor"
    ),
    _words(
        "abek adine alto ambra andel aquin arix avone ebro edda elka emory enfa ermo esque etta evik iba idon ifer "
        "igan illo imund inova irel isko itani ivar obane odell ofar okka olin omir onda oplex orra ospin otavi ovane "
        "uban udora ulen umax una urbo usca utrex"
    ),
)
ADJECTIVES = _words("Classic Premium Deluxe Everyday Signature Essential Original Upgraded Modern Select Pro Heritage")
NAMES = (
    "{brand} {code} {adjective} {noun} for {use} and {use2}, {a}, {b}, {noun2}",
    "{brand} {a} {noun} for {use} - {b}, {adjective} {noun2} for {use2}, Edition {code}",
    "{a} {noun} for {use}, {brand} {adjective} {code}, {b}, Also Good for {use2}",
    "{brand} {adjective} {noun} {code}, {a}, Great for {use} and {use2}, {noun2}",
    "{adjective} {noun} by {brand}, {a} {noun2}, Made for {use} and {use2} ({code})",
)
OPENERS = (
    "{brand} has made {query} for more than {number} years, and the {code} is the one that customers come back to",
    "meet the {code}, a favorite among all {query} that {brand} ever brought out and a natural choice for {people}",
    "if other {query} promised much and delivered little, this {brand} {code} will change your mind in {number} days",
    "our buyers compared {number} different {query} this season, and the {adjective} {code} by {brand} came out on top",
    "the {adjective} line by {brand} offers {query} of the better sort for {people} at a price that does not hurt",
    "designed with {people} in mind, this new entry in the {brand} range of {query} gets all the small things right",
)
CLOSERS = (
    "{brand} answers every question within a day and takes the {code} back for {number} days, opened or not",
    "order today and a careful team in our own warehouse packs and ships it before tomorrow evening",
    "more than {number} thousand buyers gave it top marks last year, and most of them ordered a second one for friends",
    "look at the choices above, pick what suits your taste, and {brand} will take care of everything else",
    "it makes a thoughtful present for birthdays, holidays and people who already seem to own everything",
    "please read the features before you decide, since several of our {query} look much alike in photographs",
)
TAILS = (  # of bullets
    "which few {query} of this price can claim",
    "a point that reviews of {brand} {query} mention again and again",
    "as you would expect of good {query} from {brand}",
    "and that sets it apart from ordinary {query} on the market",
)
# Bullets that suit any product of a department.
EXTRAS = {
    "beauty": (
        "Patch test first: try a little on the inner arm and wait a day before regular use",
        "Fits any routine: use it alone or together with the other products of the series",
        "Good to know: store in a cool, shaded place and close firmly after each use",
    ),
    "electronics": (
        "In the box: the device itself, a quick start card and a printed manual in six languages",
        "Friendly support: real technicians answer by mail or phone on every day of the week",
        "Works with most brands: check the list of models in the manual if you are not sure",
    ),
    "garden": (
        "Please measure first: allow for an inch or two of difference and for the light of your screen",
        "Arrives safely: double walls of cardboard protect it on the way to your door",
        "A gift that pleases: for weddings, housewarmings and new beginnings of all sorts",
    ),
    "fashion": (
        "Choose your size: compare with a piece that you own and take the larger one in doubt",
        "Goes with everything: dress it up in the evening or keep it plain on weekends",
        "Colors in real life may differ a little from what your screen shows",
    ),
    "grocery": (
        "Keep in a cool, dry place and enjoy within a few weeks once it is open",
        "Satisfaction promise: if you do not love the taste, we refund every cent",
        "For allergy details please consult the printed label, as recipes are improved now and then",
    ),
}

# key used by kinds | name in the shop | minimum-maximum number of values | scale or any: values
_OPTIONS = """
apparel color | color | 3-6 | any: black|jet black, white|off white, blue|sky blue|royal blue, navy, red|cherry red,
green|forest green|army green, pink|hot pink, purple|deep purple, gray|heather gray, burgundy, khaki, teal, coral,
mustard, lavender, charcoal
denim color | color | 2-5 | any: black|faded black, blue|vintage blue, indigo, gray|smoke gray, white, khaki, navy,
charcoal, brown
device color | color | 2-5 | any: black|matte black, white|pearl white, blue|cobalt blue, red|ruby red, pink,
green|sage green, purple, gray|space gray, gold, silver, teal, orange
finish | finish | 2-5 | any: walnut, oak, espresso, white|glossy white, black|matte black, cherry, maple,
gray|smoky gray, bronze, gold
frame color | color | 2-4 | any: black|matte black, white|pure white, silver, gold|antique gold, bronze, copper,
gray|cool gray, walnut
home color | color | 3-6 | any: ivory, beige|warm beige, gray|dove gray, blue|sky blue|ocean blue, navy,
green|sage green, yellow, orange|burnt orange, teal, red|brick red, brown|cocoa brown, charcoal, pink, purple, turquoise
shade | color | 3-7 | any: nude, coral, berry, plum, rose|dusty rose, red|cherry red|brick red, mauve, peach,
fuchsia, mocha, pink|hot pink, burgundy, lilac, copper, cinnamon, maroon
apparel size | size | 3-6 | scale: xs, small, medium, large, xl, xxl, 3xl
capacity | capacity | 2-4 | scale: 5000mah, 10000mah, 15000mah, 20000mah, 26800mah
count | size | 2-5 | scale: 6 count, 8 count, 12 count, 18 count, 24 count, 36 count, 48 count
curtain size | size | 2-5 | scale: 42x63 inch, 42x84 inch, 52x45 inch, 52x63 inch, 52x84 inch, 52x95 inch, 70x108 inch
height | item height | 2-4 | scale: 48 inch, 54 inch, 60 inch, 66 inch, 72 inch, 78 inch
length | length | 2-5 | scale: 3 feet, 6 feet, 9 feet, 12 feet, 15 feet, 25 feet, 40 feet
mirror size | size | 2-4 | scale: 16 inch, 20 inch, 24 inch, 30 inch, 36 inch, 42 inch
ounces | size | 2-4 | scale: 1 ounce, 2 ounce, 4 ounce, 8 ounce, 12 ounce, 16 ounce, 32 ounce
pack | pack size | 2-4 | scale: single, 2 pack, 3 pack, 4 pack, 6 pack, 12 pack
piece count | set size | 2-4 | scale: 5 piece, 8 piece, 10 piece, 12 piece, 18 piece, 24 piece
pillow size | size | 2-4 | scale: 12x20 inch, 16x16 inch, 18x18 inch, 20x20 inch, 24x24 inch, 26x26 inch
planter size | size | 2-5 | scale: 4 inch, 6 inch, 8 inch, 10 inch, 12 inch, 14 inch, 20 inch
pounds | size | 2-4 | scale: 1 pound, 2 pound, 3 pound, 5 pound, 8 pound, 10 pound
rug size | size | 3-5 | scale: 2x3 feet, 3x5 feet, 4x6 feet, 5x7 feet, 6x9 feet, 8x10 feet, 9x12 feet
screen size | size | 2-4 | scale: 32 inch, 43 inch, 50 inch, 55 inch, 65 inch, 75 inch
shoe size | size | 4-7 | scale: 5, 6, 7, 8, 9, 10, 11, 12, 13
tiers | number of shelves | 2-4 | scale: 2 tier, 3 tier, 4 tier, 5 tier, 6 tier, 8 tier
umbrella size | size | 2-4 | scale: 6 feet, 7 feet, 9 feet, 10 feet, 11 feet, 13 feet
waist size | waist | 3-6 | scale: 28 inch, 30 inch, 32 inch, 34 inch, 36 inch, 38 inch, 40 inch
watch size | size | 2-3 | scale: 38 mm, 40 mm, 42 mm, 44 mm, 46 mm
watts | power | 2-4 | scale: 5 watt, 10 watt, 20 watt, 40 watt, 60 watt
bar flavor | flavor name | 3-6 | any: peanut butter, chocolate chip, honey oat, maple pecan, apple cinnamon,
mixed berry, coconut, salted caramel, banana nut, lemon zest, cranberry almond, gingerbread
chocolate flavor | flavor name | 3-6 | any: plain, almond, hazelnut, orange zest, mint crisp, caramel, raspberry,
espresso, toffee, coconut, chili, ginger
cracker flavor | flavor name | 2-5 | any: sea salt, cheddar, garlic herb, cracked pepper, sesame, honey, onion, olive,
paprika, pumpkin
fruit flavor | flavor name | 3-6 | any: mango, pineapple, papaya, apricot, fig, date, cherry, cranberry, banana, peach,
kiwi, apple
pasta flavor | flavor name | 2-5 | any: tomato basil, marinara, vodka, arrabbiata, mushroom, four cheese, pesto,
roasted garlic, bell pepper, olive
protein flavor | flavor name | 2-6 | any: plain, vanilla, chocolate, strawberry, cookies and cream, banana, mocha,
peanut butter, salted caramel, matcha
sauce flavor | flavor name | 2-5 | any: habanero, jalapeno, chipotle, garlic, ghost pepper, mango, cayenne,
smoky paprika, pineapple, serrano
tea flavor | flavor name | 2-6 | any: chamomile, ginger, hibiscus, rooibos, lemon balm, spearleaf, cinnamon spice,
orange peel, lavender, elderflower, fennel, apple
perfume scent | scent | 2-5 | any: amber, jasmine, cedar, citrus, vanilla, leather, white musk, rose, lavender, fig,
orange blossom, sea breeze
scent | scent | 2-5 | any: unscented, lavender, eucalyptus, vanilla, citrus, jasmine, cedar, sea breeze, cucumber,
coconut, rose, lemon
arm style | arm style | 2-3 | any: fixed arms, flip up, no arms, padded
band style | band | 2-4 | any: silicone, leather, metal mesh, nylon
bar style | texture | 2-2 | any: chewy, crunchy, crispy
bookcase style | style | 2-3 | any: ladder, open back, corner, closed base, cube
brush case | style | 2-3 | any: brush roll, zip pouch, clear cup, hard box
camera style | style | 2-3 | any: bullet, dome, doorbell, turret, pan tilt
case pattern | pattern name | 2-5 | any: plain, marble, floral, geometric, galaxy, palm leaf, animal print
case style | style | 2-3 | any: slim, rugged, wallet, bumper, flip
chair style | style | 2-3 | any: low back, mid back, high back, drafting
chocolate type | chocolate type | 2-3 | any: milk, dark, white, ruby
connector | connector | 2-3 | any: usb c, micro usb, magnetic, round plug
cracker style | shape | 2-3 | any: thins, rounds, twists, squares
curtain style | style | 2-3 | any: grommet top, tab top, back tab, pinch pleat
deodorant style | style | 2-3 | any: stick, roll on, spray, cream
dress length | item length | 2-3 | any: mini, knee length, midi, maxi
dryer style | style | 2-3 | any: folding grip, wall holder, diffuser set, barber set
fit type | fit type | 2-3 | any: regular, tall, athletic, plus
fruit style | cut | 2-3 | any: whole, slices, bites, strips
grind | grind | 2-4 | any: whole bean, coarse, fine, espresso
head style | head | 2-3 | any: ball head, pan head, fluid head, phone clamp
headphone style | style | 2-3 | any: over ear, on ear, in ear, neckband
heat | heat level | 2-4 | scale: mild, medium, hot, fiery, blazing
lamp style | style | 2-3 | any: arc, tripod, torchiere, column, tree
leg length | inseam | 2-3 | scale: ankle, short, regular, long
lipstick style | style | 2-3 | any: classic, sheer, velvet, liner set
mirror style | shape | 2-4 | any: round, oval, arch, oblong, square
perfume style | style | 2-3 | any: spray bottle, roll on, gift set, refill pouch
pillow pattern | pattern name | 2-4 | any: plain, floral, quilted, tufted, embroidery
planter style | shape | 2-3 | any: round, square, hanging, tall, trough
polish style | type | 2-3 | any: gel, regular, quick set, breathable
protein style | container | 2-3 | any: tub, pouch, sticks
roast | roast | 2-3 | scale: light, medium, dark
rug pattern | pattern name | 2-4 | any: plain, moroccan, floral, vintage, abstract, trellis
shoe width | width | 2-3 | scale: narrow, regular, wide
speaker style | style | 2-3 | any: mini, tower, clip on, floor box
swimsuit style | style | 2-3 | any: racerback, halter, scoop, square neck, one shoulder
tea style | style | 2-3 | any: tea bags, loose leaf, sachets
toothbrush style | style | 2-3 | any: gum care, deep clean, family set, travel box
tv style | configuration | 2-3 | any: tv only, with legs, with wall mount
umbrella style | style | 2-3 | any: market, cantilever, half round, double top
"""
