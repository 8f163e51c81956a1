"""A price is read from the proxy's document, not from its words."""

import json

from dpproxy.notebook.price import read_price

DOCUMENT = {
    "epsilon": 0.1, "delta": 0.0, "budget": "b", "ceiling": "t", "unit": "one row of t", "confidence": 0.95,
    "columns": [
        {"name": "k", "type": "text"},
        {"name": "n", "half_width": 30.0, "half_width_formula": None},
        {"name": "m", "half_width": None, "half_width_formula": "145 rows of <rank>"},
    ],
}  # fmt: skip


def test_a_price_says_its_errors():
    price = read_price(json.dumps(DOCUMENT))
    assert (price.epsilon, price.budget, price.is_free) == (0.1, "b", False)
    assert price.half_width == {"n": 30.0, "m": "145 rows of <rank>"}
    assert str(price) == "0.1 epsilon of budget b; 95 % half-width: n ±30; m ±145 rows of <rank>"
    assert "&lt;rank&gt;" in price._repr_html_()


def test_public_tables_are_free():
    price = read_price('{"epsilon": 0.0, "free": true, "exact": "SELECT 1", "recorded": []}')
    assert price.is_free
    assert price.half_width == {}
