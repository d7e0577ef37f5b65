#!/usr/bin/env bash
# Builds the data plane of the local cluster (test/dataplane): Traefik as
# bin/sluice-traefik, and beside it, in bin/sluice-traefik-crds, the definitions
# that it needs. All comes from Go modules. It shows progress; the first build
# takes minutes, later ones nothing. OUT=FILE changes the target; with the
# argument "crds" only the definitions are copied, which takes seconds.
set -euo pipefail

root=$(cd "$(dirname "$0")/.." && pwd)
out=${OUT:-$root/bin/sluice-traefik}
work=$root/.cache/dataplane
mkdir -p "$(dirname "$out")" "$work"
cd "$root/test/dataplane"

# One build at a time: a second one waits and then finds all in the cache.
if command -v flock >/dev/null; then
  exec 9>"$out.lock"
  flock 9
fi

# The module has a go.mod and no workspace of its own.
export GOWORK=off CGO_ENABLED=0

folder() { go mod download -json "$1" | sed -n 's/^\t"Dir": "\(.*\)",\{0,1\}$/\1/p'; }
version() { sed -n "s|^\t$1 \(v[^ ]*\).*|\1|p" go.mod; }

traefik=github.com/traefik/traefik/v3
gateway=sigs.k8s.io/gateway-api
lego=github.com/go-acme/lego/v4
traefik_version=$(version "$traefik")
gateway_version=$(version "$gateway")
lego_version=$(version "$lego")

# The definitions. Those of the Gateway API are the standard channel's, and the
# routes for TCP and TLS, which Traefik serves as well.
traefik_dir=$(folder "$traefik@$traefik_version")
gateway_dir=$(folder "$gateway@$gateway_version")/config/crd
rm -rf "$out-crds.new"
mkdir "$out-crds.new"
cp "$gateway_dir"/standard/gateway.networking.k8s.io_*.yaml \
  "$gateway_dir"/experimental/gateway.networking.k8s.io_{tcp,tls}routes.yaml \
  "$traefik_dir"/docs/content/reference/dynamic-configuration/traefik.io_*.yaml "$out-crds.new/"
chmod u+w "$out-crds.new"/*
rm -rf "$out-crds"
mv "$out-crds.new" "$out-crds"
if [ "${1:-}" = crds ]; then exit 0; fi

# lego without its DNS providers: a copy, with our package in their place. The
# copy is made anew only when something about it changed, for a build cache goes
# by content.
rm -rf "$work/lego"
cp -r "$(folder "$lego@$lego_version")" "$work/lego"
chmod -R u+w "$work/lego"
rm -rf "$work/lego"/{cmd,docs,e2e,providers/dns,internal/dns,internal/releaser}
mkdir -p "$work/lego/providers/dns"
cp dns/dns.go "$work/lego/providers/dns/"
cp go.mod go.sum "$work/"
go mod edit -replace "$lego=$work/lego" "$work/go.mod"

# The flags of hack/build-cluster.sh, and thus the same standard library.
flags=(-modfile="$work/go.mod" -gcflags='all=-l -dwarf=false')
ldflags="-s -w -X $traefik/pkg/version.Version=${traefik_version#v}"
package=$traefik/cmd/traefik
total=$(go list -modfile="$work/go.mod" -deps "$package" | wc -l)
start=$SECONDS
log=$(mktemp)
go build -v "${flags[@]}" -ldflags="$ldflags" -o "$out" "$package" 2>"$log" &
build=$!
trap 'kill "$build" 2>/dev/null || true; rm -f "$log"' EXIT
shown=$SECONDS
while kill -0 "$build" 2>/dev/null; do
  sleep 1
  if ((SECONDS - shown >= 15)); then
    shown=$SECONDS
    echo "build-dataplane: $((SECONDS - start)) s, $(wc -l <"$log") of at most $total packages compiled" >&2
  fi
done
if ! wait "$build"; then
  tail -n 50 "$log" >&2
  exit 1
fi
echo "build-dataplane: $out is ready after $((SECONDS - start)) s, $(wc -l <"$log") packages compiled" >&2
