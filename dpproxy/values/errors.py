"""Every way to refuse, each with its SQLSTATE (PostgreSQL appendix A; class PD is our own).

A refusal is part of the product: it names the construct, says where it stands and what to write instead. No
value read from a row may enter one.
"""

from typing import ClassVar


class Refusal(Exception):
    """A request that is not answered.

    Attributes:
        message: names the construct, lower case, no full stop.
        detail: more about it, a sentence.
        hint: what to do instead, ideally a statement that passes.
        position: offset in characters from 0 in the statement's text, or None.
    """

    sqlstate: ClassVar[str] = "XX000"

    def __init__(
        self, message: str, *, detail: str | None = None, hint: str | None = None, position: int | None = None
    ) -> None:
        super().__init__(message)
        self.message = message
        self.detail = detail
        self.hint = hint
        self.position = position


class Internal(Refusal):
    """An internal error; the message never contains the cause."""


class ProtocolViolation(Refusal):
    """Bytes or an order of messages that the protocol does not allow; the connection closes."""

    sqlstate = "08P01"


class Unsupported(Refusal):
    """Not on the allow-list."""

    sqlstate = "0A000"


class InvalidParameter(Refusal):
    """A setting or parameter outside its range."""

    sqlstate = "22023"


class InvalidText(Refusal):
    """A literal or parameter that is not a value of its type."""

    sqlstate = "22P02"


class InvalidMoment(InvalidText):
    """The same of a date, a time or an interval."""

    sqlstate = "22007"


class InvalidBytes(Refusal):
    """Bytes of a statement or a name that are not UTF-8."""

    sqlstate = "22021"


class NumberOutOfRange(Refusal):
    """A number in a released expression that its type cannot hold."""

    sqlstate = "22003"


class DateOutOfRange(Refusal):
    """A date or timestamp that there is not, or outside the years 1 to 9999 and not infinity."""

    sqlstate = "22008"


class DivisionByZero(Refusal):
    """A division by zero over released values."""

    sqlstate = "22012"


class NegativeLength(Refusal):
    """A part of a text that would have less than no characters, in a constant."""

    sqlstate = "22011"


class InvalidEscape(Refusal):
    """A LIKE pattern that ends with its escape character, or an escape of several characters."""

    sqlstate = "22025"


class NoLogarithm(Refusal):
    """The logarithm of zero, or of a negative number, in a constant."""

    sqlstate = "2201E"


class NoPower(Refusal):
    """A root of a negative number, or a pole, in a constant."""

    sqlstate = "2201F"


class SeveralRows(Refusal):
    """A scalar subquery with more than one row."""

    sqlstate = "21000"


class ActiveTransaction(Refusal):
    """A statement that cannot run inside a transaction."""

    sqlstate = "25001"


class NoTransaction(Refusal):
    """SAVEPOINT and the like outside a transaction block."""

    sqlstate = "25P01"


class FailedTransaction(Refusal):
    """A statement after an error inside a transaction block."""

    sqlstate = "25P02"


class UnknownStatement(Refusal):
    """No prepared statement of that name."""

    sqlstate = "26000"


class DependentObjects(Refusal):
    """Another declaration depends on it."""

    sqlstate = "2BP01"


class InvalidPassword(Refusal):
    """Authentication failed; the same for an unknown user."""

    sqlstate = "28P01"


class UnknownPortal(Refusal):
    """No portal of that name."""

    sqlstate = "34000"


class UnknownDatabase(Refusal):
    """No data source of that name."""

    sqlstate = "3D000"


class UnknownSavepoint(Refusal):
    """No savepoint of that name."""

    sqlstate = "3B001"


class NotGranted(Refusal):
    """No privilege for it, or a raw value outside an aggregate."""

    sqlstate = "42501"


class SyntaxRefused(Refusal):
    """Does not parse."""

    sqlstate = "42601"


class AmbiguousColumn(Refusal):
    """A name that fits several columns."""

    sqlstate = "42702"


class UndefinedColumn(Refusal):
    """No such column, or a hidden one; the error is the same."""

    sqlstate = "42703"


class UndefinedObject(Refusal):
    """No such budget, role, setting."""

    sqlstate = "42704"


class UndefinedSchema(Refusal):
    """No such schema."""

    sqlstate = "3F000"


class GroupingError(Refusal):
    """A column that is neither grouped nor aggregated, or an aggregate where none may stand."""

    sqlstate = "42803"


class TypeMismatch(Refusal):
    """An expression of the wrong type for its place."""

    sqlstate = "42804"


class UndefinedFunction(Refusal):
    """No function or operator for these argument types."""

    sqlstate = "42883"


class AmbiguousFunction(Refusal):
    """A call that fits several functions of one name."""

    sqlstate = "42725"


class DuplicateAlias(Refusal):
    """One name for two entries of FROM."""

    sqlstate = "42712"


class UndefinedTable(Refusal):
    """No such table, or a hidden one; the error is the same."""

    sqlstate = "42P01"


class DuplicatePortal(Refusal):
    """A portal's name that is taken."""

    sqlstate = "42P03"


class DuplicatePreparedStatement(Refusal):
    """A prepared statement's name that is taken."""

    sqlstate = "42P05"


class WindowMisplaced(Refusal):
    """A window function where none may stand, or a frame that does not fit its order."""

    sqlstate = "42P20"


class UndefinedParameter(Refusal):
    """A ``$n`` without a value, or of a type that cannot be determined."""

    sqlstate = "42P18"


class TooManyConnections(Refusal):
    """No connection is left; never used for budgets."""

    sqlstate = "53300"


class TooComplex(Refusal):
    """Over a limit of size: tokens, keys, nesting."""

    sqlstate = "54001"


class PortalState(Refusal):
    """A portal that has run and has no rows, or that only moves forward."""

    sqlstate = "55000"


class FixedSetting(Refusal):
    """A setting that cannot be changed in a session."""

    sqlstate = "55P02"


class Cancelled(Refusal):
    """Cancelled by the client or by a time limit; what was reserved stays charged."""

    sqlstate = "57014"


class ShuttingDown(Refusal):
    """The proxy stops."""

    sqlstate = "57P01"


class CannotConnectNow(Refusal):
    """The database cannot be used for the time being."""

    sqlstate = "57P03"


class IdleSession(Refusal):
    """The client said nothing for longer than idle_session_timeout."""

    sqlstate = "57P05"


class IdleInTransaction(Refusal):
    """The client said nothing in a transaction for longer than idle_in_transaction_session_timeout."""

    sqlstate = "25P03"


class LedgerUnavailable(Refusal):
    """The ledger, or the audit log of exact answers, cannot be written or does not verify: nothing is answered."""

    sqlstate = "58030"


class CatalogueUnavailable(Refusal):
    """The policy catalogue cannot be written: nothing was changed."""

    sqlstate = "58030"


class BudgetExceeded(Refusal):
    """A limit would be exceeded: session, user, budget or ceiling."""

    sqlstate = "PD001"


class UnitLost(Refusal):
    """The privacy unit cannot be followed through this construct."""

    sqlstate = "PD002"


class BoundsMissing(Refusal):
    """A bound, key set, ceiling or budget is not declared."""

    sqlstate = "PD003"


class StartupError(Exception):
    """A reason not to start, one line for the operator; exit status 2."""
