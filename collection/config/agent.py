"""What an agent is shown of a page, and what it may do there."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

from common.errors import UserError
from common.options.limits import Checked, at_least
from data.action_spaces import NUMBERS, action_space
from data.observation import Mode, Visibility

Hidden = Literal["nothing", "screenshots", "tree"]


@dataclass(frozen=True, kw_only=True)
class AgentFlags(Checked):
    """What an agent sees and may do."""

    max_attached_imgs: Annotated[int, at_least(1)] = 1
    """Newest screenshots sent with each step."""
    text_only: bool = False
    """Send no screenshots, only accessibility trees."""
    hide: Hidden = "nothing"
    """What a test takes away to see whether the agent uses it: `screenshots` makes them gray, `tree` leaves it out. The
    trajectory is kept as the page was."""
    save_accessibility_tree: bool = False
    """Also keep accessibility_tree<N>.json, the raw nodes. The text is always kept."""
    tree_visibility: Visibility = "released"
    """Which elements count as visible: as in the released code, where a slip keeps all that overlap the viewport (its
    models were trained so, and a half visible paragraph is better read than missed), or at least 80 % of their area.
    `complete`: as released, and controls without a name, which the released code leaves out, have a number, too."""
    observation: Mode = "tree"
    """What the agent is shown: `tree`, the accessibility tree beside the screenshot (OpenWebVoyager), or `marks`,
    numbered boxes on the screenshot and the list of what they hold (WebVoyager)."""
    action_space: str = NUMBERS
    """How the agent says what it does: `webvoyager`, by elements' numbers, or by points of the screenshot alone:
    `qwen_computer_use`, `openwebrl`, `webgym`, `ui_tars`; or `webrl`, by elements' ids in simplified HTML. On a phone
    `appagent` by numbers, and by points `autoui`, `cogagent`, `androidworld` (docs/reference/action_spaces.md)."""
    fix_box_color: bool = False
    """With `--observation marks`: black boxes only."""
    restart_action: Literal["Restart", "Google"] = "Restart"
    """Name of the action that starts over: `Restart` leads to the task's start page, WebVoyager's `Google` there."""
    upload_dir: Path | None = None
    """Files the agent may give to pages that ask for one."""
    api_file_assistant: bool = False
    """Have --api_model (at --api_base) answer the task from each PDF that is downloaded; otherwise the agent is shown
    the PDF's text."""
    download_dir: Path | None = None
    """Downloads of a trajectory go to a folder of its own in here. None: --output_dir's downloads/."""

    @property
    def num_images(self) -> int:
        """Screenshots in each prompt."""
        return 0 if self.text_only else self.max_attached_imgs

    def check_together(self) -> None:
        super().check_together()
        if self.text_only and self.observation == "marks":
            raise UserError("--observation marks shows numbers on screenshots, which --text_only does not send")
        if action_space(self.action_space).scale is not None and (self.text_only or self.observation == "marks"):
            raise UserError(f"--action_space {self.action_space} needs plain screenshots: no --text_only, no marks")
        if self.action_space != NUMBERS and self.observation == "marks":
            raise UserError(f"--action_space {self.action_space} is read from the accessibility tree; leave out marks")
