"""Every rule by which the original's loader cleans an entry, and rejected entries."""

from __future__ import annotations

import json
from typing import Any

import pytest

from cairn.core.errors import CairnError
from cairn.envs.webshop.products import NO_PRICE, Product, clean
from tests.envs.webshop import tiny

RAW: dict[str, Any] = {  # Any: JSON
    "asin": "B07DJJXGB5",
    "name": "Bamboo Lamp",
    "full_description": "A Lamp.",
    "small_description": ["Bright", "Long cord"],
    "pricing": "$9.98",
    "customization_options": {"Color": [{"value": " Red/Blue ", "image": None}, {"value": "XL"}], "Size": None},
    "category": "garden",
    "query": " Desk LAMPS ",
    "product_category": "Home \u203a Lamps",
    "images": ["https://example.org/a.jpg", "https://example.org/b.jpg"],
}
ABOUT: dict[str, Any] = {  # Any: JSON
    "attributes": ["bright", "long cord"],
    "instruction": "Find me bright lamps",
    "instruction_attributes": ["bright"],
}


def cleaned(about: Any = ABOUT, **changes: Any) -> Product:  # Any: JSON
    product = clean({**RAW, **changes}, about)
    assert product is not None
    return product


def test_an_entry_is_cleaned() -> None:
    assert cleaned() == Product(
        asin="B07DJJXGB5",
        name="Bamboo Lamp",
        description="A Lamp.",
        bullets=("Bright", "Long cord"),
        prices=(9.98,),
        options={"color": ("red | blue", "xl")},  # lower case, stripped, slashes apart, and no option without values
        attributes=("bright", "long cord"),
        category="garden",
        query="desk lamps",
        product_category="Home \u203a Lamps",
        image="https://example.org/a.jpg",
        instruction="Find me bright lamps",
        instruction_attributes=("bright",),
    )


@pytest.mark.parametrize(
    ("pricing", "prices", "text"),
    [
        (None, (NO_PRICE,), "$100.0"),
        ("", (NO_PRICE,), "$100.0"),
        ("9.98", (NO_PRICE,), "$100.0"),  # no dollar sign
        ("$9.98", (9.98,), "$9.98"),
        ("$1,299.00", (1299.0,), "$1299.0"),
        ("$9.98$12.50", (9.98, 12.5), "$9.98 to $12.5"),
        ("from $9.98 to $12.98 each", (9.98, 12.98), "$9.98 to $12.98"),
        ("$3$4$5", (3.0, 4.0), "$3.0 to $4.0"),
    ],
)
def test_prices_are_the_first_two_numbers_after_dollar_signs(
    pricing: str | None, prices: tuple[float, ...], text: str
) -> None:
    product = cleaned(pricing=pricing)
    assert product.prices == prices
    assert product.price_text == text


@pytest.mark.parametrize("asin", ["nan", "B07DJJXGB5X"])
def test_entries_without_a_proper_asin_are_dropped(asin: str) -> None:
    assert clean({**RAW, "asin": asin}, ABOUT) is None


def test_missing_fields_are_left_empty() -> None:
    product = cleaned(None, small_description="One text", customization_options=None, images=None)
    assert product.attributes == ("DUMMY_ATTR",)
    assert (product.instruction, product.instruction_attributes) == (None, ())
    assert product.bullets == ("One text",)
    assert product.options == {}
    assert product.image == ""
    assert cleaned({"attributes": []}).attributes == ()  # there, and empty
    assert cleaned({"instruction": "x"}).attributes == ("DUMMY_ATTR",)
    assert cleaned(customization_options="").options == {}
    assert cleaned(customization_options={"A": [], "B": None}).options == {"a": ()}
    assert cleaned(small_description=[]).bullets == ()


def test_the_search_engine_indexes_name_description_first_bullet_and_options() -> None:
    options = {"Size": [{"value": "S"}, {"value": "M"}], "Color": [{"value": "Red"}]}
    assert cleaned(customization_options=options).document == "bamboo lamp a lamp. bright size: s, m, and color: red"
    assert cleaned(customization_options={}, small_description=[]).document == "bamboo lamp a lamp.  "


def test_combinations_are_counted() -> None:
    assert [product.num_combinations for product in tiny.PRODUCTS] == [6, 2, 1, 3, 4, 0]


@pytest.mark.parametrize("product", [*tiny.PRODUCTS, cleaned(name="\ud800 \u2605 \x00")], ids=lambda p: p.asin)
def test_a_product_survives_json_unchanged(product: Product) -> None:
    assert Product.from_json(json.loads(json.dumps(product.to_json()))) == product


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("asin", None),
        ("asin", 7),
        ("asin", "B07DJJXG\u00e9"),
        ("name", None),
        ("full_description", ["A"]),
        ("small_description", {"a": 1}),
        ("small_description", None),
        ("category", 1.5),
        ("query", None),
        ("product_category", None),
        ("customization_options", [1]),
        ("customization_options", "color"),
    ],
)
def test_a_field_of_the_wrong_type_is_named(field: str, value: Any) -> None:
    with pytest.raises(CairnError, match=f"expected .*{field}"):
        clean({**RAW, field: value}, ABOUT)


@pytest.mark.parametrize("values", [[{"value": None}], [{}], ["red"], "red", 5, {"value": "red"}])
def test_an_option_of_the_wrong_type_is_named(values: Any) -> None:
    with pytest.raises(CairnError, match="for the option 'Color'"):
        clean({**RAW, "customization_options": {"Color": values}}, ABOUT)


@pytest.mark.parametrize("pricing", ["$", "$1.2.3", "$ $5", "$9.98$"])
def test_a_price_without_a_number_is_rejected(pricing: str) -> None:
    with pytest.raises(CairnError, match="expected prices such as"):
        clean({**RAW, "pricing": pricing}, ABOUT)


@pytest.mark.parametrize("field", ["attributes", "instruction_attributes", "instruction"])
@pytest.mark.parametrize("value", [5, {"a": 1}, [1]])
def test_attributes_of_the_wrong_type_are_named(field: str, value: Any) -> None:
    with pytest.raises(CairnError, match=f"expected .*{field}"):
        clean(RAW, {**ABOUT, field: value})


def test_attributes_given_as_one_text_are_rejected() -> None:
    with pytest.raises(CairnError, match="list of texts 'attributes'"):
        clean(RAW, {"attributes": "bright"})
