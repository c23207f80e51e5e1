"""What WebArena's ground truth asks of its shop's own API (Magento's REST): the newest order, or product review.

SHOPPING is the shop's address, SHOPPING_API_LOGIN=user:password an administrator of it; WebArena's documentation names
the one of its images. Source: WebArena's `helper_functions.py` (arXiv 2307.13854).
"""

import asyncio
import os
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar
from urllib.parse import quote

import httpx

from common.errors import UserError
from common.network.bounded_http import BoundedAsyncClient
from common.options.fields import fits
from common.shown.terminal import in_short
from environments.faults import PageError

ADDRESS, LOGIN = "SHOPPING", "SHOPPING_API_LOGIN"
TIMEOUT_S = 60.0

Read = TypeVar("Read")


def check_login(task_id: str) -> None:
    """Raise UserError unless the shop's API can be asked."""
    if not os.environ.get(ADDRESS, "").startswith(("http://", "https://")) or ":" not in os.environ.get(LOGIN, ""):
        raise UserError(
            f"task {task_id}: its ground truth asks the shop's API; set {ADDRESS}=http://... and {LOGIN}=user:password"
        )


async def latest_order_url() -> str:
    """The page of the newest order; the list of orders when there is none."""
    newest = {
        "searchCriteria[sortOrders][0][field]": "created_at",
        "searchCriteria[sortOrders][0][direction]": "DESC",
        "searchCriteria[pageSize]": "1",
    }
    orders = await _ask(
        "orders", lambda found: [_number(order["increment_id"]) for order in found["items"] or ()], newest
    )
    return f"{_address()}/sales/order/{f'view/order_id/{orders[0]}/' if orders else 'history/'}"


async def latest_review_author(sku: str) -> str:
    """Who wrote the product's newest review; "" without one."""
    return await _ask(_reviews(sku), lambda reviews: _text(reviews[-1]["nickname"]) if reviews else "")


async def latest_review_rating(sku: str) -> str:
    """The rating of the product's newest review in per cent; "" without one."""
    return await _ask(
        _reviews(sku), lambda reviews: str(_number(reviews[-1]["ratings"][0]["percent"])) if reviews else ""
    )


def _reviews(sku: str) -> str:
    return f"products/{quote(sku, safe='')}/reviews"


async def _ask(path: str, read: Callable[[Any], Read], parameters: dict[str, str] | None = None) -> Read:
    """What `read` makes of the API's answer. Raises PageError, no agent's fault, when there is none."""
    user, _, password = os.environ[LOGIN].partition(":")
    try:
        async with (
            asyncio.timeout(TIMEOUT_S),  # for both
            BoundedAsyncClient(base_url=f"{_address()}/rest/", timeout=TIMEOUT_S, trust_env=False) as client,
        ):
            credentials = {"username": user, "password": password}
            token = await client.post("default/V1/integration/admin/token", json=credentials)
            headers = {"Authorization": f"Bearer {_text(token.raise_for_status().json())}"}
            answer = await client.get(f"V1/{path}", params=parameters, headers=headers)
            return read(answer.raise_for_status().json())
    except (httpx.HTTPError, httpx.InvalidURL, TimeoutError, ValueError, LookupError, TypeError) as error:
        said = in_short(str(error) or type(error).__name__)
        raise PageError(f"the shop's API gave no answer to {path}: {said}") from None


def _text(value: Any) -> str:
    if not fits(value, str):
        raise ValueError(f"{in_short(repr(value))} where a text is due")
    return value


def _number(value: Any) -> int:
    """Of an order or per cent: Magento gives them as texts or numbers."""
    if not fits(value, int | str) or not str(value).isdecimal():
        raise ValueError(f"{in_short(repr(value))} where a number is due")
    return int(value)


def _address() -> str:
    return os.environ[ADDRESS].rstrip("/")


PROGRAMS: dict[str, Callable[..., Awaitable[str]]] = {
    "shopping_get_latest_order_url": latest_order_url,
    "shopping_get_sku_latest_review_author": latest_review_author,
    "shopping_get_sku_latest_review_rating": latest_review_rating,
}
