"""import_data.py with what Digi-Q's files keep beside the words: features and other actions, up to its best of N."""

import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy
import pytest
import torch
from pyarrow import parquet

from common.errors import UserError
from common.files import read_json
from tests.toolkits.trajectories import screenshot
from toolkits import convert_to_tar_data
from toolkits.import_data import Config, main
from toolkits.readers.reading.torch_file import as_array, plain, read_torch_file
from training.critics.feature_critic import FeatureCriticConfig
from training.critics.feature_critic import main as fit
from training.critics.make_columns import MakeColumnsConfig
from training.critics.make_columns import main as make_columns

TAP, TYPED = '"action_type": "DUAL_POINT"', '"action_type": "TYPE"'


def step(number: int, is_last: bool, success: bool, **changed: Any) -> dict[str, Any]:
    """As get_more_actions_batched.py and the extractors leave it, with features of fewer numbers: array or tensor."""
    return {
        "observation": "Previous Actions:  Goal: buy a lamp</s>",
        "image_path": f"<path_to_images>/{number}.png",
        "next_image_path": f"<path_to_images>/{number + 1}.png",
        "image_features": numpy.full(3, number, numpy.float32),
        "next_image_features": torch.full((3,), number + 1.0),
        "task": "buy a lamp",
        "reward": float(success and is_last),
        "done": is_last,
        "trajectory_reward": float(success),
        "action": TAP,
        "action_list": f"{TAP}<split>{TYPED}<split>{TAP}<split>{TYPED}",
        "q_rep_out": numpy.full(5, 0.5, numpy.float32),
        "q_rep_out_list": numpy.stack([numpy.full(5, value, numpy.float32) for value in (0.5, 1.5, 0.5, 2.5)]),
        **changed,
    }


def saved(folder: Path, change: Callable[[dict[str, Any]], Any] = lambda _: None) -> Path:
    """A success of two steps and a failure of one, which `change` gets."""
    (folder / "images").mkdir()
    for number in range(3):
        (folder / "images" / f"{number}.png").write_bytes(screenshot(number))
    failure = step(0, True, False)
    change(failure)
    torch.save([[step(0, False, True), step(1, True, True)], [failure]], folder / "web.pt")
    return folder / "web.pt"


def imported(folder: Path, **flags: Any) -> None:
    files = {"input_files": (str(folder / "web.pt"),), "image_dir": str(folder / "images")}
    main(Config("digiq", **files, save_json_file=str(folder / "web.json"), **flags))


def test_features_and_actions_that_were_stored_go_all_the_way_to_the_best_of_n(tmp_path: Path) -> None:
    saved(tmp_path)
    features, candidates = tmp_path / "features.parquet", tmp_path / "candidates.parquet"
    imported(tmp_path, features=str(features), candidates=str(candidates))
    rows = {row["id"]: row for row in parquet.read_table(features).to_pylist()}
    key = "web--00001--r01--step02"
    assert len(rows) == 6 and rows[f"{key}--c1"]["state_features"] == rows[key]["state_features"] == [1, 1, 1, 0, 0]
    assert rows[key]["action_features"] == [0.5] * 5 and rows[f"{key}--c1"]["action_features"] == [1.5] * 5
    assert rows[key]["next_state_features"] == [2, 2, 2, 0, 0]
    assert {tuple(row["candidates"]) for row in parquet.read_table(candidates).to_pylist()} == {(TYPED,)}
    assert "action_list" not in read_json(tmp_path / "web.json")[0]

    shards = tmp_path / "shards"
    files = {"json_files": (str(tmp_path / "web.json"),), "image_dirs": (str(tmp_path / "images"),)}
    options = {"save_dir": str(shards), "candidates": str(candidates), "num_workers": 1}
    convert_to_tar_data.main(convert_to_tar_data.Config(**files, **options))
    fit(FeatureCriticConfig(shards, features, tmp_path / "critic.pt", tmp_path / "q.parquet", train_iters=2, width=4))
    out, how = tmp_path / "digiq.parquet", {"algorithm_options": "threshold=-10"}
    make_columns(MakeColumnsConfig(shards, out, "digiq", column_files=str(tmp_path / "q.parquet"), **how))
    made = parquet.read_table(out).to_pylist()
    assert {row["id"] for row in made} == set(rows) and sum(row["weight"] for row in made) == 3


