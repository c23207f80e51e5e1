"""The ASGI app: the phone at phone.localhost, beside the embedded websites that its browser opens."""

from starlette.applications import Starlette
from starlette.responses import Response

from environments.sites.app import create_app as create_sites
from environments.sites.visits import Visit, go_to, site
from environments.touch import markup
from environments.touch.address import NAME
from environments.touch.apps import browser, calendar, clock, contacts, home, mail, notes, settings, shop
from environments.touch.phone import web
from environments.touch.session import Session, screens

_APPS = (home, settings, clock, contacts, notes, calendar, mail, shop)
_STATIC = {"style.css": (markup.STYLE, "text/css"), "touch.js": (markup.SCRIPT, "text/javascript")}


def create_app(port: int) -> Starlette:
    """`port` is where it will answer."""
    shows = browser.screens(port)
    for app in _APPS:
        shows |= app.screens()
    pages = {**screens(shows), "/start/{seed:int}": _start, "/_touch/{name}": _static}
    sites = create_sites(web(), names=[NAME])  # its shop has other goods than the embedded one
    sites.router.routes.insert(0, site(NAME, Session, pages, {}, tell=Session.state))
    return sites


def _start(visit: Visit) -> Response:
    visit.state.start(int(visit.path["seed"]))
    return go_to("/")


def _static(visit: Visit) -> Response:
    if visit.path["name"] not in _STATIC:
        return Response("Not Found", 404)
    content, media_type = _STATIC[visit.path["name"]]
    return Response(content, media_type=media_type, headers={"Cache-Control": "max-age=3600"})
