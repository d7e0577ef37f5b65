#!/usr/bin/env bash
# Takes Prometheus from Debian's package into bin/prometheus, without installing
# anything and without root. Where the machine has one in its PATH, that is what
# runs, and nothing is fetched. OUT=FILE changes the target. Tests and the demo do
# without it, and say so.
set -euo pipefail

root=$(cd "$(dirname "$0")/.." && pwd)
out=${OUT:-$root/bin/prometheus}
mkdir -p "$(dirname "$out")"

if command -v prometheus >/dev/null; then
  ln -sf "$(command -v prometheus)" "$out"
  echo "fetch-prometheus: $out is this machine's own" >&2
  exit 0
fi
if ! command -v apt-get >/dev/null || ! command -v dpkg-deb >/dev/null; then
  echo "fetch-prometheus: this machine has neither a prometheus nor Debian's packages; put one into PATH or at $out" >&2
  exit 1
fi

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
# The lists of packages may be missing or old; updating them needs root.
if ! apt-get download -qq prometheus 2>"$work/refusal" && ! { apt-get update -qq && apt-get download -qq prometheus; } 2>>"$work/refusal"; then
  cat "$work/refusal" >&2
  echo "fetch-prometheus: Debian's package could not be had; put a prometheus into PATH or at $out" >&2
  exit 1
fi
dpkg-deb --extract prometheus_*.deb files
install -m 755 files/usr/bin/prometheus "$out.new"
mv "$out.new" "$out"
"$out" --version 2>&1 | head -n 1 >&2
