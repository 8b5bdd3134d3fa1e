from __future__ import annotations

import base64
import json
import uuid
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from types import TracebackType
from typing import Any, cast
from urllib.parse import quote, urlencode

from ._cache import Loaded, ValueCache
from ._config import (
    Limits,
    Settings,
    SubjectToken,
    check_numbers,
    check_token,
    check_vault,
    parse_server,
    read_variable,
)
from ._errors import AccessDeniedError, ConfigurationError
from ._http import HttpRequest, HttpResponse, send_request, unexpected
from ._responses import NamedValue, NewSecret, SecretMetadata, SecretType, SecretValue
from ._secrets import Secret, Secrets, decode_value
from ._workload import TokenSource, github_token, token_from_file

_MAX_PAGES = 100


def open_vault(
    *,
    server: str | None = None,
    vault: str | None = None,
    token: str | None = None,
    subject_token: SubjectToken | None = None,
    max_age_seconds: float = 0,
    stale_seconds: float = 0,
    timeout_seconds: float = 10,
    max_retries: int = 3,
) -> Vault:
    """Arguments that are left out come from the environment.

    server: `https://…`, or `http://` for this machine (KEEP_SERVER).
    vault: id of the vault (KEEP_VAULT).
    token: a token of Keep (KEEP_TOKEN).
    subject_token: instead of a token, returns one of the platform, which is exchanged for a short-lived one by a trust
        rule (the file in KEEP_TRUST_TOKEN_FILE, or GitHub's endpoint for the audience in KEEP_TRUST_AUDIENCE).
    max_age_seconds: values that were read are used for so long without a request.
    stale_seconds: while the server is unavailable, values of at most this age are used; 0 for never.
    timeout_seconds: for each attempt of a request.
    max_retries: of requests that can be repeated, after 429, 503 and broken connections.
    """
    limits = Limits(timeout_seconds, max_retries)
    check_numbers(limits, (max_age_seconds, stale_seconds))
    fixed = None if subject_token is not None else token or read_variable("KEEP_TOKEN")
    settings = Settings(
        server=parse_server(server or read_variable("KEEP_SERVER")),
        vault=check_vault(vault or read_variable("KEEP_VAULT")),
        limits=limits,
        max_age_seconds=max_age_seconds,
        stale_seconds=stale_seconds,
        token=None if fixed is None else check_token(fixed),
        subject_token=None if fixed is not None else subject_token or _subject_token_of_environment(),
    )
    return Vault(settings)


def _subject_token_of_environment() -> SubjectToken:
    file, audience = read_variable("KEEP_TRUST_TOKEN_FILE"), read_variable("KEEP_TRUST_AUDIENCE")
    if file is not None:
        return token_from_file(file)
    if audience is not None:
        return github_token(audience)
    raise ConfigurationError(
        "Set token or KEEP_TOKEN, or KEEP_TRUST_TOKEN_FILE or KEEP_TRUST_AUDIENCE"
        " to exchange a token of the platform"
    )


