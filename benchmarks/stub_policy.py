"""A model server that thinks for a set time and then clicks `Next page`, a set number of times, and answers.

It counts its replies by trajectory, so that a benchmark can ask whether any step was lost or taken twice.
"""

import asyncio
import re
import sys
import urllib.request
from collections import Counter

import orjson
import uvicorn
from starlette.applications import Starlette
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, PlainTextResponse
from starlette.routing import Route

from benchmarks.child_server import ChildServer
from common.processes import die_with_parent

NEXT = re.compile(r"\[(\d+)\] link 'Next page'")


class StubPolicy(ChildServer):
    """Use as `with StubPolicy(steps, think_s) as policy`; a process of its own."""

    def __init__(self, steps: int, think_s: float):
        super().__init__("benchmarks.stub_policy", steps, think_s)
        self.url = f"http://127.0.0.1:{self.port}/predict"

    def replies(self) -> dict[str, int]:
        """Replies given so far, by trajectory folder."""
        with urllib.request.urlopen(self.url, timeout=30) as answer:
            return orjson.loads(answer.read())


def create_app(steps: int, think_s: float) -> Starlette:
    replies: Counter[str] = Counter()

    async def predict(request: Request) -> JSONResponse:
        try:
            body = orjson.loads(await request.body())
        except ClientDisconnect:
            return JSONResponse({}, 499)
        turns = body["conversations"]
        await asyncio.sleep(think_s)
        replies[body["id"]] += 1
        found = NEXT.search(turns[-1]["content"])
        is_last = sum(turn["role"] == "assistant" for turn in turns) + 1 >= steps
        action = "ANSWER; done" if is_last else f"Click [{found[1]}]" if found else "Wait"
        return JSONResponse({"text": f"Thought: on.\n\nAction: {action}", "prompt_tokens": 1, "completion_tokens": 1})

    async def tell(request: Request) -> JSONResponse:
        return JSONResponse(dict(replies))

    health = Route("/health", lambda request: PlainTextResponse("ok"))
    return Starlette(routes=[Route("/predict", predict, methods=["POST"]), Route("/predict", tell), health])


def main() -> None:
    """Serve on the port given: python -m benchmarks.stub_policy PORT STEPS THINK_S"""
    die_with_parent()
    app = create_app(int(sys.argv[2]), float(sys.argv[3]))
    uvicorn.run(app, port=int(sys.argv[1]), log_level="warning", access_log=False)


if __name__ == "__main__":
    main()
