"""The home page is the README, with links that are right on the site."""

import re
from pathlib import Path
from typing import Any

README = Path(__file__).parents[2] / "README.md"


def link_on_site(target: str, repository: str) -> str:
    """Return where a link of the README leads on the site: a page, or a file of the repository."""
    if "://" in target or target.startswith("#"):
        return target
    if target.startswith("docs/"):
        return target.removeprefix("docs/")
    return f"{repository}/blob/main/{target}"


def page_text(readme: str, repository: str) -> str:
    """Return the README with the links of the site."""
    pattern = re.compile(r"(?<=\]\()([^)\s]+)(?=\))")
    return pattern.sub(lambda link: link_on_site(link[1], repository), readme)


def on_page_markdown(markdown: str, *, page: Any, config: Any, **_: Any) -> str:
    """Hook that MkDocs calls for each page."""
    if page.file.src_uri != "index.md":
        return markdown
    return page_text(README.read_text("utf-8"), config["repo_url"].rstrip("/"))
