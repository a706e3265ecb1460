"""Generated catalogues: the same in any process, sellable, searchable, and as described."""

from __future__ import annotations

import itertools
import os
import statistics
import subprocess
import sys

import pytest

from cairn.envs.webshop import generator, vocabulary
from cairn.envs.webshop.analyzer import terms
from cairn.envs.webshop.catalogue import Catalogue, make_catalogue
from cairn.envs.webshop.generator import product, products
from cairn.envs.webshop.goals import Goals, ShoppingGoal, combination
from cairn.envs.webshop.nouns import stub
from cairn.envs.webshop.pages import State, pieces
from cairn.envs.webshop.products import Product
from cairn.envs.webshop.reward import score
from cairn.envs.webshop.vocabulary import ProductKind, kinds

pytestmark = pytest.mark.rotating(4)

_DIGEST = """
import hashlib, random
from cairn.envs.webshop.generator import products
random.seed(5)
before = random.getstate()
text = repr([p.to_json() for seed in (0, 7) for p in products(300, seed)])
assert random.getstate() == before, "the process's random state was touched"
print(hashlib.sha256(text.encode()).hexdigest())
"""


@pytest.fixture(scope="module")
def catalogue(tmp_path_factory: pytest.TempPathFactory) -> Catalogue:
    return make_catalogue(tmp_path_factory.mktemp("shop") / "generated", lambda: products(1000, 0))


def test_products_are_the_same_in_every_process_and_under_every_hash_seed() -> None:
    digests = set()
    for hash_seed in ("0", "1"):
        environment = {**os.environ, "PYTHONHASHSEED": hash_seed}
        run = subprocess.run(
            [sys.executable, "-c", _DIGEST], env=environment, capture_output=True, text=True, check=True
        )
        digests.add(run.stdout)
    assert len(digests) == 1


def test_a_product_depends_on_seed_and_number_alone() -> None:
    few, many = list(products(20, 3)), list(products(50, 3))
    assert many[:20] == few
    assert product(41, 3) == many[41]  # made without those before it
    assert all(mine != other for mine, other in zip(few, products(20, 4), strict=True))
    assert list(products(0, 3)) == []


def test_the_first_products_are_these() -> None:
    first, second = products(2, 0)
    # python -c "from cairn.envs.webshop.generator import product; print(product(0, 0))"; another one: raise VERSION
    assert generator.VERSION == 1
    assert first.asin == "GL5HZ4P64O"
    assert first.name == (
        "Marenfa Fragrance Free Daily Face Cream for Teens - Paraben Free, Classic Hydrating Gel Cream for Morning and "
        "Night, Edition HXB6797"
    )
    assert first.instruction == "Find me fragrance free, paraben free face moisturizers"
    assert first.options == {}
    assert second.asin == "GDHCYWNSDN"
    assert second.instruction == "Find me easy use televisions with voice control for home theater"
    assert second.options == {"size": ("43 inch", "50 inch", "55 inch"), "color": ("matte black", "antique gold")}


def test_labels_are_unique_and_take_no_asin_of_the_original() -> None:
    many = list(products(20_000, 0))
    assert len({one.asin for one in many}) == len({one.name for one in many}) == 20_000
    assert all(len(one.asin) == 10 and one.asin[0] == "G" for one in many)
    assert all(generator._code(number, 0) in one.name for number, one in enumerate(many))
    assert all(one.asin.isalnum() and one.asin.isascii() and one.asin.isupper() for one in many)


def test_labels_are_unique_in_the_largest_shop() -> None:
    numbers = range(0, 10_000_000, 997)
    assert len({generator._asin(number, 1) for number in numbers}) == len(numbers)
    assert len({generator._code(number, 1) for number in numbers}) == len(numbers)
    # Both are (number * step) mod count, so two numbers share one only if count divides step times their difference.
    assert generator._NUM_CODES > 10_000_000
    assert generator._CODE_STEP % 2 != 0 != generator._CODE_STEP % 5  # of 20^3 10^4 no other prime is a factor
    assert generator._ASIN_STEP % 2 != 0 != generator._ASIN_STEP % 3  # of 36^9


