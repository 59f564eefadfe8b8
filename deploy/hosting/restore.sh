#!/bin/sh
# Restores a backup in place of a database of this machine, whose service is stopped. The database is kept under the name
# that is printed: restore.sh DATABASE OWNER BACKUP
set -eu
database=$1 owner=$2 backup=$3
restored="$database-restored"
before="$database-before-$(date --utc +%Y%m%dT%H%M%SZ)"

dropdb --if-exists "$restored"
createdb --owner="$owner" --template=template0 --encoding=UTF8 --locale=C.UTF-8 "$restored"
pg_restore --no-owner --role="$owner" --exit-on-error --single-transaction --dbname="$restored" "$backup"
psql --quiet --dbname=postgres --set=ON_ERROR_STOP=1 --single-transaction \
  --command="ALTER DATABASE \"$database\" RENAME TO \"$before\"" \
  --command="ALTER DATABASE \"$restored\" RENAME TO \"$database\""
echo "$backup restored; the database of before is $before"
