"""Answers queries about the database itself (``pg_catalog``, ``information_schema``) from the policy."""

from dpproxy.pgcatalog.catalogue import Catalogue
from dpproxy.pgcatalog.view import CatalogueRelation, CatalogueView

__all__ = ["Catalogue", "CatalogueRelation", "CatalogueView"]
