#!/usr/bin/env bash
# Holds what is in this directory, without a container engine: linters and schemas from PyPI (linters.txt, installed in
# .data/), and promtool. What is not there is skipped and named.
set -uo pipefail
cd "$(dirname "$0")/.."

failed=0
check() {
  echo "== $*"
  "$@" || failed=1
}

linters=.data/deploy-linters
if python3 -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2> /dev/null; then
  python3 -m venv "$linters" &&
    "$linters/bin/pip" install --quiet --disable-pip-version-check --requirement deploy/linters.txt || exit 1
  check "$linters/bin/hadolint" Dockerfile deploy/valhalla/Dockerfile
  check "$linters/bin/yamllint" --strict --config-file deploy/yamllint.yml deploy
  check "$linters/bin/check-jsonschema" --builtin-schema vendor.compose-spec deploy/compose.yaml
  check "$linters/bin/kubernetes-validate" --strict deploy/kubernetes/*.yaml deploy/kubernetes/examples/*.yaml
else
  echo "skipped: hadolint, yamllint, check-jsonschema, kubernetes-validate (they need Python 3.11 or newer)"
fi

if command -v go > /dev/null; then
  # Compiling it the first time takes four minutes.
  check go -C checks/kubernetes build -o "$PWD/.data/kubernetes" . &&
    check .data/kubernetes deploy/kubernetes/*.yaml deploy/kubernetes/examples/*.yaml
  if command -v kubectl > /dev/null; then
    check bash checks/kubernetes/run.sh
  else
    echo "skipped: the commands of kubectl (1.27 or newer)"
  fi
  operator=$(go mod download -json github.com/cloudnative-pg/cloudnative-pg@v1.30.0 | sed -n 's/.*"Dir": "\(.*\)".*/\1/p')
  check "$linters/bin/python" checks/cloudnativepg.py "$operator/config/crd/bases" deploy/ha/cloudnativepg.yaml
  rm -rf .data/cloudnativepg && cp -r --no-preserve=mode "$operator" .data/cloudnativepg && mkdir .data/cloudnativepg/cmd/check &&
    cp checks/cloudnativepg.go .data/cloudnativepg/cmd/check/main.go &&
    check go -C .data/cloudnativepg run ./cmd/check "$PWD/deploy/ha/cloudnativepg.yaml"
else
  echo "skipped: the validation of Kubernetes' API server, and that of CloudNativePG (they need Go 1.26 or newer)"
fi

# As `npm run setup` writes them.
root=.data/setup
rm -rf "$root" && mkdir -p "$root"
check ./node.sh tools/setup.ts --root="$root" --address=https://routes.example.com --admin=ada@example.com --mail=none \
  --sign-up=closed --processes=2 --keep-days=14
if command -v systemd-analyze > /dev/null; then
  units=$root/etc/systemd/system
  check systemd-analyze verify "$units"/route-planning-service@3000.service "$units"/route-planning-service-backup.*
else
  echo "skipped: systemd-analyze"
fi

if command -v promtool > /dev/null; then
  check promtool check config deploy/prometheus/prometheus.yml
  check promtool test rules deploy/prometheus/alerts.test.yml
else
  echo "skipped: promtool (of Debian's package prometheus)"
fi

echo "not done: building and starting the image, which npm run check:image does"
exit "$failed"
