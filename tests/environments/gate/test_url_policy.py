"""The rules of which addresses may be reached."""

import re

import pytest

from common.errors import UserError
from data.task import Task
from environments.browser.gate.url_policy import UrlPolicy, is_public, may_open


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
        "0.1.2.3",
        "168.63.129.16",  # Azure's host
        "100.100.100.200",  # Alibaba's metadata
        "192.0.0.192",  # Oracle's
        "fd00:ec2::254",  # Amazon's
        "fd20:ce::254",  # Google's
        "198.18.0.1",
        "240.0.0.1",
        "255.255.255.255",
        "::127.0.0.1",
        "::ffff:0:127.0.0.1",
        "::ffff:a9fe:a9fe",
        "64:ff9b::a9fe:a9fe",
        "64:ff9b:1::a9fe:a9fe",
        "2002:808:808::1",
        "2001:0:808:808::1",
        "2606:2800:220:1:0:5efe:7f00:1",
        "fec0::1",
        "2001:db8::1",
        "3fff::1",
        "5f00::1",
        "100::1",
        "ff02::1",
    ],
)
def test_special_addresses_are_not_public(address: str) -> None:
    assert not is_public(address)
    assert UrlPolicy().refuses_address("example.com", 80, address)


@pytest.mark.parametrize(
    "address", ["93.184.216.34", "8.8.8.8", "2606:2800:220:1::1", "::ffff:8.8.8.8", "64:ff9b::808:808"]
)
def test_ordinary_addresses_are(address: str) -> None:
    assert is_public(address)
    assert not UrlPolicy().refuses_address("example.com", 80, address)


def test_only_loopback_names_are_reached_past_the_gate() -> None:
    tasks = [Task("1", "q", "http://Shop.localhost:7070/cart?x"), Task("2", "q", "https://a.com")]
    policy = UrlPolicy.of(tasks, sites_port=7070)
    assert policy.past_the_gate == ["shop.localhost:7070"]
    assert not policy.refuses_address("shop.localhost", 7070, "127.0.0.1")
    for host, port in [("shop.localhost", 7071), ("localhost", 7070), ("forum.localhost", 7070), ("a.com", 443)]:
        assert policy.refuses_address(host, port, "127.0.0.1")
    assert policy.refuses_address("shop.localhost", 7070, "10.0.0.1")


@pytest.mark.parametrize("origin", ["shop.localhost:7071", "localhost:80", "127.0.0.1:7070", "[::1]:9222"])
def test_a_task_file_alone_opens_nothing_of_this_machine(origin: str) -> None:
    """Only the embedded websites' port; whoever has a website of their own here lists it."""
    task = Task("1", "q", f"http://{origin}/")
    with pytest.raises(UserError, match=f"add --private_hosts {re.escape(origin)}"):
        UrlPolicy.of([task], sites_port=7070)
    assert UrlPolicy.of([task], sites_port=7070, private=[origin]).past_the_gate == [origin]


@pytest.mark.parametrize(
    ("host", "address"),
    [("2130706433", "127.0.0.1"), ("0x7f.1", "127.0.0.1"), ("0177.1", "127.0.0.1"), ("0xA9FEA9FE", "169.254.169.254")],
)
def test_a_start_that_browsers_read_as_an_address_is_refused_like_it(host: str, address: str) -> None:
    task = Task("1", "q", f"http://{host}:9555/")
    with pytest.raises(UserError, match=f"begins at {host.lower()}, which is {address}, but .*hosts {address}:9555"):
        UrlPolicy.of([task])
    assert UrlPolicy.of([task], private=[f"{address}:9555"]).starts == {f"{address}:9555"}
    assert UrlPolicy.of([task], private=[f"{host}:9555"]).private == {f"{address}:9555"}


@pytest.mark.parametrize("address", ["127.0.0.1", "169.254.169.254", "10.0.0.1", "::ffff:127.0.0.1"])
def test_a_public_start_that_is_pointed_elsewhere_is_refused(address: str) -> None:
    policy = UrlPolicy.of([Task("1", "q", "http://a.com/")])
    assert not policy.refuses_name("a.com", 80)
    assert policy.refuses_address("a.com", 80, address)
    assert not policy.refuses_address("a.com", 80, "93.184.216.34")


@pytest.mark.parametrize("host", ["10.0.0.5:7770", "169.254.169.254", "[fd00::5]:80", "100.100.100.200"])
def test_a_private_start_must_be_listed(host: str) -> None:
    task = Task("1", "q", f"http://{host}/")
    with pytest.raises(UserError, match="--private_hosts"):
        UrlPolicy.of([task])
    origin = host if host.endswith(("70", "80")) and ":" in host else f"{host}:80"
    address = origin.rpartition(":")[0].strip("[]")
    assert not UrlPolicy.of([task], private=[origin]).refuses_address(address, int(origin.rpartition(":")[2]), address)


@pytest.mark.parametrize(
    "address",
    [
        "127.0.0.1",
        "10.1.2.3",
        "172.31.255.255",
        "192.168.1.1",
        "100.64.0.1",
        "100.127.255.255",
        "::1",
        "fd12:3456:789a::1",
        "::ffff:10.1.2.3",
        "93.184.216.34",
    ],
)
def test_a_listed_name_may_be_private(address: str) -> None:
    policy = UrlPolicy.of([], private=["wiki.corp:80"])
    assert not policy.refuses_address("wiki.corp", 80, address)
    assert bool(policy.refuses_address("wiki.corp", 81, address)) == (not is_public(address))


