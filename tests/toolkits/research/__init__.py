"""The field's sets of demonstrations, each rebuilt small by ourselves by its published layout.

Read `screens.py` first.
"""

from collections.abc import Callable
from pathlib import Path

from tests.toolkits.research.os_genesis import os_genesis, os_genesis_web
from tests.toolkits.research.phones import aitw, android_control, gui_odyssey
from tests.toolkits.research.pointing import os_atlas, screenspot, uground
from tests.toolkits.research.programs import agentnet, aguvis
from tests.toolkits.research.recordings import playwright_trace, weblinx
from tests.toolkits.research.websites import fara, multimodal_mind2web

RESEARCH: dict[str, Callable[[Path], list[str]]] = {
    one.__name__: one
    for one in (
        *(multimodal_mind2web, aguvis, android_control, os_atlas, uground, screenspot, agentnet, aitw, gui_odyssey),
        *(weblinx, playwright_trace, os_genesis, os_genesis_web, fara),
    )
}
"""By name of the format, what writes such files into a folder and says which of them are to be imported."""
