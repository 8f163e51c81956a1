"""The ledger and the released answers."""
