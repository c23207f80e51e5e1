"""A server's memory follows what its tensors hold."""

import subprocess
import sys

from tests.conftest import ROOT

HOLES = """
import os, sys
import torch
from server.engine.memory.release import return_freed_memory

def resident_mb():
    return int(open("/proc/self/statm").read().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 2**20

if sys.argv[1] == "returned":
    return_freed_memory()
torch.ones(4 * 2**20)
before, kept = resident_mb(), []
for _ in range(100):  # tensors of 4 MiB, each followed by something small that stays
    large = torch.ones(2**20)
    kept.append((large, torch.ones(1000)))
del large
kept = [small for _, small in kept]
print(resident_mb() - before)
"""


def test_what_is_freed_between_things_that_stay_goes_back_to_the_system() -> None:
    def held_mb(how: str) -> float:
        command = [sys.executable, "-c", HOLES, how]
        return float(subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout)

    assert held_mb("returned") < 20
    assert held_mb("as it is") > 200  # else this test shows nothing
