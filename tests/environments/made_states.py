"""States of applications as they begin, made without the applications: what our content says of them."""

from typing import Any

from environments.apps.fava import check as fava_check
from environments.apps.fava import content as fava
from environments.apps.fossil import content as fossil
from environments.apps.hledger import check as hledger_check
from environments.apps.hledger import content as hledger
from environments.apps.mediawiki import content as mediawiki
from environments.apps.roundup import content as roundup
from environments.apps.tiddlywiki import check as tiddlywiki_check
from environments.apps.tiddlywiki import content as tiddlywiki
from environments.apps.trac import content as trac


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


MADE_STATES = {
    "fava": fava_check.parse(fava.written(fava.make())),
    "fossil": _fossil(),
    "hledger": hledger_check.parse(hledger.written(hledger.make())),
    "mediawiki": _mediawiki(),
    "roundup": _roundup(),
    "roundup_devel": _roundup(),
    "tiddlywiki": _tiddlywiki(),
    "trac": _trac(),
}
