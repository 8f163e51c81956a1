"""What clients ask about the database itself, answered from the policy."""

from dpproxy.pgcatalog.catalogue import Catalogue
from dpproxy.pgcatalog.view import CatalogueView, Relation

__all__ = ["Catalogue", "CatalogueView", "Relation"]
