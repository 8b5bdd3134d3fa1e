from __future__ import annotations

import http.client
import json
import random
import ssl
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from email.utils import parsedate_to_datetime
from typing import Any

from ._config import Limits, parse_address
from ._errors import ConfigurationError, ConnectionFailedError, RequestError, UnavailableError, error_class
from ._responses import FieldProblem

_MAX_RESPONSE_BYTES = 16 * 1024 * 1024
_CHUNK_BYTES = 64 * 1024
# A server that wants longer pauses gets no further request.
_MAX_PAUSE_SECONDS = 30.0


@dataclass(frozen=True)
class HttpRequest:
    url: str
    headers: Mapping[str, str] = field(repr=False)
    is_repeatable: bool
    method: str = "GET"
    body: str | None = field(default=None, repr=False)


@dataclass(frozen=True)
class HttpResponse:
    status: int
    tag: str | None
    body: Any = field(repr=False)
    """Of JSON; None without a body."""


def send_request(request: HttpRequest, limits: Limits) -> HttpResponse:
    """The response of a success, also 304; raises for every other one."""
    attempt = 0
    while True:
        try:
            return _send_once(request, limits.timeout_seconds)
        except (ConnectionFailedError, RequestError) as error:
            pause = _pause_after(error, attempt)
            if not request.is_repeatable or attempt >= limits.max_retries or pause is None:
                raise
        time.sleep(pause)
        attempt += 1


def _pause_after(error: ConnectionFailedError | RequestError, attempt: int) -> float | None:
    """Seconds before the next attempt; None when it would fail too."""
    # Half of it is random, so that clients of a server that restarts do not return together.
    back_off = 0.2 * 2**attempt * (0.5 + random.random())
    if isinstance(error, ConnectionFailedError):
        return None if error.code == "unexpected_response" else back_off
    if not isinstance(error, UnavailableError) or error.status not in (429, 503):
        return None
    pause = max(error.retry_after_seconds or 0.0, back_off)
    return None if pause > _MAX_PAUSE_SECONDS else pause


def _send_once(request: HttpRequest, timeout_seconds: float) -> HttpResponse:
    parts = parse_address(request.url)
    if parts is None or parts.hostname is None:
        raise ConfigurationError("Requests need https://, or http:// for this machine")
    deadline = time.monotonic() + timeout_seconds
    connection: http.client.HTTPConnection = (
        http.client.HTTPSConnection(
            parts.hostname, parts.port, timeout=timeout_seconds, context=ssl.create_default_context()
        )
        if parts.scheme == "https"
        else http.client.HTTPConnection(parts.hostname, parts.port, timeout=timeout_seconds)
    )
    target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    headers = {"accept": "application/json", "connection": "close", **request.headers}
    body = None if request.body is None else request.body.encode()
    try:
        connection.request(request.method, target, body, headers)
        # Redirects are not followed: one could lead to another server.
        response = connection.getresponse()
        text = _read_text(response, deadline)
    except TimeoutError:
        message = f"{parts.netloc} did not respond within {timeout_seconds:g} s"
        raise ConnectionFailedError("timed_out", message) from None
    except (OSError, http.client.HTTPException) as error:
        raise ConnectionFailedError("unreachable", f"Cannot reach {parts.netloc}") from error
    finally:
        connection.close()
    return _read_response(response, text)


def _read_text(response: http.client.HTTPResponse, deadline: float) -> bytes:
    """The timeout of the connection is for each read, the deadline for all of them."""
    chunks = bytearray()
    while chunk := response.read1(_CHUNK_BYTES):
        chunks += chunk
        if len(chunks) > _MAX_RESPONSE_BYTES:
            raise unexpected(f"its response has more than {_MAX_RESPONSE_BYTES} bytes")
        if time.monotonic() > deadline:
            raise TimeoutError
    return bytes(chunks)


def _read_response(response: http.client.HTTPResponse, text: bytes) -> HttpResponse:
    status = response.status
    if status >= 400:
        raise _read_refusal(response, _parse_json(text))
    if status != 304 and not 200 <= status < 300:
        raise unexpected("it redirects to another address")
    body = None if status == 304 or not text else _parse_json(text)
    return HttpResponse(status, response.getheader("etag"), body)


def unexpected(reason: str) -> ConnectionFailedError:
    return ConnectionFailedError(
        "unexpected_response", f"The server did not respond as Keep does: {reason}"
    )


def _parse_json(text: bytes) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        pass
    # Outside of the handler: the first error contains the text.
    raise unexpected("its response is not JSON")


def _read_refusal(response: http.client.HTTPResponse, body: Any) -> RequestError:
    """A problem document, or the error of a token exchange."""

    def read(name: str) -> str | None:
        text = body.get(name) if isinstance(body, dict) else None
        return text[:8192] if isinstance(text, str) else None

    listed = body.get("errors") if isinstance(body, dict) else None
    return error_class(response.status)(
        response.status,
        read("code") or read("error") or "unexpected_response",
        read("title") or read("error_description") or "The request failed",
        detail=read("detail"),
        errors=tuple(_field_problems(listed)),
        request_id=response.getheader("x-request-id"),
        retry_after_seconds=_read_retry_after(response.getheader("retry-after")),
    )


def _field_problems(listed: Any) -> list[FieldProblem]:
    entries = listed if isinstance(listed, list) else []
    return [
        {"place": entry["place"], "reason": entry["reason"]}
        for entry in entries
        if isinstance(entry, dict)
        and isinstance(entry.get("place"), str)
        and isinstance(entry.get("reason"), str)
    ]


def _read_retry_after(text: str | None) -> float | None:
    """In seconds, or as a date (RFC 9110, section 10.2.3)."""
    if text is None:
        return None
    if text.isascii() and text.isdigit() and len(text) < 10:
        return float(text)
    try:
        return max(0.0, parsedate_to_datetime(text).timestamp() - time.time())
    except (ValueError, TypeError):
        return None
