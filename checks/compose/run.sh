#!/usr/bin/env bash
# Does what the documents say of Docker and Compose: each command that they print, by Debian 13's Docker, in a network of its own. No
# registry of images is asked: Debian's packages, and the Node.js and npm of npm, stand in for what deploy/ names by digests. It needs root,
# the packages of `npm ci`, Debian's packages mmdebstrap and slirp4netns, and the network.
set -euo pipefail
cd "$(dirname "$0")/../.."

for program in mmdebstrap slirp4netns; do
  command -v "$program" > /dev/null || { echo "skipped: $program is not here"; exit; }
done

debian=$PWD/.data/compose/debian
if [ ! -d "$debian" ]; then
  mkdir -p "$debian.part"
  mmdebstrap --quiet --variant=minbase --dpkgopt=force-unsafe-io --dpkgopt='path-exclude=/usr/share/doc/*' trixie "$debian.part" --include="$(echo \
    docker.io docker-cli docker-compose docker-buildx iptables iproute2 ca-certificates curl git jq openssl \
    postgresql redis-server caddy prometheus docker-registry python3-pip wget | tr ' ' ',')"
  cp node_modules/node/bin/node "$debian.part/usr/local/bin/"
  npm install --global --prefix="$debian.part/usr/local" --loglevel=error npm@11
  # The authorities that this machine trusts: that of a proxy may be one of them.
  cp /etc/ssl/certs/ca-certificates.crt "$debian.part/etc/ssl/certs/"
  mkdir -p "$debian.part/usr/local/etc"
  echo cafile=/etc/ssl/certs/ca-certificates.crt > "$debian.part/usr/local/etc/npmrc"
  mv "$debian.part" "$debian"
fi

work=$(mktemp -d)
root=$work/root
source=/srv/route-planning-service
mkdir -p "$work/upper" "$work/work" "$root" .data/compose/docker

cleanUp() {
  kill -KILL ${machine-} ${slirp-} 2> /dev/null || true
  wait
  umount "$root"
  rm -rf "$work"
}
trap cleanUp EXIT
fail() {
  echo "FAILED: $*"
  inside 'docker compose logs --tail=30' || tail -n 20 "$work/docker.log"
  exit 1
}

mount -t overlay overlay -o "lowerdir=$debian,upperdir=$work/upper,workdir=$work/work" "$root"
cp --dereference /etc/resolv.conf "$root/etc/resolv.conf"
git clone --quiet . "$root$source"
# Docker's own overlays are on no other.
mkdir -p "$root/var/lib/docker"
unshare --mount --net --pid --fork sh -c '
  cd "$1"
  mount --rbind /sys sys && mount --rbind /dev dev && mount -t proc proc proc
  mount -t tmpfs tmpfs run && mount -t tmpfs tmpfs tmp && mount --bind "$2" var/lib/docker
  ip link set lo up
  # `docker exec` ends outside of the container where the root of the machine is not that of its namespace.
  pivot_root . mnt && cd / && umount --lazy /mnt
  exec dockerd' sh "$root" "$PWD/.data/compose/docker" > "$work/docker.log" 2>&1 &
until machine=$(pgrep --parent "$!") && [ "$(readlink "/proc/$machine/ns/net")" != "$(readlink /proc/self/ns/net)" ]; do sleep 0.1; done
slirp4netns --configure --mtu=1500 --disable-host-loopback "$machine" tap0 > "$work/slirp.log" 2>&1 &
slirp=$!

# Runs a command in the machine, in the directory of Compose.
inside() { nsenter --target="$machine" --mount --net --pid --root --wd env -i HOME=/root PATH=/usr/local/bin:/usr/sbin:/usr/bin bash -euc "cd $source/${directory-deploy}; $1"; }
directory=
within() { for _ in $(seq "$1"); do inside "$2" > "$work/log" 2>&1 && return; sleep 1; done; fail "$2: $(cat "$work/log")"; }
within 300 "docker info"
# Of a run that was broken off.
inside 'docker ps --all --quiet | xargs --no-run-if-empty docker rm --force --volumes && docker system prune --force --volumes && docker volume prune --all --force' > "$work/log"

