from __future__ import annotations

import os
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from urllib.parse import SplitResult, urlsplit

from ._errors import ConfigurationError

SubjectToken = Callable[[], str]

_ID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_TOKEN = re.compile(r"[!-~]{1,255}")
_LOOPBACK = re.compile(r"localhost|127(\.\d{1,3}){3}|::1")
_MAX_ADDRESS = 2048


@dataclass(frozen=True)
class Limits:
    timeout_seconds: float
    max_retries: int


@dataclass(frozen=True)
class Settings:
    server: str
    vault: str
    limits: Limits
    max_age_seconds: float
    stale_seconds: float
    token: str | None = field(repr=False)
    subject_token: SubjectToken | None = field(repr=False)


def read_variable(name: str) -> str | None:
    return os.environ.get(name, "").strip() or None


def parse_server(text: str | None) -> str:
    """The origin of a URL to which a token may be sent."""
    parts = parse_address(text or "")
    is_origin = (
        parts is not None
        and parts.path in ("", "/")
        and not (parts.query or parts.fragment or parts.username or parts.password)
    )
    if parts is None or not is_origin:
        raise ConfigurationError(
            "Set server or KEEP_SERVER to the address of Keep, such as https://keep.example;"
            " http:// is allowed for this machine only"
        )
    return f"{parts.scheme}://{parts.netloc}"


def parse_address(text: str) -> SplitResult | None:
    """Undefined for addresses to which a token would be sent unencrypted over a network."""
    # The parser removes such characters silently.
    if len(text) > _MAX_ADDRESS or re.search(r"[^!-~]|\\", text):
        return None
    try:
        parts = urlsplit(text)
        _ = parts.port
    except ValueError:
        return None
    if not parts.hostname:
        return None
    is_loopback = _LOOPBACK.fullmatch(parts.hostname) is not None
    return parts if parts.scheme == "https" or (parts.scheme == "http" and is_loopback) else None


def check_token(token: str) -> str:
    if _TOKEN.fullmatch(token) is None:
        raise ConfigurationError("The token has invalid characters")
    return token


def check_vault(vault: str | None) -> str:
    if vault is None or _ID.fullmatch(vault) is None:
        raise ConfigurationError("Set vault or KEEP_VAULT to the id of a vault")
    return vault


def check_numbers(limits: Limits, ages: tuple[float, float]) -> None:
    numbers = (limits.timeout_seconds, limits.max_retries, *ages)
    if any(not 0 <= number < float("inf") for number in numbers) or limits.timeout_seconds == 0:
        raise ConfigurationError("Ages, retries and timeouts must be numbers, and not negative")
