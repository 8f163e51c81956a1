#!/bin/sh
# The reader's password is the environment's: it is in no file of the image.
set -eu
psql --quiet --set ON_ERROR_STOP=1 --set word="$READER_PASSWORD" --username "$POSTGRES_USER" --dbname "$POSTGRES_DB" <<'SQL'
ALTER ROLE dpproxy_reader PASSWORD :'word';
SQL
