"""The PostgreSQL frontend/backend protocol 3.0, without input or output."""
