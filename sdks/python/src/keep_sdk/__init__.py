"""Keep's SDK for Python: reads and writes secrets over HTTP, without dependencies, on Python 3.10 and newer.

Tokens are sent to one server only, over HTTPS or on this machine. Responses and retries are bounded. No value is
printed, formatted or serialized unless the program reveals it.
"""

from ._errors import (
    AccessDeniedError,
    ConfigurationError,
    ConnectionFailedError,
    KeepError,
    NotFoundError,
    PreconditionFailedError,
    RequestError,
    UnavailableError,
)
from ._responses import EgressRule, FieldProblem, SecretMetadata, SecretType
from ._secrets import Secret, Secrets
from ._vault import Vault, open_vault
from ._workload import github_token, token_from_file

__all__ = [
    "AccessDeniedError",
    "ConfigurationError",
    "ConnectionFailedError",
    "EgressRule",
    "FieldProblem",
    "KeepError",
    "NotFoundError",
    "PreconditionFailedError",
    "RequestError",
    "Secret",
    "SecretMetadata",
    "SecretType",
    "Secrets",
    "UnavailableError",
    "Vault",
    "github_token",
    "open_vault",
    "token_from_file",
]
