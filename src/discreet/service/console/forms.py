"""What people fill in, as the bodies that the API takes.  The API judges them; here they are only read."""

from __future__ import annotations

import json
import math
import re
import secrets
import tomllib
from collections.abc import Mapping

from discreet.service.console.api import Declined, declined

Form = Mapping[str, str]
CURRENCIES = ("epsilon", "rho", "approx")
BETWEEN_BLANKS = re.compile(r'"([^"]*)"|([^\s"]+)')
BETWEEN_COMMAS = re.compile(r'"([^"]*)"|([^,"]+)')


def refused(detail: str) -> Declined:
    """A form that cannot be read."""
    return declined(400, "parameter", "The form is not complete", detail)


def price(form: Form, *, error: bool = False) -> dict[str, object]:
    """The price in the API's words; or, where that may be asked for, the error that a price is to be found for.

    >>> price({"currency": "epsilon", "amount": "0.1"}), price({"currency": "rho", "amount": "0.005"})
    ({'epsilon': '0.1'}, {'budget': {'rho': '0.005'}})
    >>> price({"currency": "approx", "amount": "0.1", "delta": "1e-9"})
    {'budget': {'epsilon': '0.1', 'delta': '1e-9'}}
    """
    currency, amount = form.get("currency", "epsilon"), form.get("amount", "").strip()
    if currency not in CURRENCIES and not (error and currency == "error"):
        raise refused("choose what to pay in")
    if not amount:
        raise refused("say how much to pay")
    match currency:
        case "epsilon":
            return {"epsilon": amount}
        case "rho":
            return {"budget": {"rho": amount}}
        case "approx":
            return {"budget": {"epsilon": amount, "delta": form.get("delta", "").strip() or "1e-6"}}
        case _:
            return {"error": _float(amount)}


def budget(form: Form) -> dict[str, object]:
    """A cap: epsilon, epsilon and delta, or rho.

    >>> budget({"currency": "epsilon", "amount": "0.5"}), budget({"currency": "rho", "amount": "0.01"})
    ({'epsilon': '0.5'}, {'rho': '0.01'})
    """
    found = price({**form, "currency": form.get("currency", "epsilon")})
    inner = found.get("budget")
    return dict(inner) if isinstance(inner, dict) else found


def question(form: Form) -> dict[str, object]:
    """The body of `explain` and `ask`; one that was approved is sent as it was, to the letter."""
    if form.get("body"):
        return parsed(form["body"], "the order cannot be read")
    text = form.get("question", "").strip()
    if not text:
        raise refused("write a question first")
    body: dict[str, object] = {"question": text, **price(form, error=True)}
    for name in ("rows_per_unit", "groups_per_unit"):
        if form.get(name, "").strip():
            body[name] = integer(form, name)
    return body


def filled(body: Mapping[str, object]) -> dict[str, str]:
    """The form that would have this body, as far as there are fields for it.

    >>> form = filled({"question": "SELECT 1", "budget": {"rho": "0.01"}, "rows_per_unit": 2, "beta": 0.1})
    >>> [name for name, value in form.items() if value], form["amount"]
    (['question', 'currency', 'amount', 'rows_per_unit'], '0.01')
    """
    given = body.get("budget")
    paid = {**given} if isinstance(given, Mapping) else {"epsilon": body.get("epsilon", "")}
    currency = "approx" if "delta" in paid else "rho" if "rho" in paid else "epsilon"
    amounts = {"amount": paid.get("rho", paid.get("epsilon", "")), "delta": paid.get("delta", "")}
    bounds = {name: body.get(name, "") for name in ("rows_per_unit", "groups_per_unit")}
    found = {"question": body.get("question", ""), "currency": currency, **amounts, **bounds}
    return {name: str(value) for name, value in found.items()}


def integer(form: Form, name: str) -> int:
    """A whole number."""
    try:
        return int(form.get(name, "").strip())
    except ValueError:
        raise refused(f"{name.replace('_', ' ')} needs a whole number") from None


def optional(form: Form, *names: str) -> dict[str, object]:
    """The texts that were filled in."""
    return {name: form[name].strip() for name in names if form.get(name, "").strip()}


def required(form: Form, name: str) -> dict[str, object]:
    """A text that must be there."""
    if not form.get(name, "").strip():
        raise refused(f"{name.replace('_', ' ')} is missing")
    return {name: form[name].strip()}


def parameters(form: Form) -> dict[str, object]:
    """The settings of a model, as a JSON object.

    >>> parameters({"parameters": '{"max_depth": 4}'}), parameters({})
    ({'parameters': {'max_depth': 4}}, {})
    """
    text = form.get("parameters", "").strip()
    if not text:
        return {}
    return {"parameters": parsed(text, 'the parameters need a JSON object, as in {"max_depth": 4}')}


def parsed(text: str, otherwise: str) -> dict[str, object]:
    """A JSON object, or a refusal in these words."""
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict):
        raise refused(otherwise)
    return found


def new_key() -> str:
    """A key for one order, so that a form that is sent twice is charged once."""
    return secrets.token_hex(16)


def words(form: Form, name: str) -> list[str]:
    """Names between commas, or between blanks where there is no comma; in quotes they may have either.

    >>> words({"columns": "age ward  day"}, "columns"), words({"columns": "length of stay, age"}, "columns")
    (['age', 'ward', 'day'], ['length of stay', 'age'])
    >>> words({"columns": '"length of stay"'}, "columns")
    ['length of stay']
    """
    text = form.get(name, "")
    found = (BETWEEN_COMMAS if "," in text else BETWEEN_BLANKS).findall(text)
    return [word for quoted, bare in found if (word := quoted or bare.strip())]


def columns(form: Form) -> dict[str, object]:
    """The declaration of columns, one line each, as in `curator.toml`.

    >>> columns({"columns": 'age = { type = "integer", low = 0, high = 119 }'})
    {'age': {'type': 'integer', 'low': 0, 'high': 119}}
    """
    try:
        found = tomllib.loads(form.get("columns", ""))
    except tomllib.TOMLDecodeError as error:
        raise refused(f"the columns cannot be read: {error}") from None
    except (ValueError, RecursionError):  # a number of too many digits, or brackets without end
        raise refused("the columns cannot be read") from None
    if not found:
        raise refused("declare at least one column")
    return found


def _float(text: str) -> float:
    try:
        found = float(text)
    except ValueError:
        found = math.nan
    if not math.isfinite(found):
        raise refused("the error needs a number")
    return found
