"""Differentially private mechanisms for DuckDB."""

from udfs.register import register

__all__ = ["register"]
