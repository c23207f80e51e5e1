"""The rules of which addresses may be reached."""

import pytest

from collection.browser.url_policy import UrlPolicy, is_public, may_open
from data.errors import UserError
from data.task import Task


@pytest.mark.parametrize(
    "address",
    [
        "127.0.0.1",
        "127.9.9.9",
        "10.0.0.1",
        "172.16.0.1",
        "192.168.1.1",
        "169.254.169.254",  # where clouds keep their secrets
        "100.64.0.1",
        "0.0.0.0",
        "224.0.0.1",
        "::1",
        "::",
        "fe80::1%eth0",
        "fc00::1",
        "::ffff:127.0.0.1",
        "64:ff9b::7f00:1",
        "2002:7f00:1::",
    ],
)
def test_special_addresses_are_not_public(address: str) -> None:
    assert not is_public(address)
    assert UrlPolicy().refuses_address("example.com", 80, address)


@pytest.mark.parametrize("address", ["93.184.216.34", "8.8.8.8", "2606:2800:220:1::1", "::ffff:8.8.8.8"])
def test_ordinary_addresses_are(address: str) -> None:
    assert is_public(address)
    assert not UrlPolicy().refuses_address("example.com", 80, address)


def test_a_task_set_grants_exactly_where_it_begins() -> None:
    policy = UrlPolicy.of([Task("1", "q", "http://Shop.localhost:7070/cart?x"), Task("2", "q", "https://a.com")])
    assert policy.granted == {"shop.localhost:7070", "a.com:443"}
    assert not policy.refuses_address("shop.localhost", 7070, "127.0.0.1")
    for host, port in [("shop.localhost", 7071), ("localhost", 7070), ("forum.localhost", 7070)]:
        assert policy.refuses_address(host, port, "127.0.0.1")


def test_lists_cover_subdomains_and_deny_wins() -> None:
    policy = UrlPolicy.of([Task("1", "q", "http://start.org/")], allow=["a.com", "*.B.org"], deny=["ads.a.com"])
    for host in ("a.com", "www.a.com", "B.ORG.", "x.b.org", "start.org"):
        assert not policy.refuses_name(host, 80)
    for host in ("ads.a.com", "x.ads.a.com", "xa.com", "c.com", "93.184.216.34"):
        assert policy.refuses_name(host, 80)
    assert not UrlPolicy().refuses_name("anything.net", 443)


@pytest.mark.parametrize("web", ["file:///etc/passwd", "chrome://settings", "shop.com", "http://:80/", "http://a:b/"])
def test_a_task_cannot_begin_elsewhere(web: str) -> None:
    with pytest.raises(UserError, match="task 1"):
        UrlPolicy.of([Task("1", "q", web)])


def test_private_hosts_need_a_port() -> None:
    assert "10.0.0.5:8080" in UrlPolicy.of([], private=["10.0.0.5:8080"]).granted
    with pytest.raises(UserError, match="give host and port"):
        UrlPolicy.of([], private=["10.0.0.5"])


def test_we_open_web_pages_only() -> None:
    assert all(map(may_open, ["http://a.com", "https://a.com", "about:blank", "blob:http://a.com/1"]))
    assert not any(
        map(may_open, ["file:///etc/passwd", "chrome://version", "javascript:1", "data:text/html,x", "about:x"])
    )
