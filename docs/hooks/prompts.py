"""Examples at Python's prompt, as the site shows them."""

import re
from typing import Any

from griffe import Extension, Function, Object

_FENCE = re.compile(r"^```python\n(?=>>>)", re.MULTILINE)
_DIRECTIVE = re.compile(r"  # doctest: .*$", re.MULTILINE)
_ENUM_MEMBER = re.compile(r"<(\w+\.\w+): .*>")
_WORD = re.compile(r"<code>((?:[^<\s&]|&\w+;){1,44})</code>")
_BARE = re.compile(r"^>>> .*(?:\n.+)*", re.MULTILINE)


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Hook that MkDocs calls for each page."""
    return _DIRECTIVE.sub("", _FENCE.sub("```pycon\n", markdown))


def on_page_content(html: str, **_: Any) -> str:
    """Hook that MkDocs calls for each page: short code stays on one line, also at a hyphen."""
    return _WORD.sub(r'<code class="word">\1</code>', html)


class Examples(Extension):
    """Puts fences around examples in docstrings, and writes defaults as code."""

    def on_object(self, *, obj: Object, **_: Any) -> None:
        """Hook that Griffe calls for each object."""
        if obj.docstring:
            fenced = _BARE.sub(r"```pycon\n\g<0>\n```", obj.docstring.value)
            obj.docstring.value = _DIRECTIVE.sub("", fenced)

    def on_function(self, *, func: Function, **_: Any) -> None:
        """Hook that Griffe calls for each function: enum members are no syntax that it formats."""
        for parameter in func.parameters:
            if isinstance(parameter.default, str):
                parameter.default = _ENUM_MEMBER.sub(r"\1", parameter.default)