@pytest.mark.parametrize(
    "address",
    [
        "0.0.0.0",
        "0.1.2.3",
        "100.100.100.200",
        "168.63.129.16",
        "169.254.169.254",
        "192.0.0.192",
        "192.0.2.1",
        "198.18.0.1",
        "203.0.113.1",
        "224.0.0.1",
        "240.0.0.1",
        "255.255.255.255",
        "::",
        "::ffff:100.100.100.200",
        "64:ff9b::a00:1",
        "100::1",
        "2001:db8::1",
        "fe80::1%eth0",
        "fec0::1",
        "ff02::1",
        "fd00:42::42",
        "fd00:a9fe:a9fe::1",
        "fd00:c1::a9fe:a9fe",
        "fd00:ec2::254",
        "fd20:ce::254",
    ],
)
def test_a_listed_name_may_be_no_metadata_and_nothing_else_that_is_special(address: str) -> None:
    assert UrlPolicy.of([], private=["wiki.corp:80"]).refuses_address("wiki.corp", 80, address)


def test_lists_cover_subdomains_and_deny_wins() -> None:
    policy = UrlPolicy.of([Task("1", "q", "http://start.org/")], allow=["a.com", "*.B.org"], deny=["ads.a.com"])
    for host in ("a.com", "www.a.com", "B.ORG.", "x.b.org", "start.org"):
        assert not policy.refuses_name(host, 80)
    for host in ("ads.a.com", "x.ads.a.com", "xa.com", "c.com", "93.184.216.34"):
        assert policy.refuses_name(host, 80)
    assert not UrlPolicy().refuses_name("anything.net", 443)


def test_deny_beats_what_is_listed_and_where_tasks_begin() -> None:
    policy = UrlPolicy.of([], deny=["corp"], private=["wiki.corp:80"])
    assert policy.refuses_name("wiki.corp", 80)
    for web in ("http://shop.localhost:7070/", "http://a.shop.localhost/", "https://SHOP.localhost./"):
        with pytest.raises(UserError, match="deny-list"):
            UrlPolicy.of([Task("1", "q", web)], deny=["shop.localhost"])


def test_an_address_on_the_deny_list_is_denied_however_it_is_named() -> None:
    policy = UrlPolicy.of([], deny=["93.184.216.34", "2606:4700:0::0001"], private=["listed.example:80"])
    for host, address in (
        ("93.184.216.34", "93.184.216.34"),
        ("[::ffff:5db8:d822]", "::ffff:5db8:d822"),
        ("2606:4700::1", "2606:4700::1"),
        ("other.example", "93.184.216.34"),
        ("other.example", "::ffff:93.184.216.34"),
        ("listed.example", "2606:4700::1"),
    ):
        assert policy.refuses_name(host, 80) or policy.refuses_address(host, 80, address), (host, address)
    assert not policy.refuses_address("other.example", 80, "93.184.216.35")


@pytest.mark.parametrize(
    "host",
    ["*", "*.com", "a b", "a;b", "a,b.com", "<-loopback>", "a.com:80", "-a", "", "a..b", "256.1", "1.2.3.4.5", "a.0x"],
)
def test_what_is_no_host_is_refused(host: str) -> None:
    with pytest.raises(UserError, match="1"):
        UrlPolicy.of([Task("1", "q", f"http://{host}:7070/")])
    for options in ({"allow": [host + "/"]}, {"deny": [f"{host};x"]}, {"private": [f"{host}:0"]}):
        with pytest.raises(UserError, match="host"):
            UrlPolicy.of([], **options)


@pytest.mark.parametrize("web", ["file:///etc/passwd", "chrome://settings", "shop.com", "http://:80/", "http://a:b/"])
def test_a_task_cannot_begin_elsewhere(web: str) -> None:
    with pytest.raises(UserError, match="task 1"):
        UrlPolicy.of([Task("1", "q", web)])


def test_private_hosts_need_a_port() -> None:
    assert UrlPolicy.of([], private=["10.0.0.5:8080", "[FD00::5]:80"]).private == {"10.0.0.5:8080", "[fd00::5]:80"}
    for wrong in ("10.0.0.5", "fd00::5", "*:80", "a.com:http"):
        with pytest.raises(UserError, match="give host and port"):
            UrlPolicy.of([], private=[wrong])


def test_we_open_web_pages_only() -> None:
    assert all(map(may_open, ["http://a.com", "https://a.com", "about:blank", "blob:http://a.com/1"]))
    assert not any(
        map(may_open, ["file:///etc/passwd", "chrome://version", "javascript:1", "data:text/html,x", "about:x"])
    )


def test_pages_of_embedded_websites_lead_to_others_of_this_machine_only():
    """A phone's browser opens the embedded encyclopedia, where no task begins."""
    tasks, others = [Task("1", "q", "http://phone.localhost:7070/start/1")], ["wiki.localhost", "example.com"]
    policy = UrlPolicy.of(tasks, allow=["example.org"], sites_port=7070, other_sites=others)
    assert not policy.refuses_name("wiki.localhost", 7070)
    assert not policy.refuses_address("wiki.localhost", 7070, "127.0.0.1")
    assert policy.refuses_address("wiki.localhost", 7071, "127.0.0.1")
    assert policy.refuses_address("other.localhost", 7070, "127.0.0.1")
    assert policy.refuses_address("example.com", 7070, "127.0.0.1")
