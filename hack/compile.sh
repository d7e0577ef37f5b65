#!/usr/bin/env bash
# Compiles packages (all, unless some are named) and shows progress: with an
# empty build cache this takes minutes, in which nothing else would be seen.
set -euo pipefail
cd "$(dirname "$0")/.."

[ $# -gt 0 ] || set -- ./...
total=$(go list -deps "$@" | wc -l)
start=$SECONDS
log=$(mktemp)
go build -v -o /dev/null "$@" 2>"$log" &
build=$!
trap 'kill "$build" 2>/dev/null || true; rm -f "$log"' EXIT
shown=$SECONDS
while kill -0 "$build" 2>/dev/null; do
  sleep 0.2
  if ((SECONDS - shown >= 15)); then
    shown=$SECONDS
    echo "compile: $((SECONDS - start)) s, $(wc -l <"$log") of at most $total packages compiled" >&2
  fi
done
if ! wait "$build"; then
  cat "$log" >&2
  exit 1
fi
