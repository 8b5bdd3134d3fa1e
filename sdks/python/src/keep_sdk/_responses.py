"""Bodies of Keep's API, as its OpenAPI document describes them; a test compares every field.

A class whose name begins with an underscore has the required fields of the next one.
"""

from __future__ import annotations

from typing import Literal, TypedDict

SecretType = Literal["text", "json", "binary", "file"]
ValueEncoding = Literal["utf8", "base64"]
EgressMethod = Literal["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"]


class _EgressRule(TypedDict):
    hosts: list[str]
    ask: bool


class EgressRule(_EgressRule, total=False):
    """For what requests an agent may use a secret without seeing its value."""

    methods: list[EgressMethod]
    paths: list[str]


class _SecretMetadata(TypedDict):
    id: str
    folder: str
    name: str
    path: str
    type: SecretType
    version: int
    revision: int
    tags: list[str]
    has_note: bool
    size: int
    created_at: str
    updated_at: str
    updated_by: str


class SecretMetadata(_SecretMetadata, total=False):
    """A secret, without its value."""

    egress: EgressRule
    deleted_at: str


class _SecretPage(TypedDict):
    items: list[SecretMetadata]


class SecretPage(_SecretPage, total=False):
    next_cursor: str


class _SecretValue(TypedDict):
    id: str
    path: str
    version: int
    type: SecretType
    value: str
    encoding: ValueEncoding


class SecretValue(_SecretValue, total=False):
    note: str


class _NamedValue(TypedDict):
    id: str
    path: str
    name: str
    version: int
    type: SecretType
    value: str
    encoding: ValueEncoding


# The functional form, because `from` is a keyword.
_OptionalNamedValue = TypedDict("_OptionalNamedValue", {"from": str}, total=False)


class NamedValue(_NamedValue, _OptionalNamedValue):
    pass


class SecretValues(TypedDict):
    revision: int
    items: list[NamedValue]


class _NewSecret(TypedDict):
    value: str


class NewSecret(_NewSecret, total=False):
    encoding: ValueEncoding
    type: SecretType
    tags: list[str]
    note: str | None


class ExchangedToken(TypedDict):
    access_token: str
    issued_token_type: Literal["urn:ietf:params:oauth:token-type:access_token"]
    token_type: Literal["Bearer"]
    expires_in: int
    scope: str


class FieldProblem(TypedDict):
    place: str
    reason: str