def _goal(of: Product, options: dict[str, str]) -> ShoppingGoal:
    return ShoppingGoal(
        product=0, asin=of.asin, instruction="", attributes=of.instruction_attributes, price_limit=of.prices[0] + 1,
        options=options, name=of.name, query=of.query, product_category=of.product_category, weight=1.0,
    )  # fmt: skip


def test_every_goal_scores_1_if_bought_exactly_and_less_with_another_option_value() -> None:
    tried = 0
    for one in products(500, 0):
        for number in range(one.num_combinations):
            asked = combination(one, number)
            goal = _goal(one, asked)
            assert score(one, one.prices[0], asked, goal, stub).reward == 1.0
            for name, value in asked.items():
                for other in set(one.options[name]) - {value}:
                    tried += 1
                    bought = score(one, one.prices[0], {**asked, name: other}, goal, stub)
                    assert bought.options == len(asked) - 1, (one.asin, asked, other)
                    assert bought.reward < 1.0
    assert tried > 10_000


@pytest.mark.parametrize("kind", kinds(), ids=lambda kind: kind.query)
def test_no_value_of_a_kind_is_taken_for_another(kind: ProductKind) -> None:
    """Checks all values that products of the kind could offer, not only those of the products tried above."""
    one = product(0, 0)
    offered = [
        (group.name, at, value) for group in kind.options for at, same in enumerate(group.values) for value in same
    ]
    for (name, at, value), (chosen_name, chosen_at, chosen) in itertools.product(offered, offered):
        is_same = (name, value) == (chosen_name, chosen)
        if is_same or (name, at) != (chosen_name, chosen_at):  # alternatives never meet in a product
            met = score(one, one.prices[0], {chosen_name: chosen}, _goal(one, {name: value}), stub).options
            assert met == is_same, (name, value, chosen_name, chosen)


@pytest.mark.parametrize("kind", kinds(), ids=lambda kind: kind.query)
def test_a_product_has_no_attribute_by_accident(kind: ProductKind) -> None:
    pool = [attribute for slot in kind.attributes for attribute in slot]
    assert 10 <= len(kind.attributes) <= 20
    phrases = [*vocabulary.NAMES, *vocabulary.OPENERS, *vocabulary.CLOSERS, *vocabulary.TAILS]
    phrases += [*vocabulary.EXTRAS[kind.department], *kind.details, *kind.nouns, *kind.uses, kind.query]
    for attribute in pool:
        texts = phrases + [other.saying for other in pool]
        assert not [text for text in texts if attribute.text in text.lower()]
        others = tuple(other.text for other in pool if other is not attribute)
        assert not _has(others, attribute.text)
        assert _has((attribute.text,), attribute.text)


def _has(own: tuple[str, ...], attribute: str) -> bool:
    """Return whether the reward takes one of a product's attributes for another one."""
    one = product(0, 0)
    bare = Product.from_json({**one.to_json(), "name": "x", "description": "", "bullets": [], "attributes": list(own)})
    goal = ShoppingGoal(
        product=0, asin="", instruction="", attributes=(attribute,), price_limit=1e6, options={}, name="x", query="",
        product_category="", weight=1.0,
    )  # fmt: skip
    return score(bare, 1.0, {}, goal, stub).attributes == 1


def test_each_attribute_is_described_and_the_instruction_asks_for_some() -> None:
    sayings = {attribute.text: attribute.saying for kind in kinds() for slot in kind.attributes for attribute in slot}
    for one in products(1000, 0):
        text = " ".join([one.description, *one.bullets]).lower()
        assert 2 <= len(set(one.attributes)) == len(one.attributes) <= 6
        assert all(sayings[attribute].lower() in text for attribute in one.attributes)
        asked = one.instruction_attributes
        assert set(asked) <= set(one.attributes)
        assert 1 <= len(asked) <= 4
        assert one.instruction is not None
        assert one.instruction.startswith("Find me ")
        for word in (*asked, one.query):
            assert word in one.instruction


