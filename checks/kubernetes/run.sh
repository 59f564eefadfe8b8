#!/usr/bin/env bash
# Runs the commands of kubectl that deploy/README.md prints, before a server that decodes, completes and validates as the API server does
# (server.go). The Deployment is applied a second time with a newer image, as docs/upgrading.md says. It needs what deploy/check.sh has built.
set -euo pipefail
cd "$(dirname "$0")/../.."

work=$(mktemp -d)
trap 'kill "$server" 2> /dev/null; rm -rf "$work"' EXIT
port=$((20000 + RANDOM % 10000))
schemas=$(go -C checks/kubernetes list -m -f '{{.Dir}}' k8s.io/kubernetes)/api/openapi-spec/v3
.data/kubernetes serve "127.0.0.1:$port" "$schemas" &
server=$!

cp -r deploy "$work"
sed -n '/^```sh$/,/^```$/p' deploy/README.md | awk '/^```/ { if (block ~ /kubectl/) printf "%s", block; block = ""; next } { block = block $0 "\n" }' > "$work/commands"
test -s "$work/commands"
cd "$work"
# A kubectl of its own, which no cluster of this machine's user is asked by.
export HOME=$work KUBECONFIG=$work/config
cat > config << CONFIG
apiVersion: v1
kind: Config
current-context: check
contexts: [{ name: check, context: { cluster: check, user: check } }]
clusters: [{ name: check, cluster: { server: "http://127.0.0.1:$port" } }]
users: [{ name: check, user: {} }]
CONFIG
export DATABASE_URL=postgres://service:secret@postgres/routes GOOGLE_CLIENT_ID=id GOOGLE_CLIENT_SECRET=secret
until kubectl get --raw=/api > /dev/null 2>&1; do
  kill -0 "$server"
  sleep 0.1
done

fail() {
  echo "FAILED: $*"
  exit 1
}
have() {
  [ "$(kubectl --namespace routes get "$1" route-planning-service --output="jsonpath=$2")" = "$3" ] || fail "the $1 has another $2 than $3"
}
bash -eux commands
have secret '{.data.DATABASE_URL}' "$(printf %s "$DATABASE_URL" | base64 --wrap=0)"
have deployment '{.spec.template.spec.containers[0].image}' "$(sed -n 's/^ *image: //p' deploy/kubernetes/deployment.yaml)"
have ingress '{.spec.rules[0].host}' routes.example.com

sed -i 's/image: .*/image: registry.example.com\/routes:next/' deploy/kubernetes/deployment.yaml
grep 'apply.*kubernetes/$' commands | bash -eux
have deployment '{.spec.template.spec.containers[0].image}' registry.example.com/routes:next

# The server refuses what an API server refuses.
refused() {
  sed "$1" deploy/kubernetes/deployment.yaml > wrong.yaml
  kubectl --namespace routes apply --filename wrong.yaml > log 2>&1 && fail "$1 is taken"
  grep --quiet "$2" log || fail "$(cat log)"
}
refused 's/ephemeral-storage: 4Gi/ephemeral-storage: 1Gi/' 'must be less than or equal to ephemeral-storage limit'
refused 's/readinessProbe/readinesProbe/' 'unknown field "spec.template.spec.containers\[0\].readinesProbe"'
refused 's/^spec:/  namespace: nowhere\nspec:/' 'does not match the namespace'
