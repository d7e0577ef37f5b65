#!/usr/bin/env bash
# Shows the product at work under real requests: a good release goes out step by
# step, bad ones come back. It builds what it needs, starts a local Kubernetes
# with Traefik and Prometheus, and removes all that it started. TRAFFIC=no does
# without Traefik and requests, and so does a machine that allows no network
# namespaces; PROMETHEUS=no, or a machine that has none and no Debian packages,
# lets the analyses ask a page of the demo instead. With
# KUBECONFIG set it uses that cluster instead, in a namespace of its own.
# SIMULATED=1 tells the same story in virtual time, without a cluster.
set -euo pipefail
cd "$(dirname "$0")/.."

bin=bin/kubectl-argo-rollouts
build() { "${MAKE:-make}" --silent --no-print-directory "$@"; }
is_on() { [ -n "${1:-}" ] && [ "$1" != 0 ] && [ "$1" != no ]; }

if is_on "${SIMULATED:-}"; then
  build binaries
  if [ -t 1 ]; then bold=$'\e[1m' plain=$'\e[0m'; else bold='' plain=''; fi
  say() { printf '\n%s== %s%s\n\n' "$bold" "$*" "$plain"; }
  play() { "$bin" simulate -f examples/web-analysis.yaml --set image "$@"; }
  say 'A good image goes out: 20, 40, 60, 80 %, with a pause after each step; an analysis finds all answers good'
  play web=nginx:1.28-alpine --metric good-answers=1,0.999 --expect Healthy
  say 'A bad image: its pods never become ready. At the deadline it is taken back'
  play web=nginx:1.29-error --pods nginx:1.29-error=image-pull --metric good-answers=nodata --expect Degraded
  say 'A worse image: its pods become ready, and 5 of 100 answers are errors. The analysis takes it back'
  play web=nginx:1.30-error5 --metric good-answers=0.949,0.951 --expect Degraded
  say 'What to try next'
  cat <<END
  make demo                               the same on a real API server, with real requests
  $bin simulate -f examples/web.yaml --set image web=nginx:1.28-alpine --at 12s=abort
  $bin simulate -f examples/web-analysis.yaml --set image web=nginx:1.28-alpine --metric good-answers=nodata
  $bin simulate -f YOUR-ROLLOUT.yaml --set image CONTAINER=IMAGE
END
  exit 0
fi

# Whether there can be a data plane. Where unshare is missing, the cluster itself
# finds out.
namespaces() {
  ! command -v unshare >/dev/null || unshare --net true 2>/dev/null || unshare --user --map-root-user --net true 2>/dev/null
}

export TRAFFIC=${TRAFFIC:-yes}
is_on "$TRAFFIC" && TRAFFIC=yes || TRAFFIC=no
if [ -n "${KUBECONFIG:-}" ]; then
  TRAFFIC=no
elif [ "$TRAFFIC" = yes ] && ! namespaces; then
  echo 'demo: network namespaces are not allowed here, so no requests are sent: only pods are shown'
  TRAFFIC=no
fi

# Prometheus is the machine's own or comes from a package: seconds, not minutes.
export PROMETHEUS=${PROMETHEUS:-yes}
is_on "$PROMETHEUS" && [ "$TRAFFIC" = yes ] && PROMETHEUS=yes || PROMETHEUS=no
if [ "$PROMETHEUS" = yes ] && [ ! -x bin/prometheus ] && ! build bin/prometheus; then
  echo 'demo: without Prometheus, a page of the demo is what the analyses ask'
  PROMETHEUS=no
fi

if [ -z "${KUBECONFIG:-}" ]; then
  if [ ! -x bin/sluice-cluster ]; then
    echo 'demo: the first time, a Kubernetes API server and controllers are compiled, which takes minutes'
  fi
  if [ "$TRAFFIC" = yes ] && [ ! -x bin/sluice-traefik ]; then
    echo 'demo: and Traefik after them, as many minutes again; make demo TRAFFIC=no does without it'
  fi
  build bin/sluice-cluster
  if [ "$TRAFFIC" = yes ]; then build bin/sluice-traefik; fi
fi
build binaries
go build -o bin/sluice-demo ./hack/demo
exec bin/sluice-demo
