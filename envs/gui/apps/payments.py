"""Payments application: accounts, transactions, transfers, requests. Amounts are like 12.50."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from cairn.envs.gui.locate import Json, everything, turn_to
from cairn.envs.gui.parts import FactList, Field, Form, Link, Nav, Page, Row, Table, address, choices, distinct, pager
from cairn.envs.gui.site import Place, Site, Visit, cents
from cairn.envs.gui.ui_actions import Deed, click, fill, fill_in, goto, select
from cairn.envs.office.payments import DIRECTIONS, STATUSES
from cairn.envs.office.task import Step
from cairn.envs.office.world import World


def money(amount: int) -> str:
    """Return cents in the pages' format, such as -12.50."""
    return f"{'-' if amount < 0 else ''}{abs(amount) // 100}.{abs(amount) % 100:02}"


def name_of(request: Json) -> str:
    """Return the accessible name of a request's row."""
    return f"{request['note'] or '(no note)'}, {money(request['amount'])}, {request['address']}"


def _payee(payee: Json) -> str:
    return f"{payee['name']} ({payee['reference']})"


def _tabs() -> Nav:
    links = (("Accounts", "/"), ("Transactions", "/transactions"), ("Pay", "/pay"), ("Move money", "/move"),
             ("Requests", "/requests"), ("Ask for money", "/ask"), ("Payees", "/payees"))  # fmt: skip
    return Nav(name="Payments", looks="tabs", links=[Link(text=text, to=to) for text, to in links])


def _accounts(visit: Visit) -> Page:
    rows = [
        Row(cells=(each["name"], money(each["balance"]), money(each["daily_limit"]), money(each["left_today"])))
        for each in visit.everything("payments", "list_accounts")
    ]
    columns = ("Account", "Balance", "Limit for a day", "Left today")
    return Page(title="Accounts", parts=(_tabs(), Table(caption="Your accounts", columns=columns, rows=rows)))


def _options(visit: Visit) -> list[tuple[str, str]]:
    return [(each["id"], each["name"]) for each in visit.everything("payments", "list_accounts")]


def _payees_of(visit: Visit) -> list[tuple[str, str]]:
    return [(each["id"], _payee(each)) for each in visit.everything("payments", "list_payees")]


def _transactions(visit: Visit) -> Page:
    asked = {name: visit.value(name) for name in ("account_id", "payee_id", "since", "until")}
    given = {name: value for name, value in asked.items() if value}
    found = visit.listed("payments", "list_transactions", **given)
    total = sum(each["amount"] for each in visit.everything("payments", "list_transactions", **given))
    accounts, payees = dict(_options(visit)), dict(_payees_of(visit))
    rows = [
        Row(
            cells=(
                each["at"].replace("T", " "), accounts.get(each["account_id"], ""), money(each["amount"]), each["kind"],
                payees.get(each["party"], accounts.get(each["party"], each["party"])), each["note"],
            )
        )
        for each in found["items"]
    ]  # fmt: skip
    look = Form(
        to="/transactions",
        is_get=True,
        submits=(("", "Show"),),
        fields=(
            Field(label="Account", name="account_id", kind="select", value=asked["account_id"],
                  options=[("", "any account"), *accounts.items()]),
            Field(label="Payee", name="payee_id", kind="select", value=asked["payee_id"],
                  options=[("", "any payee"), *payees.items()]),
            Field(label="From", name="since", value=asked["since"], hint="like 2031-05-04"),
            Field(label="Until", name="until", value=asked["until"], hint="like 2031-05-04"),
        ),
    )  # fmt: skip
    columns = ("Time", "Account", "Amount", "Kind", "With", "Note")
    caption = f"{found['total']} transactions"
    table = Table(caption=caption, columns=columns, rows=rows, foot=f"Sum of the amounts: {money(total)}")
    pages = pager("/transactions", found["total"], visit.page(), **asked)
    return Page(title="Transactions", parts=(_tabs(), look, table, pages))


def _pay(visit: Visit) -> Page:
    fields = (
        Field(label="From account", name="account_id", kind="select", value=visit.value("account_id"),
              options=_options(visit)),
        Field(label="Payee", name="payee_id", kind="select", value=visit.value("payee_id"), options=_payees_of(visit)),
        Field(label="Amount", name="amount", value=visit.value("amount"), hint="like 12.50"),
        Field(label="Note", name="note", value=visit.value("note")),
    )  # fmt: skip
    return Page(title="Pay", parts=(_tabs(), Form(to="/pay", submits=(("", "Pay now"),), fields=fields)))


