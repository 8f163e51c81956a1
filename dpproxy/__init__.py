"""A privacy layer for SQL: differential privacy over the PostgreSQL wire protocol."""
