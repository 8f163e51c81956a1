"""Answers queries about the database itself (``pg_catalog``, ``information_schema``) from the policy."""

from dpproxy.pgcatalog.catalogue import Catalogue
from dpproxy.pgcatalog.view import CatalogueView, Relation

__all__ = ["Catalogue", "CatalogueView", "Relation"]
