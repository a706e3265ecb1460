"""A shopping cart for the shop's pages: lines, cart page and receipt. Money is in cents.

A line has a number, which is part of its remove button's label and stays fixed while the line is in the cart. A new
line's number is one more than the highest in the cart.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from cairn.envs.webshop.catalogue import Catalogue
from cairn.envs.webshop.pages import BACK, PREV, Piece, State

ADD, VIEW, CHECKOUT, REMOVE = "Add to Cart", "View Cart", "Checkout", "Remove Item"


@dataclass(frozen=True, slots=True, kw_only=True)
class CartLine:
    """One product in the cart; the same product twice is two lines."""

    number: int
    product: int
    options: Mapping[str, str]
    cents: int  # the shop's price


@dataclass(frozen=True, slots=True, kw_only=True)
class CartState(State):
    """The state of a session with a cart."""

    cart: tuple[CartLine, ...] = ()
    is_open: bool = False  # the cart's page is shown; the other fields describe the page before it
    reward: float | None = None  # of the checkout


def cents(price: float) -> int:
    """Return a price in dollars as cents."""
    return round(100 * price)


def total(cart: Sequence[CartLine]) -> int:
    """Return the total price of a cart."""
    return sum(line.cents for line in cart)


def dollars(amount: int) -> str:
    """Return an amount of cents as text, e.g. "$12.05"."""
    return f"${amount // 100}.{amount % 100:02d}"


def next_number(cart: Sequence[CartLine]) -> int:
    """Return the number of the next line."""
    return max((line.number for line in cart), default=0) + 1


def remove_label(line: CartLine) -> str:
    """Return the label of a line's remove button."""
    return f"{REMOVE} {line.number}".lower()


def cart_page(cart: Sequence[CartLine], catalogue: Catalogue, instruction: str) -> list[Piece]:
    """Return the cart's page: each line with the total up to it."""
    shown = [_text("Instruction:"), _text(instruction), _button(BACK), _button(PREV)]
    if not cart:
        return [*shown, _text("Your cart is empty")]
    for place, line in enumerate(cart):
        shown += [*_line_pieces(line, catalogue), _text(f"Total so far: {dollars(total(cart[: place + 1]))}")]
        shown.append(_button(f"{REMOVE} {line.number}"))
    return [*shown, _button(CHECKOUT)]


def receipt(cart: Sequence[CartLine], catalogue: Catalogue, reward: float) -> list[Piece]:
    """Return the last page."""
    shown = [_text("Thank you for shopping with us!"), _text("Purchased")]
    for line in cart:
        shown += _line_pieces(line, catalogue)
    ending = (f"Total: {dollars(total(cart))}", "Your score (min 0.0, max 1.0)", str(reward))
    return [*shown, *map(_text, ending)]


def _line_pieces(line: CartLine, catalogue: Catalogue) -> Iterator[Piece]:
    product = catalogue[line.product]
    yield _text(f"Item {line.number}: {product.asin}")
    if product.name.strip():
        yield _text(product.name)
    for name, value in sorted(line.options.items()):
        yield _text(f"{name}: {value}")
    yield _text(f"Price: {dollars(line.cents)}")


def _text(text: str) -> Piece:
    return Piece("text", text)


def _button(text: str) -> Piece:
    return Piece("button", text)
