"""What a browser is started with."""

import asyncio
import os
from pathlib import Path

import pytest

from environments.browser.chromium import launch
from environments.browser.fleet import Fleet
from environments.browser.page.page import Viewport


def test_root_is_told_once_that_there_is_no_sandbox_and_how_to_have_one(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    launch._warn_of_root.cache_clear()

    async def two_browsers() -> None:
        fleet = Fleet(2, headless=True, viewport=Viewport(), num_browsers=2)
        async with fleet, fleet.page(0, tmp_path) as one, fleet.page(1, tmp_path) as other:
            assert one.browser is not other.browser

    asyncio.run(two_browsers())
    warnings = [line for line in capfd.readouterr().err.splitlines() if "sandbox" in line]
    assert len(warnings) == 1
    assert warnings[0].startswith("warning: running as root") and "sudo -u" in warnings[0]
