"""States of applications as they begin, made without the applications: what our content says of them."""

from datetime import datetime, timedelta
from typing import Any

from environments.apps.fava import check as fava_check
from environments.apps.fava import content as fava
from environments.apps.fossil import content as fossil
from environments.apps.hledger import check as hledger_check
from environments.apps.hledger import content as hledger
from environments.apps.machina import content as machina
from environments.apps.mail import content as mail
from environments.apps.mediawiki import content as mediawiki
from environments.apps.oscar import content as oscar
from environments.apps.pretalx import content as pretalx
from environments.apps.pretalx.instances import state_mails
from environments.apps.roundup import content as roundup
from environments.apps.tiddlywiki import check as tiddlywiki_check
from environments.apps.tiddlywiki import content as tiddlywiki
from environments.apps.trac import content as trac
from environments.apps.wagtail import content as wagtail


def _trac() -> list[dict[str, Any]]:
    made, records = trac.make(), []
    for number, fields in enumerate(made.tickets, start=1):
        ticket = {"kind": "ticket", "id": number, **fields}
        del ticket["day"]
        records.append(ticket)
        if ticket["status"] == "closed":
            records.append({"kind": "comment", "ticket": number, "author": ticket["owner"], "text": "Done."})
    for name, text in made.pages.items():
        records.append({"kind": "page", "name": name, "version": 1, "author": "bo", "text": text, "readonly": 0})
    for name in ("TracLinks", "TracReports", "WikiFormatting", "WikiStart"):  # of the handbook that Trac brings
        handbook = {"author": "trac", "text": f"= {name}", "readonly": 1}
        records.append({"kind": "page", "name": name, "version": 1, **handbook})
    records += [{"kind": "component", "name": n, "owner": o, "description": ""} for n, o in made.components.items()]
    return records


def _fossil() -> list[dict[str, Any]]:
    made, records = fossil.make(), []
    for fields in made.tickets:
        about = {name: value for name, value in fields.items() if name != "user"}
        records.append({"kind": "ticket", **about, "subsystem": ""})
    for name, (author, text) in made.pages.items():
        records.append({"kind": "page", "name": name, "author": author, "text": text.strip()})
    records += [
        {"kind": "check-in", "user": one.user, "comment": one.comment, "release": one.release} for one in made.changes
    ]
    return records


def _machina() -> list[dict[str, Any]]:
    made = machina.make()
    names = [name for category, forums in made.forums.items() for name in (category, *forums)]
    parents = {name: category for category, forums in made.forums.items() for name in forums}
    records = [{"kind": "forum", "name": n, "description": "", "parent": parents.get(n, "")} for n in names]
    kept = {"enable_signature": "yes", "username": "", "update_reason": ""}
    posts: list[dict[str, Any]] = []
    for number, topic in enumerate(made.topics, start=1):
        subject, poll = topic["subject"], topic.get("poll")
        about = {"subject": subject, "slug": subject.lower().replace(" ", "-"), "poster": topic["posts"][0]["poster"]}
        state = {"type": 0, "status": "locked" if topic["locked"] else "open", "approved": "yes"}
        records.append({"kind": "topic", "id": number, **about, "forum": topic["forum"], **state})
        for place, post in enumerate(topic["posts"]):
            posts.append(
                {"topic": subject, "subject": f"Re: {subject}" if place else subject, "approved": "yes", **post}
            )
        if poll:
            asked = {"topic": subject, "question": poll["question"], "duration": "", "max_options": 1}
            records.append({"kind": "poll", **asked, "user_changes": 0, "hide_results": 0})
            records += [{"kind": "option", "question": poll["question"], "text": text} for text in poll["options"]]
    posts += [{**post, "approved": "no"} for post in made.waiting]
    records += [{"kind": "post", "id": number, **post, **kept} for number, post in enumerate(posts, start=1)]
    records += [{"kind": "subscription", "topic": topic, "member": machina.AGENT} for topic in made.subscribed]
    rights = {"is_staff": 0, "is_superuser": 0, "is_active": 1}
    for number, name in enumerate(made.members, start=1):
        about = {"id": number, "name": name, "signature": made.signatures.get(name, ""), "avatar": "", "email": ""}
        records.append({"kind": "member", **about, **rights})
    return records


