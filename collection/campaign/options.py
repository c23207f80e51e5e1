"""What the collectors' flags name: the policy, the browsers and what they may reach, an episode's limits."""

import tempfile
from pathlib import Path

from collection.agent.documents import DocumentReader
from collection.agent.episode import Limits
from collection.agent.policy import Policy, Sampling
from collection.agent.predict_policy import PredictPolicy
from collection.campaign.pacing import Pace
from collection.config.browsers import BrowserFlags
from collection.config.commands import CollectionConfig, PolicyFlags
from collection.config.devices import DeviceFlags
from collection.config.endpoint import EndpointFlags
from collection.endpoints.keys import base_key, endpoint_key, is_own_server, same_endpoint
from common.errors import UserError
from common.options.flags import narrowed
from data.action_spaces import NUMBERS, action_space
from environments.android.config import DeviceConfig
from environments.browser.chromium.capacity import default_busy_pages, default_sessions
from environments.browser.config import BrowserConfig
from environments.browser.page.page import Viewport
from environments.world import choose_settings

GOOGLE = "https://www.google.com/"
OPENAI_MODEL = "gpt-4o"


def num_sessions(asked: int | None) -> int:
    """Trajectories taken at the same time; what this machine carries where nothing is `asked`."""
    return asked or default_sessions()


def make_pace(config: BrowserFlags, env: str, site_interval_s: float) -> Pace:
    """How sessions share this machine and the websites. In a world without pages each session has a seat: who waits for
    a device keeps it, and must not keep it from the one that has the device."""
    seats = config.max_busy_pages or default_busy_pages()
    if not choose_settings(env, {"browser": None}):
        seats = max(seats, num_sessions(config.num_sessions))
    return Pace(seats, site_interval_s, config.freeze_pages)


def downloads_of(download_dir: Path | None, output_dir: Path) -> Path:
    """Where trajectories' folders of downloads lie, made and found to be writable.

    Raises:
        UserError: it is not.
    """
    folder = download_dir or output_dir / "downloads"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        tempfile.TemporaryFile(dir=folder).close()
    except OSError as error:
        flag = "--download_dir" if download_dir else "--output_dir, downloads:"
        raise UserError(f"{flag} {folder} cannot be written: {error.strerror}") from None
    return folder


def browser_of(config: CollectionConfig) -> BrowserConfig:
    """How pages are shown, and what they may reach."""
    return BrowserConfig(
        headless=config.headless,
        num_browsers=config.num_browsers,
        viewport=Viewport(config.window_width, config.window_height, 1.0 if config.force_device_scale else 0.0),
        visibility=config.tree_visibility,
        observation=config.observation,
        fix_box_color=config.fix_box_color,
        restart_url=GOOGLE if config.restart_action == "Google" else "",
        upload_dir=config.upload_dir,
        allow_hosts=config.allow_hosts,
        deny_hosts=config.deny_hosts,
        private_hosts=config.private_hosts,
        max_download_mb=config.max_download_mb,
    )


def device_of(config: DeviceFlags) -> DeviceConfig:
    """Which devices are used, and how."""
    return DeviceConfig(
        devices=config.devices,
        adb_server=config.adb_server,
        avd=config.avd,
        num_emulators=config.num_emulators,
        emulator=config.emulator,
        snapshot=config.device_snapshot,
        clear_apps=config.clear_apps,
        tree=config.device_tree,
    )


def limits_of(config: PolicyFlags, max_iter: int) -> Limits:
    """What an episode needs to know."""
    return Limits(
        max_iter=max_iter,
        num_images=config.max_attached_imgs,
        hidden=config.hide,
        action_space=action_space(config.action_space),
        save_tree_nodes=config.save_accessibility_tree,
        documents=_documents(config),
    )


def judge_key(config: EndpointFlags, eval_api_base: str) -> str:
    """`--api_key`, where the judging endpoint is the one that it was given for."""
    return base_key(config.api_key) if same_endpoint(config.api_base, eval_api_base) else ""


def make_policy(config: PolicyFlags) -> Policy:
    """The policy, or the teacher, that these flags name."""
    sampling = narrowed(
        Sampling,
        config,
        last_n=config.max_attached_imgs,
        shown=config.observation if config.action_space == NUMBERS else "screen",
        restart=config.restart_action,
        prompt=config.asked_with,
    )
    if config.api_localhost:
        return PredictPolicy(config.api_localhost, sampling)
    from collection.agent.chat_policy import ChatPolicy  # the openai package takes a second to import

    return ChatPolicy(_chat_model(config), _chat_key(config), config.api_base, sampling)


def _documents(config: PolicyFlags) -> DocumentReader:
    if not config.api_file_assistant:
        return DocumentReader()
    return DocumentReader(_chat_model(config), _chat_key(config), config.api_base)


def _chat_model(config: EndpointFlags) -> str:
    if config.api_model:
        return config.api_model
    return "" if config.api_base and is_own_server(config.api_base) else OPENAI_MODEL


def _chat_key(config: EndpointFlags) -> str:
    return endpoint_key(config.api_base, base_key(config.api_key), config.api_localhost)
