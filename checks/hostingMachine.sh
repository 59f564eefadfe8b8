#!/usr/bin/env bash
# Runs in the machine of checks/hosting.sh: first the blocks that need a network ("packages"), then, after a boot, the others ("check").
set -euo pipefail
cd /check
export DEBIAN_FRONTEND=noninteractive LANG=C.UTF-8

service=/opt/route-planning-service

fail() {
  echo "FAILED: $*"
  exit 1
}

people() {
  NODE_EXTRA_CA_CERTS=/check/root.pem /check/node /check/hostingPeople.ts "$@"
}

served() { openssl s_client -connect 127.0.0.1:443 -servername "$DOMAIN" < /dev/null 2> /dev/null | openssl x509 -noout -serial; }

# A process that was started before an installation, or before the way back, uses modules that it has not loaded yet.
loads() { SERVER=http://127.0.0.1:$1 people load "https://$DOMAIN" || fail "port $1 lacks modules of its version"; }

# In place of npm and systemctl where blocks call them. The first process loads modules once an installation has taken them from it, or has
# ended; the second one just before its restart.
npm() {
  if [ "$1" != ci ]; then command npm "$@"; return; fi
  local modules installation
  modules=/proc/$(systemctl show --value --property=MainPID route-planning-service@3000)/cwd/node_modules/archiver
  command npm "$@" &
  installation=$!
  while [ -e "$modules" ] && kill -0 "$installation"; do sleep 0.1; done 2> /dev/null
  loads 3000
  wait "$installation"
}
systemctl() {
  case "$*" in restart*@3001) loads 3001 ;; esac
  command systemctl "$@"
}

# The last start of a unit has these words in the log, whose lines are written together.
starts() {
  for _ in $(seq 300); do
    journalctl --unit="$1" --output=cat | grep '"message":"starting"' | tail -n 1 | grep "$2" && return
    sleep 0.1
  done
  return 1
}

# Both processes run that commit, and the service is there.
runs() {
  for port in 3000 3001; do
    curl --silent --retry 120 --retry-all-errors --retry-delay 1 --fail --output /dev/null "http://127.0.0.1:$port/health/ready"
    starts "route-planning-service@$port" "$1" > /dev/null || fail "$port runs another commit"
  done
  people find "https://$DOMAIN" || fail "the route is gone"
}

# What is true after a block that has these words, and what people do then.
after() {
  case $(cat "$1") in
    *DOMAIN=routes*)
      export DOMAIN=routes.test ADMIN=ada@routes.test SMTP_URL=smtp://127.0.0.1:2525 SOURCE=/srv/source.git
      ;;
    *"git fetch"*)
      BEFORE=$(grep --max-count=1 --line-regexp --extended-regexp '\.|versions/[0-9a-f]+' "$2")
      grep --quiet '^+Description=.*(next)' "$2" || fail "the change of the unit is not shown"
      runs "$(git --git-dir=/srv/source.git rev-parse next)"
      ;;
    *BEFORE*)
      runs "$(git -C "$service/$BEFORE" rev-parse HEAD)"
      journalctl --unit=route-planning-service@3000 --output=cat | grep --max-count=1 'the database is of a newer version' || fail "no newer database"
      OLD=$version
      ;;
    *"worktree remove"*)
      runs "$(git -C "$service/$BEFORE" rev-parse HEAD)"
      ;;
    *"npm run setup"*)
      [ "$(stat --format='%a %U' $service/.env)" = "600 route-planning-service" ] || fail "the mode or the owner of .env"
      ;;
    *"certbot certonly"*)
      curl --silent --insecure https://127.0.0.1:15000/roots/0 > /check/root.pem
      systemctl is-active --quiet certbot.timer || fail "the timer of certbot"
      first=$(served)
      systemctl start certbot.service
      for _ in $(seq 100); do [ "$(served)" != "$first" ] && break; sleep 0.1; done
      [ "$(served)" != "$first" ] || fail "certbot renewed nothing"
      ;;
    *health/ready*)
      for unit in route-planning-service@3000 route-planning-service@3001; do
        systemctl is-active --quiet "$unit" || fail "$unit"
        starts "$unit" . || fail "the line of the start"
        process=/proc/$(systemctl show --value --property=MainPID "$unit")
        grep VmRSS "$process/status"
        temporary=$(tr '\0' '\n' < "$process/environ" | sed -n 's/^TMPDIR=//p')
        [ "$(stat --file-system --format=%T "$process/root${temporary:-/tmp}")" != tmpfs ] || fail "uploads lie in memory"
      done
      systemd-analyze security --no-pager route-planning-service@3000 | tail -n 1
      [ "$(curl --silent --output /dev/null --write-out '%{http_code}' "http://$DOMAIN/")" = 308 ] || fail "HTTP is not redirected"
      [ "$(curl --silent --insecure --output /dev/null --write-out '%{http_code}' "https://$DOMAIN/metrics")" = 404 ] || fail "metrics"
      # What the documents have in the midst of sentences for who is on call.
      export REDIS_URL=redis://127.0.0.1:6379
      mapfile -t commands < <(grep --no-filename --only-matching --extended-regexp '`(systemctl status|redis-cli|journalctl) [^`]+`' $service/current/docs/{runbook,hosting}.md | tr -d '`')
      [ ${#commands[@]} = 3 ] || fail "the documents have ${#commands[@]} such commands: ${commands[*]}"
      for command in "${commands[@]}"; do
        bash -euc "$command" > /check/said || fail "$command"
        echo "$command: $(head -n 3 /check/said | tail -n 1)"
      done
      ;;
    *"user -- create"*)
      people join "https://$DOMAIN" "$ADMIN" "$(grep --only-matching 'https://[^ ]*token=[^ ]*' "$2")" || fail "people cannot join"
      ;;
    *"systemctl start route-planning-service-backup"*)
      journalctl --unit=route-planning-service-backup --output=cat | grep 'restored on trial: 2 users, 1 routes' || fail "the backup"
      old=/var/lib/route-planning-service-backups/route-planning-service-20200101T000000Z.dump
      touch --date='16 days ago' "$old"
      systemctl start route-planning-service-backup
      [ ! -e "$old" ] || fail "a backup of 16 days ago is kept"
      people remove "https://$DOMAIN"
      ;;
    *restore.sh*)
      curl --silent --insecure --retry 120 --retry-all-errors --retry-delay 1 --fail --output /dev/null "https://$DOMAIN/health/ready"
      people find "https://$DOMAIN" || fail "the restored route"
      git --git-dir=/srv/source.git update-ref HEAD next
      ;;
  esac
}

