"""The embedded websites over HTTP: pages, forms, state of one's own, and what nonsense meets."""

import re
import socket
import subprocess
import time
from collections.abc import Callable, Iterator
from html import unescape

import httpx
import pytest

from common.errors import UserError
from data.task import SITES, Task
from environments.sites.content import Content, build
from environments.sites.order import order_cookie
from environments.sites.shop.content import euros
from environments.sites.visits import Sessions
from environments.sites.words import FILLER, SPLITS
from environments.websites import check_embedded_sites, served_again, sites_at


@pytest.fixture(scope="module")
def world() -> Content:
    return build(seed=0)


@pytest.fixture
def visit(spawn) -> Iterator[Callable[[str], httpx.Client]]:
    """`visit("shop")` is a new visitor of the shop, with cookies of his own."""
    server = spawn("-m", "environments.sites", "--port", 0, stdout=subprocess.PIPE)
    port = int(re.search(r":(\d+)/", server.stdout.readline())[1])
    clients = []

    def client(site: str) -> httpx.Client:
        headers = {"Host": f"{site}.localhost:{port}"}
        clients.append(httpx.Client(base_url=f"http://127.0.0.1:{port}", headers=headers, follow_redirects=True))
        return clients[-1]

    yield client
    for each in clients:
        each.close()


def names(page: httpx.Response) -> list[str]:
    """The link texts of a page's main part."""
    return [unescape(text) for text in re.findall(r"<a [^>]*>([^<]+)</a>", page.text.partition("<main>")[2])]


def state(client: httpx.Client) -> dict:
    return client.get("/_elcano/state").json()


def test_every_site_answers_with_its_own_pages_only(visit):
    for site in SITES:
        page = visit(site).get("/")
        assert page.status_code == 200 and f'class="{site}"' in page.text
        assert not re.findall(r"(?:src|href)=\"(?:https?:)?//", page.text), "a page must not need the network"
    index = visit("127.0.0.1")
    assert index.get("/health").text.split() == list(SITES)
    assert len(names(index.get("/"))) == len(SITES)


def test_the_world_belongs_to_its_seed():
    assert build(3) == build(3) != build(4)


def test_no_made_up_word_is_given_twice(world):
    entities = [*world.shop.products, *world.encyclopedia.articles, *world.forum.threads, *world.timetable.trains]
    entities += [town for connection in world.timetable.connections for town in connection]
    made_up = [
        word for name in entities for word in name.split() if re.fullmatch(r"[A-Z][aeiou][a-z][aeiou][bdfgpv]", word)
    ]
    assert len(made_up) > 700
    assert len(set(made_up)) == len(made_up)


def test_links_of_an_article_stay_in_its_split(world):
    articles = world.encyclopedia.articles
    for article in articles.values():
        assert {articles[title].split for title in article.links} == {article.split}


@pytest.mark.parametrize("split", [*SPLITS, FILLER])
def test_categories_and_boards_belong_to_one_split(world, split):
    for stock in world.shop.categories.values():
        assert len({product.split for product in stock}) == 1
    assert world.shop.of(split) and world.forum.of(split) and world.encyclopedia.of(split)


def test_search_sort_filter_and_pages_of_the_shop(visit, world):
    shop = visit("shop")
    stock = world.shop.categories["Kettles"]
    assert names(shop.get("/search", params={"q": stock[3].name.lower()})) == [stock[3].name]
    assert "No products found" in shop.get("/search", params={"q": "nothing like it"}).text

    first, second = shop.get("/category/Kettles"), shop.get("/category/Kettles?page=2")
    listed = [name for name in names(first) + names(second) if name in world.shop.products]
    assert listed == [product.name for product in stock]
    by_price = sorted(stock, key=lambda product: product.price_cents)
    assert names(shop.get("/category/Kettles?order=Lowest+price"))[0] == by_price[0].name
    assert names(shop.get("/category/Kettles?order=Highest+price"))[0] == by_price[-1].name
    affordable = {product.name for product in stock if product.price_cents < 4000}
    assert set(names(shop.get("/category/Kettles?budget=Below+40+EUR"))) == affordable


def test_menus_stand_in_an_order_of_the_visitor_or_of_the_run(visit):
    ways = {tuple(names(visit("forum").get("/"))) for _ in range(6)}
    assert len(ways) > 1
    task = Task("1", "q", "http://forum.localhost:7070/")
    cookie = order_cookie(task, seed=5)
    repeated = set()
    for _ in range(3):
        forum = visit("forum")
        forum.cookies.set(cookie["name"], cookie["value"])
        repeated.add(tuple(names(forum.get("/"))))
    assert len(repeated) == 1
    assert order_cookie(Task("1", "q", "https://example.com/"), seed=5) is None


def test_a_cart_belongs_to_one_visitor(visit, world):
    one, other = visit("shop"), visit("shop")
    product = world.shop.products[next(iter(world.shop.products))]
    order = {"product": product.name, "colour": product.colours[1], "quantity": "3"}
    page = one.post("/cart/add", data=order)
    assert "Added to the cart" in page.text and f"Total: {euros(3 * product.price_cents)}" in page.text
    assert state(one) == {"cart": [{**order, "quantity": 3}]}
    assert state(other) == {"cart": []}
    one.post("/cart/remove", data={"line": "1"})
    assert state(one) == {"cart": []}


def test_an_order_for_what_is_not_offered_changes_nothing(visit, world):
    shop = visit("shop")
    product = next(iter(world.shop.products.values()))
    for wrong in ({"product": "Nonsense"}, {"colour": "plaid"}, {"quantity": "999"}):
        order = {"product": product.name, "colour": product.colours[0], "quantity": "1"} | wrong
        assert shop.post("/cart/add", data=order).status_code == 404
    assert state(shop) == {"cart": []}


