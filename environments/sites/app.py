"""The ASGI app: the sites by host name, and at plain `localhost` an index for people and `/health` for programs."""

from collections.abc import Sequence

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import HTMLResponse, PlainTextResponse, Response
from starlette.routing import Route

from environments.sites import markup
from environments.sites.content import Content
from environments.sites.encyclopedia import pages as encyclopedia
from environments.sites.forum import pages as forum
from environments.sites.gallery import pages as gallery
from environments.sites.shop import pages as shop
from environments.sites.timetable import pages as timetable
from environments.sites.visits import site

SITES = {"shop": shop, "encyclopedia": encyclopedia, "forum": forum, "timetable": timetable, "gallery": gallery}
_STATIC = {"style.css": (markup.STYLE, "text/css"), "site.js": (markup.SCRIPT, "text/javascript")}


def create_app(content: Content, delay_s: float = 0.0, names: Sequence[str] = tuple(SITES)) -> Starlette:
    """`delay_s`: what each page takes to answer. `names`: what is said of itself, by which others' websites on a port
    are told from ours."""
    hosts = []
    for name, module in SITES.items():
        pages = module.Pages(getattr(content, name))
        hosts.append(site(name, module.State, pages.pages(), pages.late(), delay_s))
    shared = [Route("/_static/{name}", _static), Route("/health", lambda request: PlainTextResponse(" ".join(names)))]
    return Starlette(routes=[*shared, *hosts, Route("/", _index)])


def _static(request: Request) -> Response:
    if request.path_params["name"] not in _STATIC:
        return PlainTextResponse("Not Found", 404)
    content, media_type = _STATIC[request.path_params["name"]]
    return Response(content, media_type=media_type, headers={"Cache-Control": "max-age=3600"})


def _index(request: Request) -> Response:
    links = [
        markup.link(module.BRAND, f"http://{name}.localhost:{request.url.port}/") for name, module in SITES.items()
    ]
    main = markup.title("Embedded sites") + markup.box("".join(links), "links")
    return HTMLResponse(markup.document("shop", "Elcano", "Embedded sites", markup.logo("Elcano"), main))
