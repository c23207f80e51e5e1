"""What the field's trainers look at in our exports, and nothing else: fields by name, marks by number."""

import json
from pathlib import Path

import pytest
from pyarrow import parquet

from tests.toolkits.interchange import export, pictures, take_in


def written(tmp_path: Path, *numbers: int, text: str = "Hi") -> tuple[Path, Path]:
    """A sample of so many images each."""
    pictures(tmp_path / "in", *(f"{number}.png" for number in range(3)))
    samples = [
        {"id": f"s{number}", "images": [f"{one}.png" for one in range(number)], "conversations": [
            {"from": "human", "value": "<image>" * number + text}, {"from": "gpt", "value": "Ho <video>"}]}
        for number in numbers
    ]  # fmt: skip
    (tmp_path / "in.json").write_text(json.dumps(samples))
    return tmp_path / "in.json", tmp_path / "in"


def test_llava_looks_at_image_alone(tmp_path: Path) -> None:
    """Its LazySupervisedDataset trains on a record without that field as on text, and says nothing."""
    out = export("llava", *written(tmp_path, 0, 1, 2), tmp_path / "out")
    records = json.loads((out / "train.json").read_text())
    assert [record.get("image") for record in records] == [None, "images/0.png", ["images/0.png", "images/1.png"]]
    assert "image" not in records[0] and not any("images" in record for record in records)
    back = take_in("llava", out / "images", tmp_path / "back.json", out / "train.json")
    assert [sample["images"] for sample in back] == [[], ["0.png"], ["0.png", "1.png"]]


@pytest.mark.parametrize("kind", ["llama_factory", "ms_swift", "verl"])
def test_loaders_count_no_mark_that_someone_typed(
    tmp_path: Path, kind: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """LLaMA-Factory refuses a set whose marks of videos are more than its videos."""
    out = export(kind, *written(tmp_path, 1, text="play the <audio> tag"), tmp_path / "out")
    if kind == "verl":
        [row] = parquet.read_table(out / "train.parquet").to_pylist()
        texts = [row["prompt"][0]["content"], row["reward_model"]["ground_truth"]]
    else:
        line = next(out.glob("train.json*")).read_text()
        record = json.loads(line) if line.startswith("{") else json.loads(line)[0]
        texts = [message["content"] for message in record["messages"]]
    assert texts == ["<image>play the < audio> tag", "Ho < video>"]
    assert "samples in whose texts <audio> is typed, with a space (1)" in capsys.readouterr().err
