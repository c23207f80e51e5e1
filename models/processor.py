"""A checkpoint folder's processor: what a policy was trained to see, read and written here only.

The folder says image size, splitting and chat template. Trainer, scorer and server take them from it; conversion of a
released checkpoint writes the published values into it (`write_image_settings`). A mark in it (`mark_as_trained`) says
that its image values are what its policy is trained with; a folder that splits images without the mark is a release.
"""

import dataclasses
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from common.errors import UserError
from common.files import read_object, write_json
from common.shown.terminal import in_short
from data.image_recipe import ImageRecipe
from models.family import Family
from models.image_settings import ImageSettings
from models.registry import NAMES, named

_PROCESSOR = "processor_config.json"  # transformers 5 keeps the image processor's values in it, under this name:
_NESTED = "image_processor"
_IMAGES = "preprocessor_config.json"
_TEMPLATE = "chat_template.jinja"
_MARK = "elcano.json"


def to_stderr(line: str) -> None:
    """Where a remark goes that is no result."""
    print(line, file=sys.stderr, flush=True)


def load_processor(folder: Path, override: ImageSettings | None = None, say: Callable[[str], None] = to_stderr) -> Any:
    """The processor of a Hugging Face folder, as its files say.

    Args:
        override: what is to differ from them; one line says so where it does.

    Raises:
        UserError: the processor does not load, or has nothing that `override` could change.
    """
    folder = Path(folder)
    kind = _family(folder)
    try:
        processor = (kind or Family()).load_processor(folder)
    except Exception as error:  # transformers raises many kinds; to the user they all mean a folder that is not whole
        line = in_short(str(error)) or type(error).__name__
        raise UserError(f"{folder}: its processor does not load ({line})") from None
    if processor.image_processor is not None and isinstance(processor.chat_template, dict):
        processor.chat_template = processor.chat_template.get("default")  # the only one that processors use
    if processor.chat_template is None and kind is not None and kind.chat_template is not None:
        processor.chat_template = kind.chat_template
        if kind.chat_template and getattr(processor.tokenizer, "chat_template", None) not in (None, kind.chat_template):
            say(
                f"{folder}: its tokenizer_config.json has a chat template, which transformers' processors do not use; "
                "the family's is used. One of your own belongs into chat_template.jinja"
            )
    if override is not None and override.given():
        _change(processor.image_processor, override, folder, say)
    return processor


def describe(folder: Path, processor: Any) -> str:
    """Size and splitting, on one line, of the processor of `folder`."""
    images, kind = processor.image_processor, _family(folder)
    if images is None:
        return "none are read"
    if kind is not None and kind.sizes_are_pixels:
        return f"{images.size['shortest_edge']} to {images.size['longest_edge']} pixels"
    size = ", ".join(f"{name.replace('_', ' ')} {value}" for name, value in dict(images.size).items() if value)
    splits = getattr(images, "do_image_splitting", None)
    if splits is None:
        return size
    return f"{size}, split into {kind.parts_of_split_image if kind else 'parts'}" if splits else f"{size}, not split"


def splitting_remark(folder: Path, processor: Any) -> str | None:
    """One line for a release that splits images, where the models that this project continues were not trained so."""
    published = _published(folder)
    if not getattr(processor.image_processor, "do_image_splitting", False) or published is None:
        return None
    seen = describe(folder, processor)
    return (
        f"{folder} splits each image into {seen.rpartition(' ')[2]} ({seen}); released OpenWebVoyager models were "
        f"trained with {published.flags()}, which hf2mg.sh writes into what it converts and a server takes with "
        "--image_recipe published"
    )


def mark_as_trained(folder: Path) -> None:
    """Say in `folder` that its image values are its policy's own. The mark goes wherever the Hugging Face files go."""
    write_json(Path(folder) / _MARK, {"images": "as trained"})


def settings_for(folder: Path, recipe: ImageRecipe, asked: ImageSettings) -> ImageSettings:
    """What is to differ from the files in `folder`: in a release the published values, unless they are kept, and on top
    of them what was asked for."""
    published = _published(folder) if recipe == "published" else None
    return dataclasses.replace(published, **asked.given()) if published else asked


