#!/usr/bin/env bash
# Shows the product at work: a good release goes out step by step, a bad one
# comes back. It starts a local Kubernetes, and removes all that it made; with
# KUBECONFIG set it uses that cluster instead, in a namespace of its own.
# SIMULATED=1 tells the same story in virtual time, without a cluster.
set -euo pipefail
cd "$(dirname "$0")/.."

bin=bin/kubectl-argo-rollouts
[ -x "$bin" ] || go build -o bin/ ./cmd/...

if [ -n "${SIMULATED:-}" ] && [ "${SIMULATED:-}" != 0 ]; then
  if [ -t 1 ]; then bold=$'\e[1m' plain=$'\e[0m'; else bold='' plain=''; fi
  say() { printf '\n%s== %s%s\n\n' "$bold" "$*" "$plain"; }
  say 'A good image goes out: 20, 40, 60, 80 %, with a pause after each step'
  "$bin" simulate -f examples/web.yaml --set image web=nginx:1.28-alpine --expect Healthy
  say 'A bad image: its pods never become ready. At the deadline it is taken back'
  "$bin" simulate -f examples/web.yaml --set image web=nginx:1.29-error --pods nginx:1.29-error=image-pull --expect Degraded
  say 'What to try next'
  cat <<END
  make demo                               the same on a real API server
  $bin simulate -f examples/web.yaml --set image web=nginx:1.28-alpine --at 12s=abort
  $bin simulate -f YOUR-ROLLOUT.yaml --set image CONTAINER=IMAGE
END
  exit 0
fi

[ -n "${KUBECONFIG:-}" ] || [ -x bin/sluice-cluster ] || hack/build-cluster.sh
[ -x bin/rollouts-controller ] || go build -o bin/ ./cmd/...
go build -o bin/sluice-demo ./hack/demo
exec bin/sluice-demo
