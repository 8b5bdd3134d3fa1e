"""Why something failed. Messages and fields contain no value and no token."""

from __future__ import annotations

from ._responses import FieldProblem


class KeepError(Exception):
    """`code` is a problem code of the server, or `invalid_configuration`, `unreachable`, `timed_out` and the like."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code


class ConfigurationError(KeepError):
    """An argument or an environment variable is missing or invalid."""

    def __init__(self, message: str) -> None:
        super().__init__("invalid_configuration", message)


class ConnectionFailedError(KeepError):
    """The server cannot be reached, did not respond in time, or is not Keep."""


class RequestError(KeepError):
    """The server refused a request, and says why in a problem document."""

    def __init__(
        self,
        status: int,
        code: str,
        title: str,
        *,
        detail: str | None = None,
        errors: tuple[FieldProblem, ...] = (),
        request_id: str | None = None,
        retry_after_seconds: float | None = None,
    ) -> None:
        super().__init__(code, f"{title} ({status} {code})" + (f": {detail}" if detail else ""))
        self.status = status
        self.title = title
        self.detail = detail
        self.errors = errors
        """Fields of the request that were rejected."""
        self.request_id = request_id
        """Names the request in the server's log."""
        self.retry_after_seconds = retry_after_seconds


class AccessDeniedError(RequestError):
    """The token is not accepted, or may not do this."""


class NotFoundError(RequestError):
    """No such secret or vault, or none that the token may see."""


class PreconditionFailedError(RequestError):
    """The secret is not as the write required."""


class UnavailableError(RequestError):
    """Too many requests, or the server failed; retries did not help."""


def error_class(status: int) -> type[RequestError]:
    if status in (401, 403):
        return AccessDeniedError
    if status == 404:
        return NotFoundError
    if status in (412, 428):
        return PreconditionFailedError
    return UnavailableError if status == 429 or status >= 500 else RequestError