class Vault:
    """Secrets of one vault. Threads can share it. Closed at the end of a `with` block."""

    def __init__(self, settings: Settings) -> None:
        self.__settings = settings
        self.__tokens = TokenSource(
            settings.server, settings.limits, token=settings.token, subject_token=settings.subject_token
        )
        ages = (settings.max_age_seconds, settings.stale_seconds)
        self.__one: ValueCache[SecretValue] = ValueCache(*ages)
        self.__many: ValueCache[list[NamedValue]] = ValueCache(*ages)

    def __repr__(self) -> str:
        return f"Vault({self.__settings.vault!r}, {self.__settings.server!r})"

    def __enter__(self) -> Vault:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def get(self, path: str, *, raw: bool = False) -> Secret:
        """The value at a path, e.g. `/prod/DATABASE_URL`; with `raw`, references as they are written."""

        def load(_tag: str | None) -> Loaded[SecretValue]:
            query = {} if raw else {"expand": "references"}
            response = self.__send("GET", f"/values/by-path{_encode_path(path)}", query=query)
            if not _is_value(response.body):
                raise unexpected("it returned no value")
            return Loaded(cast(SecretValue, response.body), response.tag)

        return _to_secret(self.__one.read((path, raw), load))

    def get_many(
        self,
        folder: str,
        *,
        names: Sequence[str] | None = None,
        recursive: bool = False,
        inherit: bool = False,
        raw: bool = False,
    ) -> Secrets:
        """The values of a folder, in one request.

        names: only these; fails when one does not exist.
        recursive: also those of its subfolders.
        inherit: also what an environment inherits from the vault's base.
        """
        query = _values_query(folder, names, recursive, inherit, raw)
        key = tuple(sorted(query.items()))
        items = self.__many.read(key, lambda tag: self.__read_many(query, names, tag))
        return _to_secrets(folder, items)

    @contextmanager
    def secrets(
        self,
        folder: str,
        *,
        names: Sequence[str] | None = None,
        recursive: bool = False,
        inherit: bool = False,
        raw: bool = False,
    ) -> Iterator[Secrets]:
        """The values of a folder for a `with` block, at whose end they are cleared. Nothing is cached."""
        query = _values_query(folder, names, recursive, inherit, raw)
        loaded = self.__read_many(query, names, None)
        secrets = _to_secrets(folder, [] if loaded is None else loaded.value)
        try:
            yield secrets
        finally:
            secrets.clear()

    def list_secrets(self, folder: str, *, recursive: bool = False) -> list[SecretMetadata]:
        """The secrets of a folder, without values."""
        secrets: list[SecretMetadata] = []
        query = {"path": folder, "limit": "200", **({"recursive": "true"} if recursive else {})}
        for _ in range(_MAX_PAGES):
            body = self.__send("GET", "/secrets", query=query).body
            items = body.get("items") if isinstance(body, dict) else None
            if not isinstance(items, list) or not all(_is_secret(item) for item in items):
                raise unexpected("it returned no list")
            secrets.extend(items)
            cursor = body.get("next_cursor")
            if not isinstance(cursor, str):
                return secrets
            query["cursor"] = cursor
        raise unexpected(f"its list has more than {_MAX_PAGES} pages")

    def write(
        self,
        path: str,
        value: str | bytes,
        *,
        if_revision: int | None = None,
        create: bool = False,
        type: SecretType | None = None,
        tags: Sequence[str] | None = None,
    ) -> SecretMetadata:
        """Creates a secret, or adds a version to it. Bytes are written as type `binary`.

        if_revision: the write fails unless this is the revision of the secret.
        create: the write fails if the secret exists.
        """
        content: NewSecret = (
            {"value": value}
            if isinstance(value, str)
            else {"value": base64.b64encode(value).decode(), "encoding": "base64", "type": "binary"}
        )
        if type is not None:
            content["type"] = type
        if tags is not None:
            content["tags"] = [*tags]
        headers = {
            "content-type": "application/json",
            "idempotency-key": str(uuid.uuid4()),
            **({} if if_revision is None else {"if-match": f'"{if_revision}"'}),
            **({"if-none-match": "*"} if create else {}),
        }
        address = f"/secrets/by-path{_encode_path(path)}"
        body = self.__send("PUT", address, headers=headers, body=json.dumps(content)).body
        self.__forget()
        if not _is_secret(body):
            raise unexpected("it returned no secret")
        return cast(SecretMetadata, body)

    def close(self) -> None:
        """Forgets values, and revokes a token that was exchanged for this vault."""
        self.__forget()
        if self.__tokens.is_owned:
            self.__authorize("DELETE", "/api/secrets/tokens/self", {}, None)

    def __forget(self) -> None:
        self.__one.clear()
        self.__many.clear()

    def __read_many(
        self, query: dict[str, str], names: Sequence[str] | None, tag: str | None
    ) -> Loaded[list[NamedValue]] | None:
        headers = {} if tag is None else {"if-none-match": tag}
        response = self.__send("GET", "/values", query=query, headers=headers)
        if response.status == 304:
            return None
        items = response.body.get("items") if isinstance(response.body, dict) else None
        if not isinstance(items, list) or not all(_is_value(item) for item in items):
            raise unexpected("it returned no values")
        found = {item.get("name") for item in items}
        for name in names or ():
            if name not in found:
                # Raises the error of a missing name.
                Secrets(query["path"], {})[name]
        return Loaded(cast("list[NamedValue]", items), response.tag)

    def __send(
        self,
        method: str,
        path: str,
        *,
        query: dict[str, str] | None = None,
        headers: dict[str, str] | None = None,
        body: str | None = None,
    ) -> HttpResponse:
        address = f"/api/secrets/vaults/{self.__settings.vault}{path}"
        return self.__authorize(
            method, address + (f"?{urlencode(query)}" if query else ""), headers or {}, body
        )

    def __authorize(
        self, method: str, address: str, headers: dict[str, str], body: str | None
    ) -> HttpResponse:
        """Repeats a request with another token once, because a token of a trust rule ends when the rule changes."""

        def send(token: str) -> HttpResponse:
            request = HttpRequest(
                method=method,
                url=self.__settings.server + address,
                headers={**headers, "authorization": f"Bearer {token}"},
                body=body,
                # Writes have an idempotency key, and a token is revoked once.
                is_repeatable=True,
            )
            return send_request(request, self.__settings.limits)

        token = self.__tokens.read()
        try:
            return send(token)
        except AccessDeniedError as error:
            if error.status != 401 or method == "DELETE" or not self.__tokens.discard(token):
                raise
        return send(self.__tokens.read())


def _values_query(
    folder: str, names: Sequence[str] | None, recursive: bool, inherit: bool, raw: bool
) -> dict[str, str]:
    return {
        "path": folder,
        **({} if names is None else {"names": ",".join(names)}),
        **({"recursive": "true"} if recursive else {}),
        **({"inherit": "true"} if inherit else {}),
        **({} if raw else {"expand": "references"}),
    }


def _encode_path(path: str) -> str:
    # A URL would resolve such segments, and address another secret.
    if not path.startswith("/") or any(segment in (".", "..") for segment in path.split("/")):
        raise ConfigurationError(f"Invalid path {path!r}: use one such as /prod/DATABASE_URL")
    return quote(path, safe="/")


def _to_secret(value: SecretValue | NamedValue) -> Secret:
    content = decode_value(value["value"], value["encoding"])
    return Secret(value["path"], value["version"], value["type"], content)


def _to_secrets(folder: str, items: Sequence[NamedValue]) -> Secrets:
    prefix = folder.rstrip("/") + "/"
    return Secrets(folder, {item["path"].removeprefix(prefix): _to_secret(item) for item in items})


def _is_value(body: Any) -> bool:
    texts = ("path", "type", "value", "encoding")
    return (
        isinstance(body, dict)
        and all(isinstance(body.get(name), str) for name in texts)
        and isinstance(body.get("version"), int)
    )


def _is_secret(body: Any) -> bool:
    return (
        isinstance(body, dict)
        and isinstance(body.get("path"), str)
        and isinstance(body.get("revision"), int)
    )