commit=$(git rev-parse HEAD)
inside 'git config --global --add safe.directory "*"'
mapfile -t images < <(cd "$root$source" && sed --quiet --regexp-extended 's/^(FROM| *image:) (\S+)@sha256:.*/\2/p' Dockerfile deploy/valhalla/Dockerfile deploy/compose.yaml | sort -u)
sed -i --regexp-extended 's/^(FROM| *image:)( \S+)@sha256:[0-9a-f]+/\1\2/' "$root$source/Dockerfile" "$root$source/deploy/valhalla/Dockerfile" "$root$source/deploy/compose.yaml"
if ! inside 'docker image inspect debian' > /dev/null 2>&1; then
  tar --create --directory="$debian" --exclude=./var/cache --exclude=./var/lib/apt --exclude=./usr/share/locale . | inside 'docker import - debian' > /dev/null
fi
cp -r checks/compose "$root/srv/stand-ins"
for image in "${images[@]}"; do
  target=$(basename "${image%%:*}")
  inside "docker build --quiet --target=$target --tag=$image /srv/stand-ins" > /dev/null || fail "the stand-in of $image"
done

# A command must be in a document as it is run.
documents=(README.md deploy/README.md docs/hosting.md docs/operations.md docs/runbook.md docs/upgrading.md)
said=()
says() {
  grep --quiet --fixed-strings -- "$1" "${documents[@]}" || fail "no document says: $1"
  said+=("$1")
  began=$SECONDS
  inside "${2-$1}" > "$work/log" 2>&1 || fail "$1: $(cat "$work/log")"
  echo "$1: $((SECONDS - began)) s"
}
holds() { inside "$1" > "$work/log" 2>&1 || fail "$1: $(cat "$work/log")"; }

unset directory
says 'cp .env.example .env'
sed --quiet 's/^#   //p' "$root$source/deploy/.env.example" > "$root$source/deploy/secrets.sh"
holds '. ./secrets.sh'
setting() { sed -i "/^#\?$1=/d" "$root$source/deploy/.env"; echo "$1=$2" >> "$root$source/deploy/.env"; }
setting BASE_URL https://localhost
setting PROVIDER_SIGN_IN_ENABLED false
setting ADMIN_EMAILS ada@routes.test
for profiles in '' tls redis maps observe tls,redis,maps,observe; do
  holds "COMPOSE_PROFILES=$profiles docker compose config --quiet"
done

says 'REVISION=$(git rev-parse HEAD) docker compose up --build --detach'
within 300 'curl --silent --fail http://127.0.0.1:3000/health/ready'
inside "docker compose ps --format '{{.Service}}: {{.Status}}'"
inside "docker stats --no-stream --format '{{.Name}}: {{.MemUsage}}'"
holds 'docker compose exec service id'
grep --quiet '^uid=1000' "$work/log" || fail "the service runs as $(cat "$work/log")"
holds 'docker compose exec service touch /tmp/x'
holds '! docker compose exec service touch /app/x'
holds '[ "$(curl --silent --output /dev/null --write-out "%{http_code}" http://127.0.0.1:3000/metrics)" = 404 ]'
says 'docker compose exec service node src/user.ts create <email>' 'docker compose exec service node src/user.ts create ada@routes.test'
token=$(grep --only-matching 'token=[^ ]*' "$work/log" | cut -d= -f2)
says 'docker compose exec postgres psql --username=postgres' 'docker compose exec postgres psql --username=postgres --command="SELECT rolname FROM pg_roles WHERE rolsuper"'
! grep --quiet service "$work/log" || fail "the service's role is a superuser"

