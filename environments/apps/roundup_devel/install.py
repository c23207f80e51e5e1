"""Roundup with another skin: server, tasks and judgment are those of the first."""

import dataclasses

from environments.apps.roundup.install import ABOUT as FIRST

ABOUT = dataclasses.replace(FIRST, title="Roundup, devel skin", like="roundup", held_out=True)