def write_image_settings(folder: Path, settings: ImageSettings) -> None:
    """Make the processor files in `folder` say `settings`.

    Raises:
        UserError: they have nothing to set.
    """
    fields: dict[str, Any] = {}
    if settings.do_image_splitting is not None:
        fields["do_image_splitting"] = settings.do_image_splitting
    if settings.image_size is not None:
        fields["size"] = {"longest_edge": settings.image_size, "shortest_edge": settings.image_size}
    found = _image_values(folder)
    if not found:
        raise UserError(f"{settings.flags()}: {folder} has no image processor to set it for")
    for path, content, values in found:
        _check_changeable(values, settings, path, _family(folder))
        values.update(fields)
        write_json(path, content)


def splits_images(folder: Path) -> bool:
    """Whether the processor files in `folder` ask for it."""
    return any(values.get("do_image_splitting") for _, _, values in _image_values(folder))


def write_chat_template(folder: Path) -> None:
    """Put the family's chat template, which `load_processor` fills in, into `folder` where it has none."""
    folder, kind = Path(folder), _family(folder)
    own = any((folder / name).exists() for name in (_TEMPLATE, "chat_template.json"))
    if (folder / _PROCESSOR).exists():
        own = own or "chat_template" in read_object(folder / _PROCESSOR)
    if not own and kind is not None and kind.chat_template is not None:
        (folder / _TEMPLATE).write_text(kind.chat_template)


def _image_values(folder: Path) -> list[tuple[Path, dict[str, Any], dict[str, Any]]]:
    """(file, its content, the part of it that is about images) of every file that has one."""
    found = []
    for name in (_PROCESSOR, _IMAGES):
        path = Path(folder) / name
        content = read_object(path) if path.exists() else {}
        values = content if name == _IMAGES else content.get(_NESTED)
        if not isinstance(values, dict | None):
            raise UserError(f"{path}: its {_NESTED} is no object")
        if values:
            found.append((path, content, values))
    return found


def _change(images: Any, override: ImageSettings, folder: Path, say: Callable[[str], None]) -> None:
    """Set on an image processor what `override` says."""
    if images is None:
        raise UserError(f"{override.flags()}: the model in {folder} reads no images")
    values = {"size": dict(images.size)}
    if hasattr(images, "do_image_splitting"):
        values["do_image_splitting"] = images.do_image_splitting
    _check_changeable(values, override, folder, _family(folder))
    changed = {}
    edges = {"longest_edge": override.image_size, "shortest_edge": override.image_size}
    given = {name: value for name, value in values["size"].items() if value is not None}
    if override.image_size is not None and given != edges:
        changed["--image_size " + str(override.image_size)] = " ".join(
            f"{name} {value}" for name, value in given.items()
        )
        images.size = type(images.size)(**edges)
    splitting = override.do_image_splitting
    if splitting is not None and images.do_image_splitting != splitting:
        changed[f"--do_image_splitting {splitting}"] = f"do_image_splitting {images.do_image_splitting}"
        images.do_image_splitting = splitting
    if changed:
        flags, trained = " ".join(changed), ", ".join(changed.values())
        say(f"{flags} differs from what this checkpoint was trained with ({folder} says {trained})")


def _check_changeable(values: dict[str, Any], settings: ImageSettings, where: Path, kind: Family | None) -> None:
    if settings.image_size is not None and kind is not None and kind.sizes_are_pixels:
        raise UserError(
            f"--image_size: the sizes of {where} are numbers of pixels, not edges; write them into its files"
        )
    if settings.image_size is not None and "longest_edge" not in values.get("size", {}):
        raise UserError(f"--image_size: {where} has no longest and shortest edge to set")
    if settings.do_image_splitting is not None and "do_image_splitting" not in values:
        raise UserError(f"--do_image_splitting: the images of {where} are never split")


def _published(folder: Path) -> ImageSettings | None:
    """The published values of a release that still says its own: its images are split, and nobody marked it."""
    kind = _family(folder)
    if kind is None or (Path(folder) / _MARK).exists() or not splits_images(folder):
        return None
    return kind.published_images


def _family(folder: Path) -> Family | None:
    """None where there is no configuration of a family that is known here."""
    path = Path(folder) / "config.json"
    name = read_object(path).get("model_type") if path.exists() else None
    return named(name) if name in NAMES else None
