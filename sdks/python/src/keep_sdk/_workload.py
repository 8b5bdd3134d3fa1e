from __future__ import annotations

import threading
import time
from dataclasses import dataclass, field
from urllib.parse import quote, urlencode

from ._config import Limits, SubjectToken, parse_address, read_variable
from ._errors import ConfigurationError, KeepError
from ._http import HttpRequest, send_request, unexpected

_MAX_TOKEN_CHARACTERS = 16_384
# The share of its lifetime after which a token is replaced.
_RENEWAL_SHARE = 0.8
_REQUEST_LIMITS = Limits(timeout_seconds=10, max_retries=3)


def token_from_file(path: str) -> SubjectToken:
    """Reads the token of a pod or a CI job, which the platform replaces, from a file."""

    def read() -> str:
        try:
            with open(path, encoding="utf-8") as file:
                token = file.read(_MAX_TOKEN_CHARACTERS + 2).strip()
        except (OSError, ValueError):
            token = ""
        if not token or len(token) > _MAX_TOKEN_CHARACTERS:
            raise ConfigurationError(f"There is no token in {path}")
        return token

    return read


def github_token(audience: str, url: str | None = None, request_token: str | None = None) -> SubjectToken:
    """Requests the token of a job of GitHub Actions that has the permission `id-token: write`."""
    address = url or read_variable("ACTIONS_ID_TOKEN_REQUEST_URL") or ""
    bearer = request_token or read_variable("ACTIONS_ID_TOKEN_REQUEST_TOKEN")

    def read() -> str:
        if parse_address(address) is None or bearer is None:
            raise ConfigurationError("This job has no identity: give it the permission id-token: write")
        joint = "&" if "?" in address else "?"
        request = HttpRequest(
            url=f"{address}{joint}audience={quote(audience, safe='')}",
            headers={"authorization": f"Bearer {bearer}"},
            is_repeatable=True,
        )
        body = send_request(request, _REQUEST_LIMITS).body
        token = body.get("value") if isinstance(body, dict) else None
        if not isinstance(token, str):
            raise unexpected("GitHub returned no token")
        return token

    return read


@dataclass(frozen=True)
class _Exchanged:
    token: str = field(repr=False)
    renew_at: float
    expires_at: float


class TokenSource:
    """A fixed token, or one that is exchanged for a token of the platform, and again before it expires."""

    def __init__(
        self, server: str, limits: Limits, *, token: str | None, subject_token: SubjectToken | None
    ) -> None:
        self.__server = server
        self.__limits = limits
        self.__fixed = token
        self.__subject_token = subject_token
        self.__current: _Exchanged | None = None
        self.__lock = threading.Lock()

    def read(self) -> str:
        if self.__fixed is not None:
            return self.__fixed
        # Threads that wait get the token of the first one.
        with self.__lock:
            known, now = self.__current, time.monotonic()
            if known is not None and now < known.renew_at:
                return known.token
            try:
                self.__current = self.__exchange()
            except KeepError:
                if known is None or now >= known.expires_at:
                    raise
                return known.token
            return self.__current.token

    def discard(self, token: str) -> bool:
        """Makes the next read return another token; false when there is none."""
        with self.__lock:
            if self.__current is not None and self.__current.token == token:
                self.__current = None
        return self.__fixed is None

    @property
    def is_owned(self) -> bool:
        """Whether there is an exchanged token, which nobody else uses."""
        return self.__current is not None

    def __exchange(self) -> _Exchanged:
        if self.__subject_token is None:
            raise ConfigurationError("There is no token")
        form = {
            "grant_type": "urn:ietf:params:oauth:grant-type:token-exchange",
            "subject_token_type": "urn:ietf:params:oauth:token-type:jwt",
            "subject_token": self.__subject_token(),
        }
        started_at = time.monotonic()
        # A subject token counts once, so that a second request would be refused.
        request = HttpRequest(
            method="POST",
            url=f"{self.__server}/api/secrets/tokens/exchange",
            headers={"content-type": "application/x-www-form-urlencoded"},
            body=urlencode(form),
            is_repeatable=False,
        )
        body = send_request(request, self.__limits).body
        token = body.get("access_token") if isinstance(body, dict) else None
        lifetime = body.get("expires_in") if isinstance(body, dict) else None
        if not isinstance(token, str) or not isinstance(lifetime, int):
            raise unexpected("it returned no token")
        return _Exchanged(token, started_at + lifetime * _RENEWAL_SHARE, started_at + lifetime)
