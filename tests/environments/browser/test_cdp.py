"""The pipes to a browser, without one."""

import asyncio
import os

import pytest

from environments.browser.chromium.cdp import Connection
from environments.faults import BrowserError


def test_a_browser_that_reads_no_more_is_gone_although_its_children_hold_its_other_pipe() -> None:
    """So it is for a moment after kill -9."""
    (their_requests, requests), (answers, their_answers) = os.pipe(), os.pipe()

    async def go() -> None:
        connection = await Connection.open(requests, answers)
        os.close(their_requests)
        for _ in range(2):  # a pipe tells it with the first
            with pytest.raises(BrowserError):
                await connection.send("Browser.getVersion", timeout_s=0.2)
        assert connection.closed.is_set()
        await connection.close()

    asyncio.run(go())
    os.close(their_answers)
