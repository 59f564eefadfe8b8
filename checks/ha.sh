#!/usr/bin/env bash
# Does what deploy/ha/README.md says on three machines with Debian 13, each in a network of its own: its blocks of commands one after
# another, with two processes of the service and clients that write. Then the power of the leader's machine goes, and the cluster goes on from
# a restored backup. systemd-nspawn runs the machines. It needs root, the packages of `npm ci`, Debian's packages debootstrap,
# systemd-container, iproute2 and jq, and the network for the packages of the machines.
set -euo pipefail
cd "$(dirname "$0")/.."

page=deploy/ha/README.md
debian=$PWD/.data/ha/debian
packages=$PWD/.data/ha/packages
source=/srv/deploy/ha
path=/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin

# The block of the page that has these words.
block() {
  awk -v words="$1" '/^```sh$/ { inside = 1; text = ""; next } /^```$/ { if (inside && index(text, words)) { printf "%s", text; found = 1 } inside = 0 }
    inside { text = text $0 "\n" } END { exit !found }' "$page"
}

# systemd-nspawn keeps its state in /run, which is no file system in memory everywhere. Machines that share a control group remove the
# groups of each other's units.
machine() {
  unshare --mount sh -euc 'mount -t tmpfs tmpfs /run
    for hierarchy in /sys/fs/cgroup /sys/fs/cgroup/systemd /sys/fs/cgroup/unified; do
      [ -f $hierarchy/cgroup.procs ] || continue
      mkdir $hierarchy/check-ha-$$
      echo $$ > $hierarchy/check-ha-$$/cgroup.procs
    done
    exec systemd-nspawn --quiet --register=no --keep-unit --console=pipe "$@"' sh "$@" < /dev/null
}

if [ ! -d "$packages" ]; then
  if [ ! -d "$debian" ]; then
    mkdir -p "$debian"
    debootstrap --variant=minbase --include=systemd,systemd-sysv,dbus,ca-certificates trixie "$debian" || { rm -rf "$debian"; exit 1; }
  fi
  work=$(mktemp -d)
  trap 'umount "$work/root" 2> /dev/null; rm -rf "$work"' EXIT
  rm -rf "$packages.part" "$packages.work"
  mkdir -p "$packages.part" "$packages.work" "$work/root"
  mount -t overlay overlay -o "lowerdir=$debian,upperdir=$packages.part,workdir=$packages.work" "$work/root"
  # Nobody needs these files after a crash. The authorities that this machine trusts: that of a proxy may be one of them.
  echo force-unsafe-io > "$work/root/etc/dpkg/dpkg.cfg.d/check"
  cp /etc/ssl/certs/ca-certificates.crt "$work/root/etc/ssl/authorities.crt"
  machine --directory="$work/root" --resolv-conf=copy-host --setenv=PIP_CERT=/etc/ssl/authorities.crt --setenv=DEBIAN_FRONTEND=noninteractive \
    /bin/bash -euxc "$(block 'apt-get install')"
  umount "$work/root"
  mv "$packages.part" "$packages"
fi

# A network that has these machines only.
if [ -z "${NETWORK_OF_CHECK-}" ]; then NETWORK_OF_CHECK=own exec unshare --mount --net bash "$0"; fi

