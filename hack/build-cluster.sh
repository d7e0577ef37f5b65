#!/usr/bin/env bash
# Builds the local test cluster (test/cluster) into bin/sluice-cluster and shows
# progress. The first build compiles a Kubernetes API server and takes minutes;
# later ones compile what changed, and nothing when nothing did. GOFLAGS is
# honoured. OUT=FILE changes the target.
set -euo pipefail

root=$(cd "$(dirname "$0")/.." && pwd)
out=${OUT:-$root/bin/sluice-cluster}
mkdir -p "$(dirname "$out")"
cd "$root/test/cluster"

# One build at a time: a second one waits and then finds all in the cache.
if command -v flock >/dev/null; then
  exec 9>"$out.lock"
  flock 9
fi

# The module has a go.mod and no workspace of its own.
export GOWORK=off CGO_ENABLED=0

# Inlining and debug data take 40 % of the compile time and tests need neither.
gcflags='all=-l -dwarf=false'
version=$(go list -m -f '{{.Version}}' k8s.io/kubernetes)
minor=${version#v1.}
pkg=k8s.io/component-base/version
ldflags="-s -w -X $pkg.gitMajor=1 -X $pkg.gitMinor=${minor%%.*} -X $pkg.gitVersion=$version -X $pkg.gitTreeState=clean"

total=$(go list -deps . | wc -l)
start=$SECONDS
log=$(mktemp)
trap 'rm -f "$log"' EXIT

go build -v -gcflags="$gcflags" -ldflags="$ldflags" -o "$out" . 2>"$log" &
build=$!
trap 'kill "$build" 2>/dev/null || true; rm -f "$log"' EXIT
shown=$SECONDS
while kill -0 "$build" 2>/dev/null; do
  sleep 1
  if ((SECONDS - shown >= 15)); then
    shown=$SECONDS
    echo "build-cluster: $((SECONDS - start)) s, $(wc -l <"$log") of at most $total packages compiled" >&2
  fi
done
if ! wait "$build"; then
  tail -n 50 "$log" >&2
  exit 1
fi
echo "build-cluster: $out is ready after $((SECONDS - start)) s, $(wc -l <"$log") packages compiled" >&2