def test_voting_and_replying(visit, world):
    forum = visit("forum")
    thread = next(iter(world.forum.threads.values()))
    address = f"/thread/{thread.title}"
    page = forum.post(f"{address}/vote")
    assert "Vote counted" in page.text and f"Votes: {thread.num_votes + 1}" in page.text
    page = forum.post(f"{address}/reply", data={"text": " So do <I>\r\n"})
    assert "Reply posted" in page.text
    assert "you wrote: So do &lt;I&gt;" in forum.get(f"/late/replies/{thread.title}").text
    assert state(forum) == {"votes": [thread.title], "replies": [{"thread": thread.title, "text": "So do <I>"}]}
    forum.post(f"{address}/vote")
    assert state(forum)["votes"] == []


def test_journeys_and_bookings(visit, world):
    timetable = visit("timetable")
    (origin, destination), trains = next(iter(world.timetable.connections.items()))
    found = timetable.get("/late/journeys", params={"origin": origin.lower(), "destination": destination}).text
    departures = re.findall(r"Departs: (\d\d:\d\d)", found)
    assert departures == sorted(departures) == [train.departure for train in trains]
    assert f"Platform: {trains[0].platform}" in timetable.get("/live", params={"q": trains[0].name}).text
    booking = {"train": trains[0].name, "passenger": "Ada Velod", "travel_class": "First"}
    assert "Seat booked" in timetable.post(f"/train/{trains[0].name}/book", data=booking).text
    timetable.post(f"/train/{trains[0].name}/book", data={**booking, "travel_class": "Roof"})
    assert state(timetable) == {"bookings": [booking]}


def test_tabs_and_other_late_content_come_after_the_page(visit, world):
    article = next(iter(world.encyclopedia.articles.values()))
    encyclopedia = visit("encyclopedia")
    page = encyclopedia.get("/search", params={"q": article.title.lower()})
    assert f"<h1>{article.title}</h1>" in page.text
    for tab, facts in article.tabs.items():
        started = time.monotonic()
        content = encyclopedia.get(f"/tab/{article.title}/{tab}").text
        assert time.monotonic() - started >= 0.15
        for label, value in facts.items():
            assert f"{label}: {value}" in content and f"{label}: {value}" not in page.text


@pytest.mark.parametrize("site", SITES)
def test_nonsense_is_answered_politely(visit, site):
    client = visit(site)
    paths = ["/search?page=-1", "/search?q=%00%ff&page=" + "9" * 6000, "/product/%2e%2e", "/article/x", "/tab/x/y"]
    paths += [
        "/category/x?page=0",
        "/board/x",
        "/thread/x/vote",
        "/train/x/book",
        "/late/journeys?origin=a",
        "/cart/add",
    ]
    paths += ["/late/replies/x", "/late/delivery/x", "/_static/../app.py", "/live?q=%3Cb%3E", "/cart?added=<script>"]
    for path in paths:
        for answer in (client.get(path), client.post(path, content=b"\xff=&line=0&page=1e9")):
            assert answer.status_code in (200, 404, 405), f"{path}: {answer.status_code}"
            assert "<script>" not in answer.text and "Traceback" not in answer.text
    assert not any(state(client).values())


def test_old_sessions_make_room():
    sessions = Sessions(list, capacity=2)
    one, first_state = sessions.state(None)
    two, _ = sessions.state(None)
    first_state.append("kept")
    assert sessions.state(one) == (one, ["kept"])
    sessions.state(None)  # the session not used for longest, two, goes
    assert sessions.state(one) == (one, ["kept"])
    assert sessions.state(two)[0] != two


def test_a_taken_port_is_one_clear_line(spawn):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        child = spawn("-m", "environments.sites", "--port", port, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        out, complaint = child.communicate(timeout=60)
    assert child.returncode == 2 and out == ""
    assert re.fullmatch(rf"error: cannot listen on 127.0.0.1:{port} .*; give another --port\n", complaint)


def test_another_programs_port_is_not_taken_for_the_websites(spawn: Callable[..., subprocess.Popen]) -> None:
    """Neither by tasks that begin there, nor where they are served again."""
    phone = spawn("-m", "environments.touch", "--port", 0, stdout=subprocess.PIPE)
    port = int(re.search(r":(\d+)/", phone.stdout.readline())[1])
    assert list(sites_at(port)) == ["phone"]
    check_embedded_sites([Task("1", "q", f"http://phone.localhost:{port}/")])
    with pytest.raises(UserError, match=f"no websites answer on port {port} \\(another program does\\)"):
        check_embedded_sites([Task("1", "q", f"http://shop.localhost:{port}/")])
    with (
        pytest.raises(UserError, match=f"port {port}, where the tasks' websites were, is another program's now"),
        served_again("environments.sites", "shop", port),
    ):
        pass
    with served_again("environments.touch", "phone", port):
        assert phone.poll() is None


def test_pages_take_as_long_as_is_asked(spawn: Callable[..., subprocess.Popen]) -> None:
    server = spawn("-m", "environments.sites", "--port", 0, "--delay_s", 0.3, stdout=subprocess.PIPE)
    port = int(re.search(r":(\d+)/", server.stdout.readline())[1])
    began = time.monotonic()
    answer = httpx.get(f"http://127.0.0.1:{port}/", headers={"Host": f"shop.localhost:{port}"})
    assert answer.status_code == 200 and time.monotonic() - began >= 0.3
