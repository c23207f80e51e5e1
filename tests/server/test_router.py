"""Where a request goes when there are several replicas."""

import json

from server.replicas import Replica, Router, session_of


def test_sessions_stay_and_new_ones_go_where_least_is_under_way() -> None:
    one, other = Replica([], url="one"), Replica([], url="other")
    router = Router([one, other], slack=2)
    one.in_flight = 1
    assert router.choose("a") is other
    other.in_flight = 3
    assert router.choose("a") is other and router.choose("b") is one and router.choose(None) is one
    other.in_flight = 4  # waiting there would cost more than reading again elsewhere
    assert router.choose("a") is one
    other.in_flight = 0
    assert router.choose("a") is one
    one.url = ""
    assert router.choose("a") is other
    other.url = ""
    assert router.choose("a") is None


def test_what_names_an_episode() -> None:
    def named(body: object, **headers: str) -> str | None:
        return session_of({name.replace("_", "-"): value for name, value in headers.items()}, json.dumps(body).encode())

    assert named({"id": "taskShop--3"}) == "taskShop--3"
    assert named({"user": "u", "messages": []}) == "u"
    assert named({"id": "x"}, x_session_id="y") == "y"
    first = {"role": "user", "content": "Find it.\nOBSERVATION:\n<image>\n[1] link"}
    later = {"role": "user", "content": "Find it.\nOBSERVATION: screenshot omitted, accessibility tree omitted."}
    assert named({"conversations": [first]}) == named({"conversations": [later, first]}) == "Find it."
    parts = [{"type": "text", "text": "Now given a task: x \nObservation"}, {"type": "image_url"}]
    assert named({"messages": [{"role": "system", "content": "s"}, {"role": "user", "content": parts}]})
    for broken in ({}, [], 3, {"messages": 3}, {"messages": [{"role": "user"}]}):
        assert named(broken) is None
    assert session_of({}, b"{") is None