def test_what_is_not_asked_for_is_told_and_stays_readable(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    saved(tmp_path)
    imported(tmp_path)
    told = capsys.readouterr().out
    assert "hold candidates, too; --candidates FILE keeps them" in told and "hold features, too; --feat" in told
    assert read_json(tmp_path / "web.json")[0]["action_list"] == [TAP, TYPED, TAP, TYPED]


BAD: dict[str, tuple[Callable[[dict[str, Any]], Any], str]] = {
    "missing": (lambda one: one.pop("q_rep_out"), "trajectory 2, step 1: has no q_rep_out, as other steps have"),
    "longer": (
        lambda one: one.update(image_features=numpy.zeros(4)),
        "trajectory 2, step 1: has 4 numbers of image_features, others have 3",
    ),
    "text": (lambda one: one.update(q_rep_out="x"), "trajectory 2, step 1: its q_rep_out is no array of numbers"),
    "fewer": (
        lambda one: one.update(q_rep_out_list=numpy.zeros((2, 5))),
        "step 1: its q_rep_out_list is of 2 actions, its action_list has 4",
    ),
    "no texts": (lambda one: one.update(action_list=[1]), "trajectory 2, step 1: its action_list is no list of texts"),
}


@pytest.mark.parametrize(("change", "message"), BAD.values(), ids=BAD)
def test_a_bad_feature_is_named_and_nothing_is_written(
    change: Callable[[dict[str, Any]], Any], message: str, tmp_path: Path
) -> None:
    saved(tmp_path, change)
    with pytest.raises(UserError, match=message):
        imported(tmp_path, features=str(tmp_path / "f.parquet"), candidates=str(tmp_path / "c.parquet"))
    assert {path.name for path in tmp_path.iterdir()} == {"web.pt", "images"}


def test_files_without_any_and_formats_that_have_none_are_refused(tmp_path: Path) -> None:
    saved(tmp_path)
    kept = ("observation", "action", "image_path", "next_image_path", "reward", "done")
    torch.save([[{name: step(0, True, True)[name] for name in kept}]], tmp_path / "web.pt")
    with pytest.raises(UserError, match=r"web.pt: no step has features \(image_features, next_image_f"):
        imported(tmp_path, features=str(tmp_path / "f.parquet"))
    with pytest.raises(UserError, match=r"web.pt: no step has an action beside the one that was taken"):
        imported(tmp_path, candidates=str(tmp_path / "c.parquet"))
    with pytest.raises(UserError, match="--features is of the samples of digirl and digiq"):
        main(Config("webrl", (str(tmp_path / "web.pt"),), save_json_file="x.json", features="f.parquet"))


def test_empty_arrays_and_expanded_tensors_are_read(tmp_path: Path) -> None:
    content = {
        "empty array": numpy.zeros(0, numpy.float32),
        "empty rows": numpy.zeros((0, 4)),
        "empty tensor": torch.zeros(0, 4),
        "expanded": torch.arange(3.0).reshape(3, 1).expand(3, 2),
    }
    torch.save(content, tmp_path / "a.pt")
    found = read_torch_file(tmp_path / "a.pt")
    shapes = {name: as_array(value).shape for name, value in found.items()}
    assert shapes == {"empty array": (0,), "empty rows": (0, 4), "empty tensor": (0, 4), "expanded": (3, 2)}
    assert plain(found["expanded"]) == [[0, 0], [1, 1], [2, 2]]


def test_a_few_bytes_stand_for_no_more_than_a_million_numbers(tmp_path: Path) -> None:
    torch.save(torch.zeros(1).expand(1 << 40), tmp_path / "a.pt")
    with pytest.raises(UserError, match="a tensor of 1099511627776 numbers does not fit its storage, which has 1"):
        read_torch_file(tmp_path / "a.pt")


def test_no_bytes_are_made_of_a_number(tmp_path: Path) -> None:
    """`bytes(10**12)` would fill the memory."""
    with zipfile.ZipFile(tmp_path / "a.pt", "w") as file:
        file.writestr("a/data.pkl", b"\x80\x02c__builtin__\nbytes\nI1000000000000\n\x85R.")
    with pytest.raises(UserError, match=r"refused: the pickle asks for builtins.bytes"):
        read_torch_file(tmp_path / "a.pt")
