"""The pages that collection benchmarks browse, served by a process of its own so that its CPU is nobody's.

/shop/<n>   about 190 accessibility nodes, 8 images, one late request; the link `Next page` leads to /shop/<n + 1>
/n300/<n>   60 times link, button, text: 300 nodes, 120 marks
"""

import io
import random
import sys

import uvicorn
from PIL import Image
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import HTMLResponse, PlainTextResponse, Response
from starlette.routing import Route

from benchmarks.child_server import ChildServer
from common.processes import die_with_parent

WORDS = "red blue shoe lamp chair train rome search price offer cheap new garden desk bottle clock ticket".split()


class Site(ChildServer):
    """Use as `with Site() as site`."""

    def __init__(self) -> None:
        super().__init__("benchmarks.collection_site")

    @property
    def host(self) -> str:
        """As `--private_hosts` lists it."""
        return f"127.0.0.1:{self.port}"

    def url(self, page: str) -> str:
        """The first page of that kind."""
        return f"http://{self.host}/{page}/0"


def shop(request: Request) -> Response:
    number = request.path_params["number"]
    rng = random.Random(number)
    cards = "".join(
        f'<article><img src="/image/{(number + i) % 40}.jpg" alt="{_words(rng, 2)}"><h3>{_words(rng, 3)}</h3>'
        f"<p>{_words(rng, 8)}</p><p>{rng.randrange(5, 90)}.50</p>"
        f'<button>Add {_words(rng, 1)}</button> <a href="/shop/{number}#{i}">Details {i}</a></article>'
        for i in range(8)
    )
    menu = "".join(f'<li><a href="/shop/{number + 2 + i}">{_words(rng, 2)} {i}</a></li>' for i in range(6))
    return HTMLResponse(f"""<!doctype html><title>Shop {number}</title>
        <style>main {{ display: grid; grid-template-columns: repeat(4, 1fr); gap: 8px }} img {{ width: 100% }}
        article {{ border: 1px solid #ccc; font: 12px sans-serif }}</style>
        <a id="next" href="/shop/{number + 1}">Next page</a>
        <form><input name="q" aria-label="Search"><select><option>Any price<option>Cheap</select></form>
        <ul>{menu}</ul><main>{cards}</main><p id="late"></p>
        <script>addEventListener("load", () => fetch("/late").then((a) => a.text()).then((t) => late.textContent = t))
        </script>""")


def n300(request: Request) -> Response:
    number = request.path_params["number"]
    items = "".join(f'<a href="/n300/{i}">l{i}</a><button>b{i}</button><span>t{i}</span> ' for i in range(60))
    return HTMLResponse(
        f'<!doctype html><title>n300</title><a id="next" href="/n300/{number + 1}">Next page</a><p>{items}</p>'
    )


def image(request: Request) -> Response:
    rng = random.Random(request.path_params["number"])
    picture = Image.frombytes("RGB", (8, 6), rng.randbytes(8 * 6 * 3)).resize((240, 180))
    buffer = io.BytesIO()
    picture.save(buffer, "JPEG", quality=85)
    return Response(buffer.getvalue(), media_type="image/jpeg", headers={"Cache-Control": "max-age=3600"})


def _words(rng: random.Random, count: int) -> str:
    return " ".join(rng.choices(WORDS, k=count))


def main() -> None:
    """Serve on the port given."""
    die_with_parent()
    routes = [
        Route("/shop/{number:int}", shop),
        Route("/n300/{number:int}", n300),
        Route("/image/{number:int}.jpg", image),
        Route("/late", lambda request: PlainTextResponse("came late")),
    ]
    uvicorn.run(Starlette(routes=routes), port=int(sys.argv[1]), log_level="warning", access_log=False)


if __name__ == "__main__":
    main()
