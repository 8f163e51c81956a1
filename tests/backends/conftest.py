from tests.postgres import postgres

__all__ = ["postgres"]