work=$(mktemp -d)
declare -A boot machines
processes=()
cleanUp() {
  kill -KILL "${processes[@]}" "${boot[@]}" "${machines[@]}" 2> /dev/null || true
  wait 2> /dev/null
  for root in "$work"/*/root; do umount "$root"; done
  timeout 10 sh -c "until find /sys/fs/cgroup -depth -type d -path '*/check-ha-*' -exec rmdir {} +; do sleep 0.1; done" 2> /dev/null || true
  rm -rf "$work"
}
trap cleanUp EXIT
fail() {
  echo "FAILED: $*"
  tail -n 20 "$work"/*.log
  for name in "${!machines[@]}"; do inside "$name" 'journalctl --no-pager --lines=20 --unit=routes-patroni' || true; done
  exit 1
}

ip link set lo up
ip link add routes type bridge
ip address add 10.0.0.1/24 dev routes
ip link set routes up

declare -A addresses=([one]=10.0.0.11 [two]=10.0.0.12 [three]=10.0.0.13)
mkdir "$work/archive"
power() {
  machine --directory="$work/$1/root" --bind="$work/archive:/mnt/archive" --network-bridge=routes --machine="$1" --boot > "$work/$1.log" 2>&1 &
  until boot[$1]=$(pgrep --parent "$!") && pid=$(pgrep --parent "${boot[$1]}") && [ "$(readlink "/proc/$pid/ns/net")" != "$(readlink /proc/self/ns/net)" ]; do
    kill -0 "$!" || fail "no machine $1"
    sleep 0.1
  done
  machines[$1]=$pid
  until nsenter --target="$pid" --net ip link show host0 > /dev/null 2>&1; do sleep 0.1; done
  nsenter --target="$pid" --net sh -c "ip link set lo up; ip address add ${addresses[$1]}/24 dev host0; ip link set host0 up"
  within "$1" 'systemctl is-system-running | grep --extended-regexp "running|degraded"'
}
inside() {
  nsenter --target="${machines[$1]}" --mount --uts --ipc --net --pid --root --wd env -i HOME=/root PATH="$path" LANG=C.UTF-8 bash -euc "cd $source; $2"
}
holds() { inside "$1" "$2" > "$work/log" 2>&1 || fail "$1: $2: $(cat "$work/log")"; }
within() { for _ in $(seq 240); do inside "$1" "$2" > "$work/log" 2>&1 && return; sleep 1; done; fail "$1: $2: $(cat "$work/log")"; }
# As the page says it, by the user that it names.
does() {
  echo "$1: $(block "$2" | head -n 1)"
  holds "$1" "$(block "$2")"
}
asPostgres() { echo "runuser -u postgres -- bash -euc $(printf %q "$1")"; }
cluster() { inside "$1" "$(block 'patroni.yaml list') -f json" 2> /dev/null; }
leader() { cluster "$1" | jq --raw-output '.[] | select(.Role == "Leader" and .State == "running") | .Member'; }
# All three, of which one has each commit before it is acknowledged.
whole() {
  for _ in $(seq 240); do
    [ "$(cluster "$1" | jq --raw-output '[.[] | select(.State == "running" or .State == "streaming") | .Role] | sort | join(" ")')" = "Leader Replica Sync Standby" ] && return
    sleep 1
  done
  fail "the cluster is not whole: $(cluster "$1")"
}

for name in one two three; do
  mkdir -p "$work/$name/upper" "$work/$name/work" "$work/$name/root"
  mount -t overlay overlay -o "lowerdir=$packages:$debian,upperdir=$work/$name/upper,workdir=$work/$name/work" "$work/$name/root"
  mkdir -p "$work/$name/root/srv/deploy"
  cp -r deploy/ha "$work/$name/root/srv/deploy/"
  power "$name"
  does "$name" 'systemctl disable'
  holds "$name" "sed -i 's/^NAME=.*/NAME=$name/; s/^HERE=.*/HERE=${addresses[$name]}/; s/^PASSWORD=.*/PASSWORD=of-the-check/' /etc/routes.env"
  does "$name" './render.sh'
done
whole one
cluster one | jq --compact-output '.[]'

for command in 'haproxy -f haproxy.cfg' 'pgbouncer pgbouncer.ini'; do
  holds one "systemd-run --quiet --uid=postgres --working-directory=/var/lib/postgresql/routes $command"
done
holds one 'cp /var/lib/postgresql/routes/nginx.conf /etc/nginx/conf.d/routes.conf && systemctl restart nginx'

# The first process finds the leader itself, the second by PgBouncer.
export JWT_SECRET=$(openssl rand -base64 48) ANALYTICS_SALT=$(openssl rand -base64 48) PAT_PEPPER=$(openssl rand -base64 48)
export BASE_URL=https://routes.test PROVIDER_SIGN_IN_ENABLED=false TRUSTED_PROXIES=10.0.0.0/24 RATE_LIMIT_MAX=100000
settings() { block "$1" | sed 's/PASSWORD/of-the-check/g; s/ *#.*//'; }
process() {
  mapfile -t own < <(settings "$2")
  nsenter --target="${machines[$1]}" --net env HOST="${addresses[$1]}" PORT=3000 "${own[@]}" ./node.sh src/main.ts > "$work/$1.service.log" 2>&1 &
  processes+=("$!")
  within one "bash -c 'exec 3<> /dev/tcp/${addresses[$1]}/3000'"
}
process one 'DATABASE_READ_URL='
process two 'DATABASE_LISTEN_URL='
front() { curl --silent --fail --max-time 30 --header 'Content-Type: application/json' "http://10.0.0.11:$1$2" "${@:3}"; }
for port in 8080 8081; do
  timeout 300 bash -c "until curl --silent --fail --output /dev/null http://10.0.0.11:$port/health/ready; do sleep 0.5; done" || fail "the front at $port"
done
mapfile -t own < <(settings 'DATABASE_READ_URL=')
env "${own[@]}" ./node.sh src/user.ts create ada@routes.test > "$work/user.log" 2>&1 || fail "no account"
token=$(grep --only-matching 'token=[^ ]*' "$work/user.log" | cut -d= -f2)
front 8080 /api/v1/auth/reset-password --data "{\"token\":\"$token\",\"password\":\"a long enough password\"}" > /dev/null || fail "no password"
session=$(front 8081 /api/v1/auth/login-email --data '{"email":"ada@routes.test","password":"a long enough password"}' | jq --raw-output .accessToken)
store() {
  front "${2-8080}" /api/v1/routes --header "Authorization: Bearer $session" --header "Idempotency-Key: $1" \
    --data "{\"name\":\"$1\",\"activity\":\"cycle\",\"waypoints\":[{\"coord\":[9.52,47.14],\"type\":\"routed\"}],\"geometry\":[[9.52,47.14,455],[9.53,47.15,470]]}"
}
names() { front 8080 '/api/v1/routes' --header "Authorization: Bearer $session" | jq --raw-output '[.[].name] | sort | join(" ")'; }
# A route that is stored as soon as it can be.
stored() {
  began=$(date +%s%N)
  for _ in $(seq 240); do store "$@" > /dev/null 2>&1 && break; sleep 1; done
  echo "$1: stored after $((($(date +%s%N) - began) / 1000000)) ms, the leader is $(leader "${3-one}")"
}
stored first
stored second 8081

before=$(leader one)
does two 'switchover --force'
stored switched
[ "$(leader one)" != "$before" ] || fail "$before still leads"
whole one
before=$(leader one)
holds "$before" 'kill -9 $(head -n 1 /var/lib/postgresql/routes/data/postmaster.pid)'
stored killed
[ "$(leader one)" != "$before" ] || fail "$before still leads"
whole one

# The fronts are on the first machine: its power stays.
until [ "$(leader one)" != one ]; do does one 'switchover --force'; whole one; done
before=$(leader one)
kill -KILL "${boot[$before]}" "${machines[$before]}"
if [ "$before" = two ]; then kill -KILL "${processes[1]}" 2> /dev/null || true; fi
tail --pid="${machines[$before]}" --follow /dev/null
stored dark
[ "$(leader one)" != "$before" ] || fail "$before still leads"
power "$before"
whole one
[ "$(names)" = "dark first killed second switched" ] || fail "routes: $(names)"

holds one "$(asPostgres "$(block ./backup.sh)")"
stored kept
holds "$(leader one)" "$(asPostgres "psql --host=/var/lib/postgresql/routes --command='SELECT pg_switch_wal()'")"
sleep 2
time=$(date --utc '+%F %T UTC')
sleep 2
stored lost
holds "$(leader one)" "$(asPostgres "psql --host=/var/lib/postgresql/routes --command='SELECT pg_switch_wal()'")"
within one "ls /mnt/archive/wal/*"
holds one "$(asPostgres "$(block ./restore.sh | sed "s/'[^']*UTC'/'$time'/")")"
for name in one two three; do holds "$name" 'systemctl stop routes-patroni'; done
echo "one: $(block 'remove routes' | head -n 1)"
holds one "printf 'routes\nYes I am aware\n' | { $(block 'remove routes'); }"
within one "$(block 'patroni.yaml list') | grep Leader"
for name in two three; do holds "$name" "$(block 'postgresql/before' | head -n 1); systemctl start routes-patroni"; done
whole one
stored after
[ "$(names)" = "after dark first kept killed second switched" ] || fail "routes: $(names)"
holds "$(leader one)" "$(asPostgres "psql --host=/var/lib/postgresql/routes --command='SELECT pg_switch_wal()'")"
# The next restore has what the cluster archived since it went on from this one, as soon as it is archived.
within one "rm -rf /var/lib/postgresql/restored
  $(asPostgres "$(block ./restore.sh | sed "s/'[^']*UTC'//")
    echo 'SELECT name FROM routes' | /usr/lib/postgresql/17/bin/postgres --single -D /var/lib/postgresql/restored routes | grep after")"
inside one "$(block 'patroni.yaml list' | sed 's/list/show-config/')" | grep synchronous_mode || fail "the restored cluster acknowledges commits before a second machine has them"
echo "passed"
