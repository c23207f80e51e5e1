"""Each combination of packages chooses, builds and runs what docs/howto/gpu.md says.

CUDA is pretended in child processes.
"""

import contextlib
import json
import os
import re
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from common.errors import UserError
from tests import tiny
from tests.conftest import ROOT
from training.config import Config
from training.launch.launch import check_kernels
from training.layout import Layout
from training.modules import kernels
from training.modules.kernels import Installed, Kernels, check_context_parallel, choose

STAND_INS = ROOT / "tests" / "training" / "stand_ins"
TE, APEX, OTHER_APEX = "transformer_engine", "apex", "other_apex"
TE_ALONE = pytest.param((TE,), marks=pytest.mark.slow)
"""What it lacks beside apex is one choice, which `test_transformer_engine_alone_fuses_no_accumulation` sees."""
APEX_ALONE = pytest.param((APEX,), marks=pytest.mark.slow)
COMBINATIONS = [(), APEX_ALONE, pytest.param((OTHER_APEX,), marks=pytest.mark.slow), TE_ALONE, (TE, APEX)]


def environment(*packages: str) -> dict[str, str]:
    path = os.pathsep.join([str(ROOT), *(str(STAND_INS / package) for package in packages)])
    return tiny.environment(PYTHONPATH=path)


@pytest.fixture(scope="module")
def windowed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Grouped queries, and a window shorter than the samples."""
    return tiny.build_policy(tmp_path_factory.mktemp("windowed") / "hf", sliding_window=16)


@pytest.fixture(scope="module")
def run(windowed: Path, tmp_path_factory: pytest.TempPathFactory) -> Any:
    from tests.training.conftest import converted

    megatron = converted("hf2mg", windowed, windowed.with_name("megatron"))
    done: dict[tuple[tuple[str, ...], bool], dict[str, Any]] = {}

    def cells(packages: tuple[str, ...], cuda: bool = True) -> dict[str, Any]:
        if (packages, cuda) not in done:
            out = tmp_path_factory.mktemp("cells") / "out.json"
            script = ROOT / "tests" / "training" / "kernels_worker.py"
            command = [sys.executable, script, out, windowed, megatron, "true" if cuda else "false"]
            child = subprocess.run(command, env=environment(*packages), capture_output=True, text=True, timeout=600)
            assert child.returncode == 0, child.stdout + child.stderr
            done[packages, cuda] = json.loads(out.read_text())
        return done[packages, cuda]

    return cells


def expected(packages: tuple[str, ...], cell: str) -> dict[str, Any]:
    """The table of docs/howto/gpu.md."""
    te, apex, bf16, adapters = TE in packages, APEX in packages, cell != "fp32", cell == "adapters"
    return {
        "layers": "te" if te and not adapters else "megatron",
        "norm": "te" if te else "apex" if apex else "torch",
        "attention": "blocks" if not bf16 else "te" if te else "varlen",
        "rope_fusion": te,
        "optimizer": "te" if te else "apex" if apex else "torch",
        "gradient_accumulation_fusion": apex and bf16 and not adapters,
        "compiled": True,
    }


@pytest.mark.parametrize("cell", ["plain", "adapters", "fp32"])
@pytest.mark.parametrize("packages", COMBINATIONS)
def test_a_gpu_host_builds_what_was_chosen(run: Any, packages: tuple[str, ...], cell: str) -> None:
    """Not only chosen: Megatron's modules and the optimizer are of these classes."""
    made = run(packages)[cell]
    wanted = expected(packages, cell)
    assert made["kernels"] == wanted
    te_layers = wanted["layers"] == "te"
    norm = {"te": "RMSNorm", "apex": "ApexRMSNorm", "torch": "RMSNorm"}[wanted["norm"]]
    assert made["parts"] == {
        "input_layernorm": "IdentityOp" if te_layers else norm,
        "linear_qkv": "TELayerNormColumnParallelLinear"
        if te_layers
        else {"adapters": "LoraQkv"}.get(cell, "ColumnParallelLinear"),
        "core_attention": "TEDotProductAttention" if wanted["attention"] == "te" else "CausalAttention",
        "final_layernorm": norm,
    }
    assert made["rope_fusion"] == wanted["rope_fusion"]
    assert made["gradient_accumulation_fusion"] == wanted["gradient_accumulation_fusion"]
    assert made["optimizer"].split(".")[0] == {"te": TE, "apex": "apex", "torch": "torch"}[wanted["optimizer"]]


@pytest.mark.parametrize("cell", ["plain", "adapters", "fp32"])
@pytest.mark.parametrize("packages", COMBINATIONS)
def test_every_choice_computes_the_same_from_the_same_checkpoint(run: Any, packages: tuple, cell: str) -> None:
    """Padded and packed loss and the gradient's norm are those of a host without a GPU; every weight learns."""
    made, reference = run(packages)[cell], run((), cuda=False)[cell]
    tolerance = 1e-4 if cell == "fp32" else 3e-2
    assert made["keys"] == reference["keys"]
    assert made["losses"] == pytest.approx(reference["losses"], rel=tolerance)
    assert made["norm"] == pytest.approx(reference["norm"], rel=tolerance)
    assert made["norm"] > 0 and made["changed"] > 0
    assert abs(made["losses"][0] - made["losses"][1]) > 1e-3, "packed samples do not see each other"


