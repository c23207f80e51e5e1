"""Task files that make the address of a site of ours a part of somebody else's."""

import json
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from common.errors import UserError
from environments.webarena.addresses import fill_placeholders
from environments.webarena.tasks import read_configurations, to_tasks

ADDRESSES = {"SHOPPING": "http://shop.test", "MAP": "http://map.test:3000/", "SHOPPING_ADMIN": "http://shop.test/admin"}
FOREIGN = [
    "__SHOPPING__@evil",
    "__SHOPPING__.evil",
    "__SHOPPING__.evil/cart",
    "http://__SHOPPING__.evil/",
    "http://__SHOPPING__/",
    "__SHOPPING__:80@evil",
    "__SHOPPING__:80@evil/",
    "__SHOPPING__:pass@evil",
    "__SHOPPING__-evil.example",
    "__SHOPPING__evil.example",
    "__SHOPPING__%2eevil.example",
    "__SHOPPING__\\@evil",
    "__SHOPPING__\\.evil",
    "__SHOPPING__\t.evil",
    "__SHOPPING__\n@evil",
    "__SHOPPING__\r\n.evil/",
    "__SHOPPING__ @evil",
    "__SHOPPING__ or @evil/",
    "__SHOPPING__. @evil",
    "__SHOPPING__,@evil",
    "__SHOPPING__'.evil",
    "__SHOPPING__;.evil",
    "__SHOPPING__。evil",
    "__SHOPPING__＠evil",
    "__SHOPPING__\u200b.evil",
    "__SHOPPING____MAP__",
    " __SHOPPING__@evil",
    "\t__SHOPPING__.evil",
    "\x01__SHOPPING__/",
    "//__SHOPPING__/",
    "\\\\__SHOPPING__.evil",
    "http:__SHOPPING__.evil",
    "user@__SHOPPING__",
    "http://evil/__SHOPPING__.evil",
    "evil.__SHOPPING__/",
    "__MAP__ |AND| __SHOPPING__@evil",
    "__SHOPPING__.evil |AND| __MAP__",
    "Go to __SHOPPING__@evil and buy",
    "Go to __SHOPPING__.evil.example",
    "Go to http://__SHOPPING__:80@evil",
]
OURS = {
    "__SHOPPING__": "http://shop.test",
    "__SHOPPING__/cart?a=@x": "http://shop.test/cart?a=@x",
    "__SHOPPING__?q=1": "http://shop.test?q=1",
    "__SHOPPING__#top@x": "http://shop.test#top@x",
    "__SHOPPING_ADMIN__/sales": "http://shop.test/admin/sales",
    "__MAP__ |AND| __SHOPPING__": "http://map.test:3000 |AND| http://shop.test",
    "__MAP__/a |OR| __MAP__/b": "http://map.test:3000/a |OR| http://map.test:3000/b",
    "func:f('__last_url__', __page__) __MAP__": "func:f('__last_url__', __page__) http://map.test:3000",
    "find('__SHOPPING__/a').innerText": "find('http://shop.test/a').innerText",
    '[href="__SHOPPING__"]': '[href="http://shop.test"]',
    "Is __SHOPPING__ up? See (__MAP__), then __SHOPPING__.": (
        "Is http://shop.test up? See (http://map.test:3000), then http://shop.test."
    ),
    "__SHOPPING__ is a shop": "http://shop.test is a shop",
    "打开 __SHOPPING__。": "打开 http://shop.test。",
    "看__SHOPPING__/a": "看http://shop.test/a",
    "?next=__SHOPPING__/cart": "?next=http://shop.test/cart",
    "__HOME__.evil @__OPENAI_API_KEY__": "__HOME__.evil @__OPENAI_API_KEY__",
}


@pytest.mark.parametrize("text", FOREIGN)
def test_a_site_becomes_no_part_of_a_foreign_host(text: str) -> None:
    with pytest.raises(UserError, match=r"tasks.json: .* is a whole address") as refused:
        fill_placeholders([{"eval": {"reference_url": text}}], ADDRESSES, "tasks.json")
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize("text", OURS)
def test_where_it_is_the_whole_origin_it_is_filled_in(text: str) -> None:
    assert fill_placeholders({"a": [text, 1, None]}, ADDRESSES, "x") == {"a": [OURS[text], 1, None]}


def test_a_drawn_start_leads_to_the_site_or_nowhere(tmp_path: Path) -> None:
    """All joints of two characters between placeholder and name."""
    marks = [chr(code) for code in range(128)] + [*"。．＠／：\u00a0\u200b\u00ad"]
    led = set()
    for joint in [*marks, *(one + other for one in marks for other in "@.:/\\ \t'")]:
        for text in (f"__SHOPPING__{joint}evil.example/", f"{joint}__SHOPPING__/", f"http://evil{joint}__SHOPPING__/"):
            try:
                filled = fill_placeholders(text, ADDRESSES, "x")
            except UserError:
                continue
            if not text.startswith("http:"):  # then what is ours is at most in a path of theirs
                led.add(_host(filled))
    assert led <= {"shop.test", "shop.test.", None} and "shop.test" in led
    path = tmp_path / "tasks.json"
    path.write_text(json.dumps([{"task_id": 1, "intent": "q", "start_url": "__SHOPPING__/@evil", "sites": []}]))
    [task] = to_tasks(read_configurations(path, ADDRESSES))
    assert _host(task.web) == "shop.test"


def _host(address: str) -> str | None:
    """As browsers find it: None where it is no host's name."""
    try:
        host = urlsplit(address.replace("\\", "/")).hostname
    except ValueError:
        return None
    return host if host and host.replace(".", "").replace("-", "").isalnum() else None
