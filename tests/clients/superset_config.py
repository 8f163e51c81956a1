"""Apache Superset as the tests run it: alone on this machine, its metadata in a file."""

import os
from pathlib import Path

SECRET_KEY = "of the tests alone"
SQLALCHEMY_DATABASE_URI = f"sqlite:///{Path(os.environ.get('SUPERSET_HOME', '.')) / 'superset.db'}"
WTF_CSRF_ENABLED = False
TALISMAN_ENABLED = False
RATELIMIT_ENABLED = False
FEATURE_FLAGS = {"ESTIMATE_QUERY_COST": True}
