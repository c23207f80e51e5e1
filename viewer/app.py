"""The viewer's HTTP interface: one page, its scripts, and the answers they ask for. Read-only but for labels."""

import asyncio
import json
import re
from pathlib import Path
from typing import Any

from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from common.errors import UserError
from viewer.answers import Answers, NotFoundError
from viewer.door import Door
from viewer.export import trajectory_page
from viewer.film import film
from viewer.labels import write_label

PAGES = Path(__file__).parent / "pages"
_TYPES = {".html": "text/html", ".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml"}
_MAX_BODY = 20_000


def create_app(answers: Answers, token: str) -> Starlette:
    """The application, for whoever has the `token`."""
    files = {path.name: path for path in PAGES.iterdir() if path.suffix in _TYPES}

    def page(request: Request) -> Response:
        path = files.get(request.path_params.get("file", "index.html"))
        if path is None:
            return PlainTextResponse("no such page", 404)
        return Response(path.read_bytes(), media_type=_TYPES[path.suffix])

    def answer(request: Request) -> Response:
        return Response(
            answers.answer(request.path_params["what"], request.query_params), media_type="application/json"
        )

    def screenshot(request: Request) -> Response:
        return Response(answers.screenshot(request.query_params), media_type="image/png")

    def thumbnail(request: Request) -> Response:
        kept = {"cache-control": "private, max-age=3600, immutable"}  # its address says when the picture was taken
        return Response(answers.thumbnail(request.query_params), media_type="image/jpeg", headers=kept)

    def tile(request: Request) -> Response:
        return Response(answers.tile(request.query_params), media_type="image/jpeg")

    def export(request: Request) -> Response:
        found = json.loads(answers.answer("trajectory", request.query_params))
        content = trajectory_page(answers, found, with_tokens=True)
        return Response(content, media_type="text/html", headers=_named(found, "html"))

    def moving(request: Request) -> Response:
        found = json.loads(answers.answer("trajectory", request.query_params))
        return Response(film(answers, found), media_type="image/gif", headers=_named(found, "gif"))

    async def label(request: Request) -> Response:
        body = b""
        async for part in request.stream():
            body += part
            if len(body) > _MAX_BODY:
                return PlainTextResponse("a note of at most 20,000 bytes", 413)
        one, folder = answers.found(request.query_params)
        await asyncio.to_thread(write_label, one, folder.name, body)
        return Response(status_code=204)

    routes = [
        Route("/", page),
        Route("/answer/{what}", answer),
        Route("/screenshot", screenshot),
        Route("/thumbnail", thumbnail),
        Route("/tile", tile),
        Route("/export", export),
        Route("/film", moving),
        Route("/label", label, methods=["POST"]),
        Route("/{file}", page),
    ]
    errors = {NotFoundError: _refused, UserError: _refused}
    return Starlette(routes=routes, middleware=[Middleware(Door, token=token)], exception_handlers=errors)


def _named(found: dict[str, Any], ending: str) -> dict[str, str]:
    """A file to keep, by the trajectory's name; of others' names plain characters only."""
    name = re.sub(r"[^A-Za-z0-9_-]+", "_", found["name"])[:100]
    return {"content-disposition": f'attachment; filename="{name}.{ending}"'}


def _refused(request: Request, error: Exception) -> Response:
    return PlainTextResponse(str(error), 404 if isinstance(error, NotFoundError) else 422)
