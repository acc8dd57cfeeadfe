"""The home page is the README, with links that are right on the site."""

import re
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]


def link_on_site(target: str, repository: str) -> str:
    """Return where a link of the README leads on the site: a page, or a file of the repository."""
    if "://" in target or target.startswith("#"):
        return target
    if target.startswith("docs/"):
        return target.removeprefix("docs/")
    return f"{repository}/blob/main/{target}"


def on_page_markdown(markdown: str, *, page: Any, config: Any, **_: Any) -> str:
    """Hook that MkDocs calls for each page."""
    if page.file.src_uri != "index.md":
        return markdown
    readme = (ROOT / "README.md").read_text("utf-8")
    repository = config["repo_url"].rstrip("/")
    return re.sub(
        r"(?<=\]\()([^)\s]+)(?=\))", lambda link: link_on_site(link[1], repository), readme
    )
