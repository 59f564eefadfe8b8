#!/bin/sh
# Does what compose.yaml needs of the entry point of PostgreSQL's image: makes the database in an empty volume, and runs the files.
set -eu
PATH=$(echo /usr/lib/postgresql/*/bin):$PATH
export PGDATA=/var/lib/postgresql/data
if [ ! -e "$PGDATA/PG_VERSION" ]; then
  echo "$POSTGRES_PASSWORD" > /tmp/password
  initdb --username=postgres --pwfile=/tmp/password --auth-local=trust --auth-host=scram-sha-256 --encoding=UTF8 --locale=C.UTF-8
  echo "host all all all scram-sha-256" >> "$PGDATA/pg_hba.conf"
  pg_ctl --options='-c listen_addresses=' --wait start
  for file in /docker-entrypoint-initdb.d/*; do
    psql --set=ON_ERROR_STOP=1 --username=postgres --no-password --file="$file"
  done
  pg_ctl --mode=fast --wait stop
fi
exec postgres -c 'listen_addresses=*'
