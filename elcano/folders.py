"""What a folder is that is not a run's, and which command tells more of it."""

from pathlib import Path

_KINDS = (
    ("latest_checkpointed_iteration.txt", "a Megatron checkpoint: bash {convertor} --load_path {folder} --inspect"),
    ("config.json", "a Hugging Face checkpoint: python server/hf_online_server.py --model_name_or_path {folder}"),
    ("manifest.json", "a folder of shards: python toolkits/inspect_shards.py --shard_dir {folder}"),
    ("task*/steps.jsonl", "a folder of trajectories: python collection/run.py --status {folder}"),
)
_CONVERTOR = "toolkits/model_checkpoints_convertor/hf2mg.sh"


def describe_folder(folder: Path) -> str:
    """One line, with a command to copy where there is one."""
    if folder.is_file():
        return "it is a file"
    if not folder.is_dir():
        return "there is no such folder"
    if kind := _kind(folder):
        return f"it is {kind}"
    for depth in ("*", "*/*"):
        for path in sorted(folder.glob(depth)):
            if (path / "stages").is_dir():
                return f"runs lie in it: elcano show {path}"
            if kind := _kind(path):
                return f"in it, {path.relative_to(folder)} is {kind}"
    return "nothing in it is of Elcano's making"


def _kind(folder: Path) -> str:
    """What it is and the command that tells more; empty: not known."""
    for pattern, said in _KINDS:
        if next(folder.glob(pattern), None):
            return said.format(folder=folder, convertor=_CONVERTOR)
    return ""