def _move(visit: Visit) -> Page:
    fields = [
        Field(label=label, name=name, kind="select", value=visit.value(name), options=_options(visit))
        for label, name in (("From account", "from_account_id"), ("To account", "to_account_id"))
    ]
    fields.append(Field(label="Amount", name="amount", value=visit.value("amount"), hint="like 12.50"))
    return Page(title="Move money", parts=(_tabs(), Form(to="/move", submits=(("", "Move money"),), fields=fields)))


def _ask(visit: Visit) -> Page:
    fields = (
        Field(label="Address", name="address", value=visit.value("address")),
        Field(label="Amount", name="amount", value=visit.value("amount"), hint="like 12.50"),
        Field(label="Note", name="note", value=visit.value("note")),
        Field(label="Due", name="due", value=visit.value("due"), hint="like 2031-05-04, or nothing"),
    )
    return Page(title="Ask for money", parts=(_tabs(), Form(to="/ask", submits=(("", "Ask"),), fields=fields)))


def _asked(visit: Visit) -> str:
    due = visit.value("due") or None
    visit.perform("payments", "request_money", amount=cents(visit.value("amount")), due=due)
    return "/requests"


def _paying(call: str) -> Callable[[Visit], str]:
    """Return a handler that executes a call with an amount."""

    def do(visit: Visit) -> str:
        visit.perform("payments", call, amount=cents(visit.value("amount")))
        return "/"

    return do


def _requests(visit: Visit) -> Page:
    direction, status = visit.value("direction"), visit.value("status")
    found = visit.listed("payments", "list_requests", direction=direction or None, status=status or None)
    names = distinct([name_of(each) for each in found["items"]])
    rows = [
        Row(
            cells=(
                Link(text=each["note"], to=address("/request", id=each["id"]), name=name), each["direction"],
                each["address"], money(each["amount"]), each["made_on"], each["due"], each["status"],
            )
        )
        for each, name in zip(found["items"], names, strict=True)
    ]  # fmt: skip
    look = Form(
        to="/requests",
        is_get=True,
        submits=(("", "Show"),),
        fields=(
            Field(label="Direction", name="direction", kind="select", value=direction,
                  options=choices(DIRECTIONS, "both")),
            Field(label="Status", name="status", kind="select", value=status, options=choices(STATUSES, "any status")),
        ),
    )  # fmt: skip
    columns = ("Note", "Direction", "Address", "Amount", "Made on", "Due", "Status")
    table = Table(caption=f"{found['total']} requests", columns=columns, rows=rows)
    pages = pager("/requests", found["total"], visit.page(), direction=direction, status=status)
    return Page(title="Requests", parts=(_tabs(), look, table, pages))


def _request(visit: Visit) -> Page:
    key = visit.query.get("id", "")
    each = next((each for each in visit.everything("payments", "list_requests") if each["id"] == key), None)
    if each is None:
        return Page(title="There is no such request", parts=(_tabs(),))
    facts = FactList(
        pairs=(
            ("Direction", each["direction"]), ("Address", each["address"]), ("Amount", money(each["amount"])),
            ("Made on", each["made_on"]), ("Due", each["due"]), ("Status", each["status"]),
        )
    )  # fmt: skip
    title = f"Request: {each['note'] or '(no note)'}"
    if each["status"] != "pending":
        return Page(title=title, parts=(_tabs(), facts))
    if each["direction"] == "outgoing":
        back = Form(to=address("/cancel", id=key), submits=(("", "Take back"),))
        return Page(title=title, parts=(_tabs(), facts, back))
    field = Field(label="From account", name="account_id", kind="select", options=_options(visit))
    pay = Form(to=address("/pay-request", id=key), submits=(("", "Pay this request"),), fields=(field,))
    decline = Form(to=address("/decline", id=key), submits=(("", "Decline"),))
    return Page(title=title, parts=(_tabs(), facts, pay, decline))


def _answered(call: str) -> Callable[[Visit], str]:
    """Return a handler that executes a call on the address's request."""

    def do(visit: Visit) -> str:
        visit.perform("payments", call, request_id=visit.query.get("id", ""))
        return "/requests"

    return do


def _payees(visit: Visit) -> Page:
    words = visit.value("q")
    found = visit.listed("payments", "list_payees", query=words)
    look = Form(
        to="/payees", is_get=True, submits=(("", "Search"),),
        fields=(Field(label="Search payees", name="q", kind="search", value=words),),
    )  # fmt: skip
    table = Table(
        caption=f"{found['total']} payees", columns=("Name", "Reference"),
        rows=[Row(cells=(each["name"], each["reference"])) for each in found["items"]],
    )  # fmt: skip
    add = Form(
        to="/payees",
        heading="Add a payee",
        submits=(("", "Add payee"),),
        fields=(
            Field(label="Name", name="name", value=visit.value("name")),
            Field(label="Reference", name="reference", value=visit.value("reference")),
        ),
    )
    return Page(
        title="Payees", parts=(_tabs(), look, table, pager("/payees", found["total"], visit.page(), q=words), add)
    )


