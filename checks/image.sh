#!/usr/bin/env bash
# Builds the image twice, compares the two, and starts it as Kubernetes does: as its own user, without capabilities, read-only but for /tmp.
# No registry is asked: Debian's packages, and the Node.js and npm of npm, stand in for the base that the Dockerfile names by its digest. It
# needs root, the packages of `npm ci`, and Debian's packages buildah, mmdebstrap, systemd-container and postgresql.
set -euo pipefail
cd "$(dirname "$0")/.."

for program in buildah mmdebstrap systemd-nspawn pg_virtualenv; do
  command -v "$program" > /dev/null || { echo "skipped: $program is not here"; exit; }
done
[ -n "${PGPORT-}" ] || exec pg_virtualenv -t -i --locale=C.UTF-8 -i --encoding=UTF8 "$0"

work=$(mktemp -d)
trap 'images umount --all > /dev/null; rm -rf "$work"' EXIT
images() { buildah --root="$PWD/.data/image" --runroot="$work/run" "$@"; }

base=docker.io/library/$(sed --quiet 's/^FROM \(.*\)@.* AS .*/\1/p' Dockerfile)
if ! images inspect --type=image "$base" > /dev/null 2>&1; then
  mmdebstrap --quiet --variant=minbase --dpkgopt='path-exclude=/usr/share/doc/*' --dpkgopt='path-exclude=/usr/share/locale/*' \
    bookworm "$work/base.tar"
  container=$(images from scratch)
  root=$(images mount "$container")
  tar --extract --file="$work/base.tar" --directory="$root"
  cp node_modules/node/bin/node "$root/usr/local/bin/"
  npm install --global --prefix="$root/usr/local" --loglevel=error npm@11
  # The authorities that this machine trusts: that of a proxy may be one of them.
  install -D --mode=644 /etc/ssl/certs/ca-certificates.crt "$root/usr/local/etc/authorities.crt"
  echo cafile=/usr/local/etc/authorities.crt > "$root/usr/local/etc/npmrc"
  useradd --root "$root" --uid=1000 --create-home node
  images config --env=PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin "$container"
  images commit --quiet --rm "$container" "$base"
fi

sed 's/^\(FROM [^@]*\)@[^ ]*/\1/' Dockerfile > "$work/Dockerfile"
commit=$(git rev-parse HEAD)
time=$(git log -1 --format=%ct "$commit")
build() {
  images build --quiet --no-cache --pull-never --isolation=chroot --format=docker --timestamp="$time" \
    --build-arg=REVISION="$commit" --file="$work/Dockerfile" --tag="$1" . > "$work/log" 2>&1
}
for name in first second; do
  # On a busy machine buildah sometimes cannot seal the copy of itself that it runs.
  until build "$name"; do
    grep --quiet 'sealing memfd copy' "$work/log" || { cat "$work/log"; exit 1; }
  done
done
images images
# The digest of the whole is also of the name of the container in which buildah made it.
contents() { images inspect --type=image --format='{{.OCIv1.RootFS.DiffIDs}} {{.OCIv1.Config}}' "$1"; }
[ "$(contents localhost/first)" = "$(contents localhost/second)" ] || { echo "FAILED: the images differ"; exit 1; }

port=$((20000 + RANDOM % 10000))
secret=$(openssl rand -base64 48)
settings=(HOST=127.0.0.1 "PORT=$port" "DATABASE_URL=postgres://$PGUSER:$PGPASSWORD@127.0.0.1:$PGPORT/postgres" "JWT_SECRET=$secret"
  "ANALYTICS_SALT=$secret" "PAT_PEPPER=$secret" PROVIDER_SIGN_IN_ENABLED=false METRICS_ALLOWED_CIDRS=127.0.0.1/32 BASE_URL=https://routes.test)
container=$(images from --pull-never localhost/first)
root=$(images mount "$container")
mapfile -t environment < <(images inspect --type=image --format='{{range .OCIv1.Config.Env}}{{println .}}{{end}}' localhost/first | grep .)
start() {
  began=$(date +%s%N)
  # systemd-nspawn keeps its state in /run, which is no file system in memory everywhere.
  unshare --mount sh -c 'mount -t tmpfs tmpfs /run && exec systemd-nspawn --quiet --register=no --keep-unit --console=pipe "$@"' \
    sh --directory="$root" --read-only --tmpfs=/tmp:mode=1777 --user=node --drop-capability=all --no-new-privileges=yes --chdir=/app \
    --kill-signal=SIGTERM "${environment[@]/#/--setenv=}" "${settings[@]/#/--setenv=}" ./node.sh src/main.ts < /dev/null > "$work/log" 2>&1 &
  until curl --silent --fail --output /dev/null "http://127.0.0.1:$port/health/ready"; do
    kill -0 "$!" 2> /dev/null || { cat "$work/log"; exit 1; }
    sleep 0.05
  done
  echo "$1: ready in $((($(date +%s%N) - began) / 1000000)) ms, $(curl --silent "http://127.0.0.1:$port/metrics" |
    sed --quiet 's/^process_resident_memory_bytes.* //p' | numfmt --to=iec) of memory"
  kill "$!"
  wait "$!" || true
  grep --max-count=1 --only-matching '"message":"stopped".*' "$work/log" || { cat "$work/log"; exit 1; }
}
start "with migrations"
start "again"
images rm "$container" > /dev/null