@pytest.mark.parametrize("packages", [(), TE_ALONE, APEX_ALONE, (TE, APEX)])
@pytest.mark.parametrize("optimizer", ["plain", "distributed"])
def test_an_optimizer_resumes_as_it_was_saved(run: Any, packages: tuple[str, ...], optimizer: str) -> None:
    """Steps and moments; PyTorch's Adam counts steps by parameter, TransformerEngine's and apex's by group."""
    saved, loaded, next_of_saved, next_of_loaded = run(packages)["resumed"][optimizer]
    assert saved[0] == 2 and loaded == pytest.approx(saved, rel=1e-5)
    assert next_of_saved[0] == 3 and next_of_loaded == pytest.approx(next_of_saved, rel=1e-3)


def test_a_single_row_is_multiplied_as_a_matrix(run: Any) -> None:
    """With other strides `torch.matmul` multiplies frozen weights with one position at a time."""
    of_position, of_row, _ = run(())["plain"]["embedding_strides"]
    assert of_position == of_row


def test_the_log_says_what_was_chosen_and_what_was_left_alone(run: Any) -> None:
    [line] = run((TE, APEX))["plain"]["report"]
    assert "a pretended GPU, TransformerEngine 2.10.0" in line
    assert "layers TransformerEngine" in line and "gradient accumulation fused" in line
    [without] = run(())["plain"]["report"]
    assert "without TransformerEngine" in without and "attention flash, variable length" in without


@pytest.mark.slow
def test_the_log_says_which_package_was_left_alone(run: Any) -> None:
    _, unused = run((OTHER_APEX,))["plain"]["report"]
    assert unused == "not used: apex (not NVIDIA's, or built without its CUDA extensions)"


def test_a_host_whose_gpus_are_hidden_uses_none_of_their_packages(run: Any) -> None:
    """Installed, but nothing here can run them: Megatron must not take their optimizers for CPU tensors."""
    made = run((TE, APEX), cuda=False)
    for cell in (made[name] for name in ("plain", "adapters", "fp32")):
        assert Kernels(**cell["kernels"]) == Kernels()
        assert cell["optimizer"].split(".")[0] == "torch"
        assert cell["report"][0].startswith("kernels (CPU): layers Megatron")


LOOK = """
import json, sys
from tests.training.kernels_worker import pretend_cuda
pretend_cuda()
from training.modules import kernels
for folder, use_te in json.loads(sys.argv[1]):
    sys.path.insert(0, folder)
    try:
        print(kernels.look.__wrapped__({"true": True, "false": False, "auto": None}[use_te]))
    except Exception as error:
        print(type(error).__name__, error)
    sys.path.remove(folder)
    for name in [name for name in sys.modules if name.partition(".")[0] in ("transformer_engine", "apex")]:
        del sys.modules[name]
"""


def stand_in(folder: Path, version: str, pytorch: str) -> Path:
    """A TransformerEngine of another version, or whose PyTorch part is `pytorch`."""
    package = folder / version / "transformer_engine"
    (package / "pytorch").mkdir(parents=True)
    (package / "__init__.py").write_text(f"__version__ = {version!r}\n")
    (package / "pytorch" / "__init__.py").write_text(pytorch)
    (package / "pytorch" / "optimizers.py").write_text("")
    return folder / version


VERSIONS = {
    "2.9.0+70f5366": "",
    "2.11.0": "",
    "2.8.0": r"TransformerEngine 2\.8\.0 \(megatron-core wants <2\.12\.0,>=2\.9\.0a0\)",
    "2.12.0": r"TransformerEngine 2\.12\.0 \(megatron-core wants",
    "2.10.0": r"does not import .*libcublas\.so\.13",
}
"""Why they are not used, if they are not."""
BROKEN = {"2.10.0": "raise OSError('libcublas.so.13: no such file')"}


@pytest.fixture(scope="module")
def looks(tmp_path_factory: pytest.TempPathFactory) -> dict[tuple[str, str], str]:
    """By what is installed and by `use_te`, what is said; all in one process."""
    folder = tmp_path_factory.mktemp("stand_ins")
    asked = {(name, "auto"): stand_in(folder, name, BROKEN.get(name, "")) for name in VERSIONS}
    asked[OTHER_APEX, "auto"], asked[TE, "false"] = STAND_INS / OTHER_APEX, STAND_INS / TE
    asked["nothing", "true"] = folder
    words = [[str(path), use_te] for (_, use_te), path in asked.items()]
    child = subprocess.run(
        [sys.executable, "-c", LOOK, json.dumps(words)], env=environment(), capture_output=True, text=True, timeout=300
    )
    assert child.returncode == 0, child.stderr
    return dict(zip(asked, child.stdout.splitlines(), strict=True))


