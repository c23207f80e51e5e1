"""What a visitor of the forum sees and does."""

import dataclasses

from starlette.responses import HTMLResponse, Response

from environments.sites import markup as m
from environments.sites.forum.content import Forum, Thread
from environments.sites.visits import Handler, Visit, go_to, matches, paginate

BRAND = "Campfire"
PAGE_SIZE = 6
_ORDERS = {
    "Newest": lambda thread: 0,
    "Most viewed": lambda thread: -thread.num_views,
    "Most votes": lambda thread: -thread.num_votes,
}


@dataclasses.dataclass
class Reply:
    thread: str
    text: str


@dataclasses.dataclass
class State:
    """What a session has done."""

    replies: list[Reply] = dataclasses.field(default_factory=list)
    votes: list[str] = dataclasses.field(default_factory=list)


class Pages:
    """The forum's pages over its content."""

    def __init__(self, forum: Forum):
        self.forum = forum

    def pages(self) -> dict[str, Handler]:
        return {
            "/": self.home,
            "/search": self.search,
            "/board/{board}": self.board,
            "/thread/{thread}": self.thread,
            "/thread/{thread}/vote": self.vote,
            "/thread/{thread}/reply": self.reply,
            "/activity": self.activity,
        }

    def late(self) -> dict[str, Handler]:
        return {"/late/replies/{thread}": self.replies}

    def home(self, visit: Visit) -> str:
        boards = "".join(
            m.box(m.link(board, m.url(f"/board/{board}")), "") for board in visit.popular(self.forum.boards)
        )
        welcome = m.title("Boards") + m.text("Pick a board, read along, and say hello.")
        return _page("Welcome", welcome + m.box(boards, "boards"))

    def search(self, visit: Visit) -> str:
        query = visit.fields.get("q", "")
        found, page, num_pages = paginate(matches(query, self.forum.threads), visit.number("page"), PAGE_SIZE)
        rows = "".join(_row(self.forum.threads[title]) for title in found) or m.text("No threads found")
        return _page("Search results", m.title("Search results") + rows + m.pager(page, num_pages, "/search", q=query))

    def board(self, visit: Visit) -> str | Response:
        board = visit.path["board"]
        if board not in self.forum.boards:
            return _missing()
        threads = [self.forum.threads[title] for title in self.forum.boards[board]]
        order = visit.choice("order", _ORDERS)
        shown, page, num_pages = paginate(sorted(threads, key=_ORDERS[order]), visit.number("page"), PAGE_SIZE)
        tools = m.form(m.url(f"/board/{board}"), m.select("Order", "order", _ORDERS, order, submits=True), method="get")
        pager = m.pager(page, num_pages, f"/board/{board}", order=order)
        return _page(board, m.title(board) + tools + "".join(map(_row, shown)) + pager)

    def thread(self, visit: Visit) -> str | Response:
        thread = self.forum.threads.get(visit.path["thread"])
        if thread is None:
            return _missing()
        voted = thread.title in visit.state.votes
        num_votes = thread.num_votes + voted
        address = f"/thread/{thread.title}"
        facts = {"Author": thread.author, "Views": str(thread.num_views), "Votes": str(num_votes)}
        meta = m.box("".join(m.text(f"{label}: {value}") for label, value in facts.items()), "meta")
        vote = m.form(m.url(f"{address}/vote"), "", "Take back vote" if voted else "Upvote")
        answer = m.form(m.url(f"{address}/reply"), m.text_area("Your reply", "text"), "Post reply")
        notice = m.text(_NOTICES[visit.fields["done"]], "notice") if visit.fields.get("done") in _NOTICES else ""
        main = notice + m.title(thread.title) + m.box(meta + m.text(thread.opening) + vote, "post")
        main += m.late(m.url(f"/late/replies/{thread.title}")) + m.box(answer, "post")
        return _page(thread.title, main)

    def replies(self, visit: Visit) -> str:
        thread = self.forum.threads.get(visit.path["thread"])
        if thread is None:
            return ""
        mine = [("you", reply.text) for reply in visit.state.replies if reply.thread == thread.title]
        return "".join(m.box(m.text(f"{author} wrote: {said}"), "post") for author, said in [*thread.replies, *mine])

    def vote(self, visit: Visit) -> Response:
        title, votes = visit.path["thread"], visit.state.votes
        if title not in self.forum.threads:
            return _missing()
        if title in votes:
            votes.remove(title)
            return go_to(m.url(f"/thread/{title}"))
        votes.append(title)
        return go_to(m.url(f"/thread/{title}", done="vote"))

    def reply(self, visit: Visit) -> Response:
        title, said = visit.path["thread"], " ".join(visit.fields.get("text", "").split())
        if title not in self.forum.threads or not said:
            return _missing()
        visit.state.replies.append(Reply(title, said))
        return go_to(m.url(f"/thread/{title}", done="reply"))

    def activity(self, visit: Visit) -> str:
        rows = [_row(self.forum.threads[title]) for title in visit.state.votes]
        rows += [m.box(m.text(f"{reply.text} ({reply.thread})"), "post") for reply in visit.state.replies]
        return _page("My activity", m.title("My activity") + ("".join(rows) or m.text("Nothing yet")))


_NOTICES = {"vote": "Vote counted", "reply": "Reply posted"}


def _row(thread: Thread) -> str:
    about = m.text(f"{thread.num_votes} points")
    return m.box(m.link(thread.title, m.url(f"/thread/{thread.title}")) + about, "thread")


def _page(title: str, main: str) -> str:
    header = m.logo(BRAND) + m.search_box("Search threads") + m.link("My activity", "/activity")
    return m.document("forum", BRAND, title, header, main)


def _missing() -> Response:
    return HTMLResponse(_page("Not found", m.text("There is no such thread or board")), 404)
