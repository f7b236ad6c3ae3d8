#!/bin/sh
# For /docker-entrypoint-initdb.d of the image postgres: the service's role, with no more rights than it needs, and its database.
set -eu
psql -v ON_ERROR_STOP=1 --no-psqlrc --username "$POSTGRES_USER" --dbname postgres <<'END'
\getenv password ROWPOST_PASSWORD
create role rowpost login createrole nosuperuser nocreatedb noreplication nobypassrls password :'password';
create database rowpost owner rowpost;
revoke all on database rowpost from public;
revoke connect, temporary on database postgres from public;
END