# The other profiles, of which Caddy gives the certificate.
setting COMPOSE_PROFILES tls,redis,maps,observe
setting REDIS_URL redis://redis:6379
setting OTEL_EXPORTER_OTLP_ENDPOINT http://collector:4318
setting PORT 3000-3001
extract=$(ls .data/engine/*/town.osm.pbf 2> /dev/null | head -n 1 || true)
if [ -n "$extract" ]; then install -D --mode=644 "$extract" "$root$source/deploy/extract/town.osm.pbf"; fi
says 'REVISION=$(git rev-parse HEAD) docker compose up --build --detach'
within 300 "docker compose logs service | grep --fixed-strings '$commit'"
says 'docker compose up --detach --scale service=2'
within 300 'curl --silent --fail http://127.0.0.1:3000/health/ready && curl --silent --fail http://127.0.0.1:3001/health/ready'
holds 'docker compose cp caddy:/data/caddy/pki/authorities/local/root.crt /tmp/root.crt'
call() { echo "curl --silent --fail --retry 30 --retry-delay 1 --cacert /tmp/root.crt --header 'Content-Type: application/json' https://localhost$1"; }
within 300 "$(call /health/ready)"
holds "[ \$($(call '/metrics --output /dev/null --write-out %{http_code}' | sed 's/ --fail//')) = 404 ]"
holds "$(call /api/v1/auth/reset-password) --data '{\"token\":\"$token\",\"password\":\"a long enough password\"}'"
holds "$(call /api/v1/auth/login-email) --data '{\"email\":\"ada@routes.test\",\"password\":\"a long enough password\"}'"
session=$(jq --raw-output .accessToken "$work/log")
holds "$(call /api/v1/routes) --header 'Authorization: Bearer $session' --data '{\"name\":\"Around\",\"activity\":\"cycle\",\"waypoints\":[{\"coord\":[9.52,47.14],\"type\":\"routed\"}],\"geometry\":[[9.52,47.14,455],[9.53,47.15,470]]}'"
holds "$(call /api/v1/admin/system) --header 'Authorization: Bearer $session'"
jq --compact-output '{service, warnings}' "$work/log"
if [ -n "$extract" ]; then within 120 "$(call /health/ready) | grep --fixed-strings '\"routingEngine\":{\"status\":\"ok\"'"; fi
inside "docker compose ps --format '{{.Service}}: {{.Status}}'"
within 300 "docker compose exec prometheus wget --quiet --output-document=- 'http://127.0.0.1:9090/api/v1/query?query=sum(up{job=\"route-planning-service\"})' | grep --fixed-strings '\"2\"'"
# Counts are kept for the current minute only.
holds "$(call /api/v1/routes/public) && docker compose exec redis redis-cli --scan | grep ."

says 'docker compose exec postgres pg_dump --username=service --format=custom service > backup.dump'
says 'docker compose stop service'
says 'docker compose exec postgres dropdb --username=postgres service'
says 'docker compose exec postgres createdb --username=postgres --owner=service service'
says 'docker compose exec -T postgres pg_restore --username=service --dbname=service --no-owner < backup.dump'
says 'docker compose start service'
within 300 'curl --silent --fail http://127.0.0.1:3000/health/ready'
within 300 "$(call /api/v1/routes) --header 'Authorization: Bearer $session' | grep Around"

directory=
says 'docker build --build-arg REVISION=$(git rev-parse HEAD) --build-arg SOURCE=<address of the repository> .' \
  'docker build --quiet --tag=labelled --build-arg REVISION=$(git rev-parse HEAD) --build-arg SOURCE=https://routes.test . &&
  docker image inspect --format="{{.Config.Labels}}" labelled'
grep --quiet "revision:$commit" "$work/log" || fail "the label of the commit"

# A registry of the machine has one of the images, and prints its digest when it is pushed.
printf '%s\n' 'version: 0.1' 'storage: { filesystem: { rootdirectory: /tmp/registry } }' 'http: { addr: 127.0.0.1:5000 }' > "$root$source/registry.yml"
inside 'docker-registry serve registry.yml' > "$work/registry.log" 2>&1 &
within 60 'curl --silent --fail http://127.0.0.1:5000/v2/'
holds "docker tag ${images[0]} localhost:5000/${images[0]} && docker push localhost:5000/${images[0]}"
digest=$(grep --only-matching 'sha256:[0-9a-f]*' "$work/log" | tail -n 1)
says 'docker buildx imagetools inspect NAME:VERSION' "docker buildx imagetools inspect localhost:5000/${images[0]}"
grep --quiet "^Digest: *$digest" "$work/log" || fail "imagetools prints another digest than $digest: $(cat "$work/log")"

printf '%s\n' "${said[@]}" > "$work/said"
missing=$(grep --no-filename --only-matching --extended-regexp '`(REVISION=\S+ \S+ \S+ )?docker [^`]+`|^(REVISION=.*)?docker .*' "${documents[@]}" | tr -d '`' | grep --invert-match --fixed-strings --file="$work/said" || true)
[ -z "$missing" ] || fail "documents say what did not run: $missing"
unset directory
inside 'docker compose down --volumes' > /dev/null 2>&1
echo "passed"
