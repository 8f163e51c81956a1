"""Differentially private mechanisms for DuckDB."""
