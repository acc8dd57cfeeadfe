"""Examples at Python's prompt, as the site shows them."""

import re
from typing import Any

from griffe import Extension, Object

_FENCE = re.compile(r"^```python\n(?=>>>)", re.MULTILINE)
_DIRECTIVE = re.compile(r"  # doctest: .*$", re.MULTILINE)
_BARE = re.compile(r"^>>> .*(?:\n.+)*", re.MULTILINE)


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Hook that MkDocs calls for each page."""
    return _DIRECTIVE.sub("", _FENCE.sub("```pycon\n", markdown))


class Examples(Extension):
    """Puts the examples of docstrings, which stand bare there, between fences."""

    def on_object(self, *, obj: Object, **_: Any) -> None:
        """Hook that Griffe calls for each object."""
        if obj.docstring:
            fenced = _BARE.sub(r"```pycon\n\g<0>\n```", obj.docstring.value)
            obj.docstring.value = _DIRECTIVE.sub("", fenced)
