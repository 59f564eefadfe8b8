#!/bin/sh
# render.sh SETTINGS DIRECTORY: writes the files of this directory there, with the settings of a machine in them.
set -eu
umask 077
settings=$(realpath "$1")
to=$(realpath "$2")
set -a
. "$settings"
names=$(sed -n 's/^\([A-Z]*\)=.*/${\1}/p' "$settings")
cd "$(dirname "$0")"
for file in etcd.yaml patroni.yaml bootstrap.sql haproxy.cfg pgbouncer.ini users.txt nginx.conf archive.sh; do
  envsubst "$names" < "$file" > "$to/$file"
done
