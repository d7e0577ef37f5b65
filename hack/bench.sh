#!/usr/bin/env bash
# Runs the benchmarks that have a target and prints target and measurement side
# by side. A number that misses its target makes the run fail.
set -euo pipefail
cd "$(dirname "$0")/.."

hack/compile.sh
out=$(mktemp)
trap 'rm -f "$out"' EXIT

echo "bench: deciding about a rollout with 10 ReplicaSets" >&2
go test ./internal/decide/rollout -run '^$' -bench '^BenchmarkDecide$' -benchmem -count 3 | tee -a "$out" >&2
echo "bench: playing releases of 5 steps under all laws, on one core" >&2
go test ./internal/simulate -run '^$' -bench '^BenchmarkRelease5Steps$' -benchmem -count 3 -cpu 1 | tee -a "$out" >&2

echo "bench: writing another weight into objects with a hundred rules" >&2
go test ./internal/router/... -run '^$' -bench '^BenchmarkRouter$/^write$' -benchmem -count 3 -cpu 1 | tee -a "$out" >&2

missed=0
# The best of three: the others tell what else the machine was doing.
echo
awk '
  # value gives the number before a unit.
  function value(unit,  i) { for (i = 3; i <= NF; i++) if ($i == unit) return $(i - 1); return -1 }
  function least(name, v) { if (!(name in best) || v < best[name]) best[name] = v }
  /^BenchmarkDecide/ { least("us", value("ns/op") / 1000); least("allocs", value("allocs/op")); sets = value("sets") }
  /^BenchmarkRelease5Steps/ { best["rate"] = (value("releases/s") > best["rate"]) ? value("releases/s") : best["rate"] }
  /^pkg:.*internal\/router\// { router = $2; sub(".*/", "", router) }
  /^BenchmarkRouter\/write/ { least("router " router, value("ns/op") / 1e6) }
  function row(what, target, measured, good) {
    printf "%-52s %-22s %-22s %s\n", what, target, measured, good ? "good" : "MISSED"
    if (!good) missed = 1
  }
  END {
    if (!("us" in best) || !("rate" in best)) { print "bench: a benchmark gave no number"; exit 1 }
    rate = best["rate"]
    printf "%-52s %-22s %-22s\n", "what", "target", "measured"
    row("decide, " sets " ReplicaSets: time", "under 50 us", sprintf("%.1f us", best["us"]), best["us"] < 50)
    row("decide, " sets " ReplicaSets: allocations", "under 100", best["allocs"], best["allocs"] < 100)
    row("simulated releases of 5 steps per second and core", "300 (aim 1000)", sprintf("%.0f", rate), rate >= 300)
    for (name in best) if (name ~ /^router /)
      row("weights into 100 rules: " substr(name, 8), "under 1 ms", sprintf("%.2f ms", best[name]), best[name] < 1)
    exit missed
  }' "$out" || missed=1

echo
echo "bench: releases on a real API server (a baseline; from an abort to weight 0 within 5 round trips of a write)" >&2
hack/build-cluster.sh
go build -o bin/ ./cmd/rollouts-controller
go build -o bin/sluice-baseline ./hack/baseline
bin/sluice-cluster up -- bin/sluice-baseline

echo
echo "bench: analyses on a real API server and a real Prometheus; other work on the machine makes measurements late" >&2
if [ -x bin/prometheus ] || make --silent --no-print-directory prometheus; then
  bin/sluice-cluster up --prometheus -- bin/sluice-baseline analysis || missed=1
else
  echo "bench: there is no Prometheus, so analyses were not measured"
fi
exit "$missed"
