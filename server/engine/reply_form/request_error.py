"""Request errors that name the field of the request that they are about."""

from common.errors import UserError


class RequestError(UserError):
    """`param` is the field's name in the request, `code` says for programs what is wrong with it."""

    def __init__(self, message: str, param: str, code: str | None = None):
        super().__init__(message)
        self.param, self.code = param, code


class UnknownModelError(RequestError):
    """The request names a model that is not served here."""

    def __init__(self, name: str, known: list[str]):
        super().__init__(f"no model {name[:200]!r} is served here; there are {known}", "model")
