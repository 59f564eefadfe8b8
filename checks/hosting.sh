#!/usr/bin/env bash
# Does on a fresh Debian what docs/hosting.md and docs/upgrading.md say: their blocks of commands one after another, and between them what
# people do in a browser. On Debian 13 with the argument trixie.
# systemd-nspawn runs the machine, with a network of its own once its packages are there. It needs root, Debian's packages debootstrap
# and systemd-container, Go for Pebble, the server of Let's Encrypt for tests, and the network for the packages.
set -euo pipefail
cd "$(dirname "$0")/.."

suite=${1:-bookworm}
debian=$PWD/.data/hosting/$suite
if [ ! -d "$debian" ]; then
  mkdir -p "$debian"
  debootstrap --variant=minbase --include=systemd,systemd-sysv,dbus,ca-certificates "$suite" "$debian" || { rm -rf "$debian"; exit 1; }
fi

CGO_ENABLED=0 GOBIN=$PWD/.data/hosting go install github.com/letsencrypt/pebble/v2/cmd/pebble@v2.10.3

work=$(mktemp -d)
root=$work/root
trap 'umount "$root" 2> /dev/null; rm -rf "$work"' EXIT
mkdir "$work/upper" "$work/work" "$root"
mount -t overlay overlay -o "lowerdir=$debian,upperdir=$work/upper,workdir=$work/work" "$root"

# Nobody needs these files after a crash.
echo force-unsafe-io > "$root/etc/dpkg/dpkg.cfg.d/check"

check=$root/check
mkdir "$check" "$check/node_modules"
git clone --quiet --bare . "$root/srv/source.git"
# The next version, which is there when it is fetched: a migration, a change of a file of the machine, and another name of a job, so that a
# process of the version before cannot use its threads.
git clone --quiet "$root/srv/source.git" "$work/next"
printf 'import { Effect } from "effect"\n\nexport default Effect.void\n' > "$work/next/migrations/9999_next.ts"
sed -i 's/^Description=.*/& (next)/' "$work/next/deploy/hosting/route-planning-service@.service"
sed -i 's/"read new route"/"read next route"/' "$work/next/src/services/routes/RouteJobs.ts"
git -C "$work/next" add .
git -C "$work/next" -c user.name=check -c user.email=check@routes.test commit --quiet --message=Next
git -C "$work/next" push --quiet origin HEAD:refs/heads/next
cp checks/hostingMachine.sh checks/hostingPeople.ts .data/hosting/pebble "$check"
# The authorities that this machine trusts: that of a proxy may be one of them.
cp /etc/ssl/certs/ca-certificates.crt "$check"
awk -v folder="$check" '
  /^```sh$/ { inside = 1; file = sprintf("%s/block-%02d", folder, ++count); next }
  /^```$/ { inside = 0 }
  inside { print > file }
' docs/hosting.md docs/upgrading.md

cat > "$root/etc/systemd/system/check.service" << 'UNIT'
[Unit]
After=postgresql.service redis-server.service nginx.service
[Service]
Type=oneshot
StandardOutput=file:/check/log
StandardError=inherit
ExecStart=/bin/bash /check/hostingMachine.sh check
ExecStopPost=/bin/systemctl poweroff --no-block
UNIT
ln -s ../check.service "$root/etc/systemd/system/multi-user.target.wants/check.service"

# systemd-nspawn keeps its state in /run, which is no file system in memory everywhere.
machine() {
  unshare --mount sh -c 'mount -t tmpfs tmpfs /run && exec systemd-nspawn --quiet --register=no --keep-unit --console=pipe "$@"' \
    sh --directory="$root" --bind-ro="$PWD/node_modules:/check/node_modules" "$@" < /dev/null
}

machine --resolv-conf=copy-host /bin/bash /check/hostingMachine.sh packages
machine --private-network --boot > /dev/null
cat "$check/log"
test -f "$check/passed"
