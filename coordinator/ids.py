"""The one source of randomness. Everything else is given an ``Ids``, so that tests can name what they get."""

import secrets
import uuid
from typing import Protocol

from store.vocab import AuthorizationId, CustodyId, IncarnationId, TurnId


class Ids(Protocol):
    def turn(self) -> TurnId: ...

    def authorization(self) -> AuthorizationId: ...

    def custody(self) -> CustodyId: ...

    def incarnation(self) -> IncarnationId: ...

    def secret(self) -> str:
        """Unguessable text: nonces and cookies."""
        ...


class RealIds:
    def turn(self) -> TurnId:
        return TurnId(str(uuid.uuid4()))

    def authorization(self) -> AuthorizationId:
        return AuthorizationId(secrets.token_hex(8))

    def custody(self) -> CustodyId:
        return CustodyId(secrets.token_hex(6))

    def incarnation(self) -> IncarnationId:
        return IncarnationId(secrets.token_hex(8))

    def secret(self) -> str:
        return secrets.token_hex(16)
