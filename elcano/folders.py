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
    if not folder.is_dir():
        return "there is no such folder"
    for pattern, said in _KINDS:
        if next(folder.glob(pattern), None):
            return "it is " + said.format(folder=folder, convertor=_CONVERTOR)
    runs = sorted(path.parent for path in folder.glob("*/stages"))
    if runs:
        return f"runs lie in it: elcano show {runs[0]}"
    return "nothing in it is of Elcano's making"
