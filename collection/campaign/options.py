"""The flags that both collectors share, with OpenWebVoyager's names."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from collection.agent.documents import DocumentReader
from collection.agent.episode import Limits
from collection.agent.policy import Policy, Prompt, Sampling
from collection.agent.predict_policy import PredictPolicy
from collection.campaign.pacing import Pace
from collection.endpoints.keys import base_key, endpoint_key, is_own_server, same_endpoint
from common.errors import UserError
from data.task import Task
from environments.browser.capacity import default_busy_pages, default_sessions
from environments.browser.fleet import Fleet
from environments.browser.observe import Mode
from environments.browser.page import Viewport
from environments.browser.tree import Visibility
from environments.browser.url_policy import UrlPolicy
from environments.webarena.configurations import hosts_from_environment

GOOGLE = "https://www.google.com/"
OPENAI_MODEL = "gpt-4o"

_COUNTS = ("max_iter", "max_attached_imgs", "window_width", "window_height")


@dataclass(frozen=True)
class CollectionConfig:
    """Flags of `run.py` and `exploration_feedback.py`."""

    test_file: Path | None = None
    """Tasks: a JSONL file with id, ques and web on each line."""
    output_dir: Path = Path("results")
    """Where trajectories go. Run the same command again to go on where it stopped."""
    max_iter: int = 5
    """Most steps of a trajectory."""
    num_sessions: int | None = None
    """Trajectories taken at the same time, each in a browser context of its own. Default: by cores and free memory."""
    num_browsers: int | None = None
    """Browsers that share these sessions. Default: by sessions and cores."""
    max_busy_pages: int | None = None
    """Pages that load, act or are observed at the same time; the others wait for the model. Default: 8 a core."""
    allow_hosts: tuple[str, ...] = ()
    """Only these hosts and their subdomains may be reached, and where tasks begin. None: any on the public internet."""
    deny_hosts: tuple[str, ...] = ()
    """These hosts and their subdomains may not be reached, whatever else is listed."""
    private_hosts: tuple[str, ...] = ()
    """`host:port` on this machine or a private network that may be reached. Loopback names where tasks begin, and the
    addresses in WebArena's variables (SHOPPING, ...), need not be listed."""
    max_download_mb: float = 50.0
    """Most that one trajectory may download; what goes beyond is cancelled."""
    site_concurrency: int = 0
    """Most sessions on one website at the same time; 0 for any number."""
    site_interval_s: float = 0.0
    """Least seconds between two actions on one website, over all sessions."""
    freeze_pages: bool = False
    """Stop a page's scripts and timers while the model thinks: animated pages cost no CPU, but they can tell."""
    max_fault_retries: int = 1
    """How often a task that a fault ended (browser, network, website) is tried again in this run, after the others."""
    api_localhost: tuple[str, ...] = ()
    """URL of a model server's /predict, or several of them. None: an OpenAI-compatible endpoint is asked instead."""
    api_base: str = ""
    """Base URL of an OpenAI-compatible endpoint. Empty: OpenAI's own."""
    api_model: str = ""
    """Model name for that endpoint. Empty: gpt-4o, or whatever it serves where --api_base is one of our servers."""
    api_key: str = ""
    """Key for that endpoint. Better set ENDPOINT_API_KEY, which other users of this machine cannot read. OPENAI_API_KEY
    is for OpenAI's own, ELCANO_API_KEY for our servers: --api_localhost, or on its hosts or this machine."""
    prompt: Prompt | None = None
    """What the policy is asked with: `trained`, the conversation that training reads (no system prompt), through any
    protocol, whose sampled tokens are then kept, too; or `chat`, for a general chat model. Default: `trained` with
    --api_localhost, `chat` without."""
    temperature: float | None = None
    """Sampling temperature; the server's own default when not given."""
    seed: int | None = None
    """Seed of the run: each request's sampling seed is derived from it, the task, the try and the step."""
    max_attached_imgs: int = 1
    """Newest screenshots sent with each step."""
    text_only: bool = False
    """Send no screenshots, only accessibility trees."""
    headless: bool = False
    """Show no browser window."""
    window_width: int = 1024
    """Viewport width in CSS pixels."""
    window_height: int = 768
    """Viewport height in CSS pixels."""
    force_device_scale: bool = True
    """One device pixel per CSS pixel, whatever the screen; released models were trained so."""
    save_accessibility_tree: bool = False
    """Also keep accessibility_tree<N>.json, the raw nodes. The text is always kept."""
    tree_visibility: Visibility = "released"
    """Which elements count as visible: as in the released code, where a slip keeps all that overlap the viewport (its
    models were trained so, and a half visible paragraph is better read than missed), or at least 80 % of their area."""
    observation: Mode = "tree"
    """What the agent is shown: `tree`, the accessibility tree beside the screenshot (OpenWebVoyager), or `marks`,
    numbered boxes on the screenshot and the list of what they hold (WebVoyager)."""
    fix_box_color: bool = False
    """With `--observation marks`: black boxes only."""
    restart_action: Literal["Restart", "Google"] = "Restart"
    """Name of the action that starts over: `Restart` leads to the task's start page, WebVoyager's `Google` there."""
    upload_dir: Path | None = None
    """Files the agent may give to pages that ask for one."""
    api_file_assistant: bool = False
    """Have --api_model (at --api_base) answer the task from each PDF that is downloaded; otherwise the agent is shown
    the PDF's text."""
    download_dir: Path = Path("downloads")
    """Downloads of a trajectory go to a folder of its own in here."""
    reset_command: str = ""
    """A command of yours that puts the websites back to their first state. It runs before collecting, also on a
    restart, and after each task that changed a shared backend, whose name it finds in BACKEND."""
    dry_run: bool = False
    """Only read the tasks, say what they are and what is odd about them; no browser, no model, no judge."""
    sites_port: int | None = None
    """Port of the embedded websites (python -m environments.sites --port P), when it is not the task file's 7070."""

    def check(self, needs_test_file: bool = True) -> None:
        """Raise UserError for values that make no sense."""
        if needs_test_file and self.test_file is None:
            raise UserError("--test_file is missing: a JSONL file with id, ques and web on each line")
        for name in (*_COUNTS, "num_sessions", "num_browsers", "max_busy_pages"):
            value = getattr(self, name)
            if value is not None and value < 1:
                raise UserError(f"--{name} must be at least 1, not {value}")
        for name in ("site_concurrency", "site_interval_s", "max_fault_retries"):
            if getattr(self, name) < 0:
                raise UserError(f"--{name} must not be negative, not {getattr(self, name)}")
        if self.text_only and self.observation == "marks":
            raise UserError("--observation marks shows numbers on screenshots, which --text_only does not send")
        if self.upload_dir is not None and not self.upload_dir.is_dir():
            raise UserError(f"--upload_dir {self.upload_dir}: no such folder")
        if self.prompt == "chat" and self.api_localhost:
            raise UserError("--prompt chat is for chat endpoints: give --api_base http://HOST:PORT/v1 instead")
        if self.temperature is not None and self.temperature < 0:
            raise UserError(f"--temperature must not be negative, not {self.temperature}")

    @property
    def asked_with(self) -> Prompt:
        """`prompt`, or what stands in for it."""
        return self.prompt or ("trained" if self.api_localhost else "chat")

    def sessions(self) -> int:
        """Trajectories taken at the same time."""
        return self.num_sessions or default_sessions()

    def url_policy(self, tasks: Sequence[Task]) -> UrlPolicy:
        """What the browsers may reach."""
        private = (*self.private_hosts, *hosts_from_environment())
        return UrlPolicy.of(tasks, self.allow_hosts, self.deny_hosts, private)

    def pace(self) -> Pace:
        """How sessions share this machine and the websites."""
        return Pace(self.max_busy_pages or default_busy_pages(), self.site_interval_s, self.freeze_pages)

    def fleet(self, num_sessions: int, flags: Sequence[str] = ()) -> Fleet:
        """Browsers for that many sessions."""
        return Fleet(num_sessions, self.headless, self.viewport(), self.num_browsers, flags, self.max_download_mb)

    def viewport(self) -> Viewport:
        """The page's size and scale."""
        return Viewport(self.window_width, self.window_height, 1.0 if self.force_device_scale else 0.0)

    def limits(self) -> Limits:
        """What an episode needs to know."""
        return Limits(
            max_iter=self.max_iter,
            num_images=self.max_attached_imgs,
            visibility=self.tree_visibility,
            save_tree_nodes=self.save_accessibility_tree,
            mode=self.observation,
            fix_box_color=self.fix_box_color,
            restart_url=GOOGLE if self.restart_action == "Google" else "",
            upload_dir=self.upload_dir,
            documents=self._documents(),
        )

    def _documents(self) -> DocumentReader:
        if not self.api_file_assistant:
            return DocumentReader()
        return DocumentReader(self._chat_model(), self._chat_key(), self.api_base)

    def _chat_model(self) -> str:
        if self.api_model:
            return self.api_model
        return "" if self.api_base and is_own_server(self.api_base) else OPENAI_MODEL

    def _chat_key(self) -> str:
        return endpoint_key(self.api_base, base_key(self.api_key), self.api_localhost)

    def judge_key(self) -> str:
        """`--api_key`, where the judging endpoint is the one that it was given for."""
        return base_key(self.api_key) if same_endpoint(self.api_base, self.eval_api_base) else ""

    def policy(self) -> Policy:
        """The policy these flags name."""
        marks = self.observation == "marks"
        last_n = self.max_attached_imgs
        restart, asked_with = self.restart_action, self.asked_with
        sampling = Sampling(self.temperature, self.seed, last_n, self.text_only, marks, restart, asked_with)
        if self.api_localhost:
            return PredictPolicy(self.api_localhost, sampling)
        from collection.agent.chat_policy import ChatPolicy  # the openai package takes a second to import

        return ChatPolicy(self._chat_model(), self._chat_key(), self.api_base, sampling)