# An authority, whose certificates expire so soon that the first run of certbot's timer renews them. By default it refuses requests at random.
acme() {
  cd /check
  openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -subj /CN=localhost -keyout pebble.key -out pebble.pem 2> /dev/null
  cat > pebble.json << 'JSON'
{ "pebble": {
  "listenAddress": "127.0.0.1:14000", "managementListenAddress": "127.0.0.1:15000", "certificate": "pebble.pem", "privateKey": "pebble.key",
  "httpPort": 80, "tlsPort": 443, "profiles": { "default": { "description": "short", "validityPeriod": 864000 } } } }
JSON
  printf 'server = https://localhost:14000/dir\nno-verify-ssl = true\n' >> /etc/letsencrypt/cli.ini
  PEBBLE_VA_NOSLEEP=1 PEBBLE_WFE_NONCEREJECT=0 ./pebble -config pebble.json > pebble.log 2>&1
}

# What a failed block has written goes here, since the output is the file of the block until the end.
exec 3>&1
blocks() {
  for block in "$@"; do
    began=$SECONDS
    echo "== $(basename "$block")"
    # In this shell: blocks set variables and change the directory for those that follow. A failure ends it.
    trap '{ cat "$block.log" "$block"; journalctl --lines=60 --no-pager --unit="route-planning-service*" --unit="postgresql*"; } >&3' EXIT
    . "$block" > "$block.log" 2>&1
    trap - EXIT
    tail -n 5 "$block.log"
    after "$block" "$block.log"
    echo "-- $((SECONDS - began)) s"
  done
}

block_with() { grep --files-with-matches "$1" /check/block-?? | head -n 1; }

last=$(block_with 'npm ci')
if [ "$1" = packages ]; then
  unset -f npm systemctl
  export NPM_CONFIG_CAFILE=/check/ca-certificates.crt
  needed=()
  for block in /check/block-??; do [[ $block > $last ]] || needed+=("$block"); done
  blocks "${needed[@]}"
  # Debian takes the next port where this network, which is not yet the machine's own, has a server on that of PostgreSQL.
  sed -i 's/^port = .*/port = 5432/' /etc/postgresql/*/main/postgresql.conf
  exit
fi

after /check/block-01
cd $service/current
cp node_modules/.bin/node /check/node
echo "127.0.0.1 localhost $DOMAIN" > /etc/hosts
/check/node /check/hostingPeople.ts mails &
acme &
# There is no network: what was installed before is in the cache.
export NPM_CONFIG_OFFLINE=true
rest=()
for block in /check/block-??; do [[ $block > $last ]] && rest+=("$block"); done
blocks "${rest[@]}"

echo "== a machine that was set up before there were versions: one clone, which is upgraded as well"
cd $service
git checkout --quiet --force "$(git -C "$BEFORE" rev-parse HEAD)"
command npm ci --omit=dev --loglevel=error
rm current
npm run --silent setup -- --yes > /dev/null
systemctl daemon-reload
command systemctl restart route-planning-service@3000 route-planning-service@3001
git worktree remove --force "$BEFORE"
runs "$(git rev-parse HEAD)"
blocks "$(block_with 'git fetch')" "$(block_with BEFORE)"
[ "$BEFORE" = . ] || fail "the clone was not the version before"
touch /check/passed
