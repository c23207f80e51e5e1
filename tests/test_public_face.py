"""What a stranger's clone says of itself: a license; comments and links that lead to what the clone holds."""

import re
import subprocess

from tests.conftest import ROOT

_LINK = re.compile(r"\]\((?!\w+:)([^()\s]+)\)")
_TITLE = re.compile(r"^#+ (.+)$", re.MULTILINE)
_NAMED = re.compile(r'<a id="([^"]+)">')
_FENCED = re.compile(r"^ *```.*?^ *```", re.MULTILINE | re.DOTALL)
_NOTES = re.compile(r"\b(?:shared/)?spec/\w+\.md|\bspec/\w+ §|DESIGN\.md|STYLE\.md")


def test_the_license_is_the_one_that_readme_and_package_name():
    license = (ROOT / "LICENSE").read_text()
    assert "Apache License" in license and "Version 2.0, January 2004" in license
    assert "END OF TERMS AND CONDITIONS" in license and "Copyright 2026 The Elcano authors" in license
    assert "[name of copyright owner]" not in license
    assert "Apache-2.0" in (ROOT / "README.md").read_text().partition("## License")[2]
    assert 'license = "Apache-2.0"' in (ROOT / "pyproject.toml").read_text()


def test_no_file_refers_to_notes_that_the_repository_lacks():
    names = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=True).stdout.decode()
    kinds = (".py", ".md", ".sh", ".js", ".toml", ".txt")
    files = [ROOT / name for name in names.split("\0") if name.endswith(kinds) and name != "tests/test_public_face.py"]
    referring = [path.name for path in files if path.exists() and _NOTES.search(path.read_text(errors="replace"))]
    assert not referring


def test_links_of_pages_lead_somewhere():
    names = subprocess.run(["git", "ls-files", "-z", "*.md"], cwd=ROOT, capture_output=True, check=True).stdout.decode()
    pages = [ROOT / name for name in names.split("\0") if name and (ROOT / name).exists()]
    texts = {page: _FENCED.sub("", page.read_text()) for page in pages}
    anchors = {page: {*map(_anchor, _TITLE.findall(text)), *_NAMED.findall(text)} for page, text in texts.items()}
    dead = []
    for page, text in texts.items():
        for target in _LINK.findall(text):
            path, _, anchor = target.partition("#")
            found = (page.parent / path).resolve() if path else page
            if not found.exists() or (anchor and anchor not in anchors.get(found, ())):
                dead.append(f"{page.relative_to(ROOT)}: {target}")
    assert not dead, "\n".join(dead)


def _anchor(title: str) -> str:
    """As GitHub makes it of a title."""
    return re.sub(r"[^\w\- ]", "", title.strip().lower()).replace(" ", "-")