@pytest.mark.parametrize("version", VERSIONS)
def test_only_a_transformer_engine_that_works_is_used(looks: dict[tuple[str, str], str], version: str) -> None:
    found, why = looks[version, "auto"], VERSIONS[version]
    assert (f"transformer_engine='{version}'" in found) == (not why)
    assert re.search(why, found)


def test_transformer_engine_can_be_left_alone_or_insisted_on(looks: dict[tuple[str, str], str]) -> None:
    assert "transformer_engine=''" in looks[TE, "false"]
    missing = "UserError TE=true: TransformerEngine is not installed; see docs/howto/gpu.md"
    assert looks["nothing", "true"].startswith(missing)


def test_another_package_called_apex_is_left_alone(looks: dict[tuple[str, str], str]) -> None:
    found = looks[OTHER_APEX, "auto"]
    assert "apex_adam=False" in found and "apex (not NVIDIA's, or built without its CUDA extensions)" in found


@pytest.mark.parametrize("cell", ["plain", "adapters", "fp32"])
def test_transformer_engine_alone_fuses_no_accumulation(cell: str) -> None:
    found = Installed(gpu=True, flash=True, transformer_engine="2.10.0")
    assert vars(choose(found, cell != "fp32", 16, adapters=cell == "adapters")) == expected((TE,), cell)


def test_older_gpus_have_no_flash_attention() -> None:
    assert choose(Installed(gpu=True, flash=False), True, 128, adapters=False).attention == "blocks"
    assert choose(Installed(gpu=True, flash=True), True, 20, adapters=False).attention == "blocks"


@pytest.mark.parametrize(
    ("capability", "changes", "head_dim", "window", "message"),
    [
        ((7, 5), {}, 128, None, "PR=bf16: this GPU is older than Ampere, .*; give PR=fp32"),
        ((7, 5), {"pr": "fp32"}, 128, 16, None),
        ((9, 0), {}, 128, 16, None),
        ((9, 0), {}, 320, 16, None),
        ((9, 0), {}, 20, 16, "heads of 20 numbers with a sliding window or CP; give PR=fp32, or a model .* of 8"),
        ((9, 0), {}, 18, 16, "heads of 18 numbers .*; the head size must be a multiple of 8"),
        ((9, 0), {"cp": 2}, 20, None, "heads of 20 numbers with a sliding window or CP"),
        ((9, 0), {}, 20, None, None),
        ((9, 0), {}, 20, 64, None),
        ((9, 0), {"pr": "fp32"}, 20, 16, None),
        ((9, 0), {"pr": "fp32"}, 18, None, "PR=fp32: .* heads of 18 numbers; they must be a multiple of 4"),
        (None, {}, 18, 16, None),
    ],
)
def test_attention_without_a_kernel_is_refused_before_the_start(
    monkeypatch: pytest.MonkeyPatch,
    capability: tuple[int, int] | None,
    changes: dict[str, Any],
    head_dim: int,
    window: int | None,
    message: str | None,
) -> None:
    """As PyTorch's fused kernels are; the GPU is pretended, None is a host without one."""
    monkeypatch.setattr("torch.cuda.is_available", lambda: capability is not None)
    monkeypatch.setattr("torch.cuda.get_device_capability", lambda *_: capability)
    heads = {"num_attention_heads": 4, "num_key_value_heads": 4, "rope_parameters": {}}
    text = SimpleNamespace(head_dim=head_dim, sliding_window=window, **heads)
    config = Config(Path("data"), Path("checkpoint"), **{"te": False, "seq_len": 64, **changes})
    kernels.look.cache_clear()
    try:
        with pytest.raises(UserError, match=message) if message else contextlib.nullcontext():
            check_kernels(config, SimpleNamespace(get_text_config=lambda: text))
    finally:
        kernels.look.cache_clear()


class Text:
    num_attention_heads, num_key_value_heads = 32, 8


@pytest.mark.parametrize(
    ("layout", "packing", "message"),
    [
        (Layout(8, context_parallel=2), False, r"CP=2: .* key/value heads of a rank, here 8 / TP=8 = 1; .* TE=false"),
        (Layout(4, context_parallel=2), True, "CP=2 and PACKING=true: .* unpacked samples only; .* TE=false"),
        (Layout(4, context_parallel=2), False, None),
        (Layout(8), True, None),
    ],
)
def test_what_transformer_engine_cannot_run_is_refused(layout: Layout, packing: bool, message: str | None) -> None:
    te, ours = Kernels(attention="te"), Kernels(attention="varlen")
    check_context_parallel(ours, 4096, Text(), layout, packing)
    check_context_parallel(te, None, Text(), layout, packing)
    if message is None:
        check_context_parallel(te, 4096, Text(), layout, packing)
        return
    with pytest.raises(UserError, match=message):
        check_context_parallel(te, 4096, Text(), layout, packing)