def _mail() -> list[dict[str, Any]]:
    made, people = mail.make(), {mail.AGENT: mail.ADDRESS, **mail.PEOPLE}
    empty = dict.fromkeys(("cc", "bcc", "answers"), "")
    folders = ("INBOX", "Drafts", "Sent", "Junk", "Trash", *mail.FOLDERS)
    records: list[dict[str, Any]] = [{"kind": "folder", "name": name, "shown": "yes"} for name in folders]
    for one in made.mails:
        about = {"id": f"{one.number}.{one.folder.lower()}", "folder": one.folder, "subject": one.subject}
        known = {"from": people[one.sender], "to": people[one.recipient], "text": " ".join(one.text.split())}
        marks = {name: "yes" if held else "no" for name, held in (("seen", one.seen), ("flagged", one.flagged))}
        more = {"files": one.file, "answered": "no", "forwarded": "no"}
        records.append({"kind": "mail", **about, **known, **empty, **marks, **more})
    for name, address in mail.PEOPLE.items():
        first, last = name.split()
        about = {"name": name, "firstname": first, "surname": last, "email": address}
        records.append({"kind": "contact", **about, "telephone": made.telephones[name]})
    for name, members in mail.GROUPS.items():
        records.append({"kind": "group", "name": name})
        records += [{"kind": "member", "group": name, "contact": member} for member in members]
    unset = dict.fromkeys(("organization", "reply_to", "bcc", "signature"), "")
    for name, address in mail.IDENTITIES.items():
        records.append(
            {"kind": "identity", "name": name, "email": address, "standard": int(name == mail.AGENT), **unset}
        )
    return records


def _mediawiki() -> list[dict[str, Any]]:
    made, records, number = mediawiki.make(), [], 1  # the version that a new wiki begins with
    for title, versions in made.pages.items():
        first = number + 1
        for version in versions:
            number += 1
            about = {"user": version.user, "text": version.text, "summary": version.summary}
            records.append({"kind": "version", "number": number, **about})
        history = " ".join(map(str, range(first, number + 1)))
        if title != "Main Page":
            newest = {"editor": versions[-1].user, "text": versions[-1].text}
            records.append({"kind": "page", "title": title, **newest, "history": history})
    return records + [{"kind": "watched", "title": title, "user": mediawiki.AGENT} for title in made.watched]


def _oscar() -> list[dict[str, Any]]:
    made = oscar.make()
    price = {product["title"]: float(product["price"]) for product in made.products}
    records: list[dict[str, Any]] = []
    for number, fields in enumerate(made.products, start=1):
        product = {name: value for name, value in fields.items() if name != "color"}
        known = {"upc": f"D{number:03}", "slug": fields["title"].lower().replace(" ", "-"), "is_public": 1}
        records.append({"kind": "product", "id": number, **product, **known})
    for number, order in enumerate(made.orders, start=1):
        to = made.addresses[order["to"]]
        total = sum(quantity * price[title] for title, quantity in order["lines"].items())
        about = {
            "lines": ", ".join(f"{quantity} {title}" for title, quantity in sorted(order["lines"].items())),
            "sent_to": f"{to['first_name']} {to['last_name']}, {to['line1']}, {to['postcode']} {to['city']}",
            "total": f"{total:.2f}",
        }
        customer = {"customer": order["customer"], "status": order["status"], "shipping": "free-shipping"}
        records.append({"kind": "order", "number": str(100000 + number), **customer, **about, "guest_email": ""})
    empty = dict.fromkeys(("title", "line2", "line3", "state", "phone", "notes", "ships", "bills"), "")
    records += [{"kind": "address", "customer": oscar.AGENT, **empty, **address} for address in made.addresses]
    line = {"kind": "basket line", "customer": oscar.AGENT, "status": "Open"}
    records += [{**line, "product": title, "quantity": str(quantity)} for title, quantity in made.basket.items()]
    for name, titles in made.lists.items():
        records.append({"kind": "wish list", "name": name, "customer": oscar.AGENT, "visibility": "Private"})
        records += [{"kind": "wish", "list": name, "product": title, "quantity": 1} for title in titles]
    return records


