"""Addresses of databases and clusters as they may be printed: without passwords, readable or not."""

from __future__ import annotations

import re
from urllib.parse import unquote

_HIDDEN = "***"
_USER = re.compile(
    r"(?>(?:[\w+.-]+://|postgres[\w+]*:/*)?)[^:/?@\s]*:(?P<secret>\S.*)@(?=[^@]*$)", re.DOTALL | re.IGNORECASE
)
"""User and password: what stands between the first colon and the last @, since a password may hold any character."""
_SETTING = re.compile(r"(?P<name>[\w%.+-]+)\s*=\s*(?P<secret>.*?)(?=(?:[&;]|\s+)[\w%.+-]+\s*=|$)", re.DOTALL)
"""A setting of a query or of a connection text; its value ends where the next begins."""
_SECRET_NAMES = ("pass", "pwd", "secret", "token")
_SHORTEST_SECRET = 3  # a shorter one would hide half of a sentence


def without_password(place: str) -> str:
    """An address without its passwords, even if it cannot be read; the path of a file stays as it is.

    >>> without_password("postgresql://me:secret@host:x/db?password=secret&sslmode=require")
    'postgresql://me:***@host:x/db?password=***&sslmode=require'
    """
    for first, last in sorted(_spans(place), reverse=True):
        place = place[:first] + _HIDDEN + place[last:]
    return place


def hidden_in(text: str, place: str) -> str:
    """A sentence about a place in which its passwords may stand, without them."""
    for first, last in _spans(place):
        for secret in {place[first:last], unquote(place[first:last])}:
            text = text.replace(secret, _HIDDEN) if len(secret) >= _SHORTEST_SECRET else text
    return text


def _spans(place: str) -> list[tuple[int, int]]:
    """Where passwords stand: that of the user, and those of settings beyond it."""
    user = _USER.match(place)
    spans = [user.span("secret")] if user else []
    end = user.end() if user else 0
    for found in _SETTING.finditer(place, end):
        if any(word in unquote(found["name"]).lower() for word in _SECRET_NAMES) and found["secret"]:
            spans.append(found.span("secret"))
    return spans
