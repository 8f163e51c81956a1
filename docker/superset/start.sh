#!/bin/sh
# The first start makes the administrator and the connection to the proxy; a later one finds them.
set -eu
superset db upgrade
superset fab create-admin --username admin --firstname Superset --lastname Admin --email admin@example.org \
  --password "$ADMIN_PASSWORD"
superset init
superset set-database-uri --database_name clinic \
  --uri "postgresql+psycopg2://dashboards:$ANALYST_PASSWORD@proxy:6432/clinic"
exec gunicorn --bind 0.0.0.0:8088 --worker-class gthread --threads 8 --timeout 120 'superset.app:create_app()'
