"""Shares between processes: all of them comes back, and bytes that ask for more are refused."""

import io
import os
import pickle
from pathlib import Path

import pytest
import torch

from training.batches.collate import Share, TokenizedSample
from training.batches.columns import SampleColumns
from training.batches.share_bytes import from_bytes, to_bytes
from training.samples.pictures import FilePart, Picture


def test_every_field_of_a_share_comes_back() -> None:
    columns = SampleColumns({"advantage": 0.5}, {"reference_logprobs": torch.tensor([-0.25, -1.0])})
    pictures = [Picture(FilePart(Path("/shards/0.tar"), 512, 70), 9, 8), Picture(b"png", 2, 1)]
    mask = torch.tensor([False, True, True])
    logprobs = torch.tensor([0.0, -0.5, -2.0])
    sample = TokenizedSample("a--1", torch.arange(3), mask, pictures, columns, logprobs, "v7", ((1, columns),))
    share = from_bytes(to_bytes(Share(["a--1", "b--1"], [sample])))
    assert share is not None and share.keys == ["a--1", "b--1"]
    assert repr(share.samples) == repr([sample])
    assert from_bytes(to_bytes(None)) is None


def _saved(thing: object) -> bytes:
    buffer = io.BytesIO()
    torch.save(thing, buffer)
    return buffer.getvalue()


class Hostile:
    def __reduce__(self):
        return os.mkdir, ("made-by-a-share",)


@pytest.mark.filterwarnings("ignore:Detected pickle protocol")
@pytest.mark.parametrize("pack", [pickle.dumps, _saved], ids=["pickle", "torch"])
def test_bytes_that_would_run_something_are_refused(pack, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for thing in (Hostile(), {"keys": []}):
        with pytest.raises(pickle.UnpicklingError):
            from_bytes(pack(thing))
    assert list(tmp_path.iterdir()) == []