def _payee_added(visit: Visit) -> str:
    visit.perform("payments", "add_payee")
    return "/payees"


def _account(world: World, key: object) -> str:
    return world.payments.accounts[str(key)].name


def _cents(step: Step) -> str:
    amount = step.arguments["amount"]
    assert isinstance(amount, int)
    return money(amount)


def _how_transfer(world: World, step: Step) -> Iterator[Deed]:
    payee = world.payments.payees[str(step.arguments["payee_id"])]
    yield goto("http://payments/")
    yield click("link", "Pay")
    yield select("From account", _account(world, step.arguments["account_id"]))
    yield select("Payee", f"{payee.name} ({payee.reference})")
    yield from fill_in({"Amount": _cents(step), "Note": str(step.arguments.get("note", ""))})
    yield click("button", "Pay now")


def _how_move(world: World, step: Step) -> Iterator[Deed]:
    yield goto("http://payments/")
    yield click("link", "Move money")
    yield select("From account", _account(world, step.arguments["from_account_id"]))
    yield select("To account", _account(world, step.arguments["to_account_id"]))
    yield fill("Amount", _cents(step))
    yield click("button", "Move money")


def _how_ask(world: World, step: Step) -> Iterator[Deed]:
    given = step.arguments
    yield goto("http://payments/")
    yield click("link", "Ask for money")
    yield from fill_in({"Address": str(given["address"]), "Amount": _cents(step), "Note": str(given.get("note", ""))})
    if given.get("due"):
        yield fill("Due", str(given["due"]))
    yield click("button", "Ask")


def _how_answer(world: World, step: Step) -> Iterator[Deed]:
    key = str(step.arguments["request_id"])
    request = world.payments.requests[key]
    yield goto("http://payments/")
    yield click("link", "Requests")
    yield select("Direction", request.direction)
    yield select("Status", request.status)
    yield click("button", "Show")
    items = everything(world, "payments", "list_requests", direction=request.direction, status=request.status)
    name = yield from turn_to(items, lambda item: item["id"] == key, name_of)
    yield click("link", name)
    if step.name == "pay_request":
        yield select("From account", _account(world, step.arguments["account_id"]))
    texts = {"pay_request": "Pay this request", "decline_request": "Decline", "cancel_request": "Take back"}
    yield click("button", texts[step.name])


def _how_payee(world: World, step: Step) -> Iterator[Deed]:
    yield goto("http://payments/")
    yield click("link", "Payees")
    yield from fill_in({"Name": str(step.arguments["name"]), "Reference": str(step.arguments["reference"])})
    yield click("button", "Add payee")


def _how_accounts(world: World, step: Step) -> Iterator[Deed]:
    yield goto("http://payments/")


def _how_look(world: World, step: Step) -> Iterator[Deed]:
    payee = world.payments.payees[str(step.arguments["payee_id"])]
    yield goto("http://payments/")
    yield click("link", "Transactions")
    yield select("Payee", f"{payee.name} ({payee.reference})")
    yield fill("From", str(step.arguments["since"]))
    yield click("button", "Show")


APP = Site(
    name="payments",
    title="Payments",
    places=(
        Place(path="/", show=_accounts),
        Place(path="/transactions", show=_transactions),
        Place(path="/pay", show=_pay, do=_paying("transfer"), message="The money was sent."),
        Place(path="/move", show=_move, do=_paying("move_money"), message="The money was moved."),
        Place(path="/ask", show=_ask, do=_asked, message="The request was made."),
        Place(path="/requests", show=_requests),
        Place(path="/request", show=_request),
        Place(path="/pay-request", show=_request, do=_answered("pay_request"), message="The request was paid."),
        Place(path="/decline", show=_request, do=_answered("decline_request"), message="The request was declined."),
        Place(path="/cancel", show=_request, do=_answered("cancel_request"), message="The request was taken back."),
        Place(path="/payees", show=_payees, do=_payee_added, message="The payee was added."),
    ),
    how={
        "list_accounts": _how_accounts,
        "list_transactions": _how_look,
        "transfer": _how_transfer,
        "move_money": _how_move,
        "request_money": _how_ask,
        "pay_request": _how_answer,
        "decline_request": _how_answer,
        "cancel_request": _how_answer,
        "add_payee": _how_payee,
    },
)
