"""Running text of web pages without what surrounds it: menus, headers, footers, lists of links.

jusText judges each block by its length, its share of links and its neighbours. It is used without its lists of common
words, which would throw away pages of any language but the one that was named.
"""

from __future__ import annotations

import justext
from lxml import etree

from neardup.inputs.documents.unreadable import Unreadable, damaged

__all__ = ["running_text"]

_MOST_CHARACTERS = 4 << 20
"""Of a page: jusText holds all of it as a tree, and its parser has no way out of a comment of more than 10 MB."""


def running_text(page: str) -> str:
    """The blocks that are no boilerplate, a line each.

    Raises:
        Unreadable: the page is no HTML, too large or too deeply nested.
    """
    if len(page) > _MOST_CHARACTERS:
        raise Unreadable(
            f"it has {len(page):,} characters, and boilerplate is taken out of pages of {_MOST_CHARACTERS:,} at most",
            "Read it with --boilerplate keep.",
        )
    try:
        blocks = justext.justext(
            page.encode("utf-8", "replace"), (), encoding="utf-8", stopwords_low=0, stopwords_high=0
        )
    except etree.ParserError:  # nothing but white space and comments
        return ""
    except (etree.LxmlError, ValueError, AssertionError) as exc:
        raise damaged(str(exc)) from exc
    except RecursionError as exc:
        raise Unreadable(
            "its elements are too deeply nested for taking out boilerplate", "Read it with --boilerplate keep."
        ) from exc
    return "\n".join(block.text for block in blocks if not block.is_boilerplate)