def test_instructions_have_the_original_s_form() -> None:
    pools = {attribute.text: attribute for kind in kinds() for slot in kind.attributes for attribute in slot}
    bars = next(kind for kind in kinds() if kind.query == "granola bars")

    def instruction(*asked: str) -> str:
        return generator._instruction(bars, [pools[attribute] for attribute in asked])

    assert instruction("non gmo") == "Find me non gmo granola bars"
    assert instruction("real fruit") == "Find me granola bars with real fruit"
    assert instruction("gluten free", "non gmo", "real fruit", "dietary fiber", "school lunches") == (
        "Find me gluten free, non gmo granola bars with real fruit, dietary fiber for school lunches"
    )


def test_names_find_their_products_and_instructions_most_of_theirs(catalogue: Catalogue) -> None:
    for number in range(len(catalogue)):
        assert catalogue.search(catalogue[number].name)[0] == number
    goals = Goals(catalogue)
    last = {number: index for index, number in enumerate(goals.products.tolist())}  # a goal of each product
    found = sum(number in catalogue.search(goals[index].instruction) for number, index in last.items())
    assert len(last) == 1000
    assert found >= 980  # 999 when this was written; 993 of seed 1


def test_an_instruction_picks_few_of_the_products_of_its_kind(catalogue: Catalogue) -> None:
    shop = [catalogue[number] for number in range(len(catalogue))]
    rivals, fits = [], []
    for one in shop[:300]:
        same = [other for other in shop if other.query == one.query and other is not one]
        rivals.append(len(same))
        fits.append(sum(set(one.instruction_attributes) <= set(other.attributes) for other in same))
    assert min(rivals) >= 5
    assert 0.5 < statistics.mean(fits) < 4
    assert statistics.median(fits) <= 2


def test_products_are_of_the_sizes_that_are_promised() -> None:
    many = list(products(2000, 0))
    lengths = [len(list(terms(one.document))) for one in many]
    assert 90 <= statistics.mean(lengths) <= 130
    assert statistics.quantiles(lengths, n=20)[0] >= 55
    assert max(lengths) <= 150
    goals = [one.num_combinations for one in many]
    assert 6 <= statistics.median(goals) <= 10
    assert 40 < max(goals) <= 60 == generator.MAX_GOALS
    assert {len(one.options) for one in many} == {0, 1, 2, 3}
    assert {len(one.bullets) for one in many} == {3, 4, 5}
    assert all(len(set(one.bullets)) == len(one.bullets) for one in many)
    assert {one.description.count(". ") + 1 for one in many} == {1, 2, 3, 4}
    assert 0.07 < statistics.mean(len(one.prices) == 2 for one in many) < 0.13


def test_prices_are_in_cents_and_ranges_go_up() -> None:
    bounds = {kind.query: kind.prices for kind in kinds()}
    for one in products(2000, 0):
        low, high = bounds[one.query]
        assert low <= one.prices[0] <= high + 1
        assert all(price == round(price, 2) for price in one.prices)
        assert list(one.prices) == sorted(set(one.prices))


def test_every_department_has_its_kinds_and_all_occur() -> None:
    assert len({kind.query for kind in kinds()}) == len(kinds())
    departments = [kind.department for kind in kinds()]
    assert set(departments) == {"beauty", "electronics", "garden", "fashion", "grocery"}
    assert all(8 <= departments.count(name) <= 10 for name in departments)
    made = {(one.category, one.query, one.product_category) for one in products(1000, 0)}
    assert made == {(kind.department, kind.query, kind.path) for kind in kinds()}
    assert all(3 <= len(kind.path.split(" \u203a ")) <= 5 for kind in kinds())


def test_texts_are_clean_and_options_can_be_clicked(catalogue: Catalogue) -> None:
    for number in range(len(catalogue)):
        one = catalogue[number]
        texts = [one.name, one.description, *one.bullets, one.instruction or "", *one.attributes, *one.options]
        texts += [value for values in one.options.values() for value in values]
        assert not [text for text in texts if not text.isprintable() or set("[]{}") & set(text) or text != text.strip()]
        values = [value for values in one.options.values() for value in values]
        assert len(set(values)) == len(values)
        assert all(value == value.lower() and "/" not in value for value in values)
        page = pieces(State(page="item", item=number), catalogue, "", show_attributes=True)
        labels = {piece.text.lower() for piece in page if piece.kind == "button"} | {"search", "next >"}
        assert not labels & set(values)