def _pretalx() -> list[dict[str, Any]]:
    made = pretalx.make()
    nothing = dict.fromkeys(("pending_state", "description", "notes", "internal_notes", "duration", "image"), "")
    unset = {"slot_count": 1, "content_locale": "en", "is_featured": 0, "do_not_record": 0, "anonymised_data": ""}
    records: list[dict[str, Any]] = []
    for one in made.proposals:
        said = {name: one[name] for name in ("code", "title", "type", "track", "state", "abstract")}
        joined = {name: ", ".join(one[name]) for name in ("speakers", "tags")}
        proposal = {"kind": "proposal", **said, **nothing, **unset, **joined}
        records.append(proposal)
        for review in one["reviews"]:
            about = {"by": review["by"], "text": review["text"], "score": review["label"]}
            records.append({"kind": "review", "proposal": one["code"], **about})
        if one["state"] in ("accepted", "rejected"):
            records += state_mails(proposal, one["state"])
        if one["state"] in ("accepted", "confirmed"):
            records += [_pretalx_slot(one, version) for version in ("", made.version)]
    empty = dict.fromkeys(("description", "speaker_info", "guid"), "")
    records += [{"kind": "room", "name": name, "capacity": str(most), **empty} for name, most in made.rooms.items()]
    for name, text in made.tags.items():
        about = {"name": name, "description": text, "color": made.colors[name], "is_public": 0}
        records.append({"kind": "tag", **about})
    for name, minutes in made.types.items():
        about = {"name": name, "duration": str(minutes), "deadline": "", "requires_access_code": 0}
        records.append({"kind": "type", **about})
    for one in made.speakers:
        known = {"name": one["name"], "email": pretalx.address_of(one["name"]), "biography": one["biography"]}
        arrived = "yes" if one["arrived"] else "no"
        records.append({"kind": "speaker", **known, "arrived": arrived, "internal_notes": ""})
    return records


def _pretalx_slot(one: dict[str, Any], version: str) -> dict[str, Any]:
    when = {"start": "", "end": ""}
    if one["room"]:
        start = datetime.fromisoformat(f"{one['day']} {one['time']}")
        end = start + timedelta(minutes=pretalx.minutes_of(one))
        when = {"start": start.isoformat(" ", "minutes"), "end": end.isoformat(" ", "minutes")}
    about = {"version": version, "proposal": one["code"], "room": one["room"]}
    return {"kind": "slot", **about, **when, "description": ""}


def _roundup() -> list[dict[str, Any]]:
    unset = {"keywords": "", "dependencies": "", "superseder": "", "retired": 0}
    return [
        {"kind": "bug", "id": number, **fields, **unset} for number, fields in enumerate(roundup.make().bugs, start=1)
    ]


def _tiddlywiki() -> list[dict[str, Any]]:
    return [
        tiddlywiki_check.record({"title": page.title, "text": page.text, "tags": tiddlywiki_check.written(page.tags)})
        for page in tiddlywiki.make()
    ]


def _wagtail() -> list[dict[str, Any]]:
    made = wagtail.make()
    empty = dict.fromkeys(("seo_title", "search_description", "go_live_at", "expire_at"), "")
    records: list[dict[str, Any]] = []
    for number, page in enumerate(made.pages, start=3):  # below the root and the start page
        known = {"id": number, "type": page["type"], "parent": page["parent"] or made.home}
        in_menus = "no" if page["parent"] else "yes"
        said = {"title": page["title"], "slug": wagtail.slug(page["title"]), "show_in_menus": in_menus, **empty}
        about = {"status": "live" if page["live"] else "draft", "locked": "no"}
        records.append({"kind": "page", **known, **about, **said, **page["fields"]})
        if page["waiting"]:
            records.append({"kind": "changes", **known, **said, **page["fields"], **page["waiting"]})
    records += [{"kind": "person", **person} for person in made.people]
    records += [{"kind": "category", "name": name, "description": text} for name, text in made.categories.items()]
    numbers = {page["title"]: page["id"] for page in records if page["kind"] == "page"}
    for old, title in made.redirects.items():
        about = {"old_path": old, "page": numbers[title], "is_permanent": 1}
        records.append({"kind": "redirect", **about, "link": "", "route": "", "site": ""})
    return records


MADE_STATES = {
    "fava": fava_check.parse(fava.written(fava.make())),
    "fossil": _fossil(),
    "hledger": hledger_check.parse(hledger.written(hledger.make())),
    "machina": _machina(),
    "mail": _mail(),
    "mediawiki": _mediawiki(),
    "oscar": _oscar(),
    "pretalx": _pretalx(),
    "roundup": _roundup(),
    "roundup_devel": _roundup(),
    "tiddlywiki": _tiddlywiki(),
    "trac": _trac(),
    "wagtail": _wagtail(),
}
