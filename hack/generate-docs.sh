#!/usr/bin/env bash
# Writes the documents and golden files that are made from code: the traces of
# the scenarios with docs/scenarios.md, and the tables of docs/routers.md and
# docs/analysis/providers.md. Running it twice changes nothing.
set -euo pipefail
cd "$(dirname "$0")/.."

go test ./internal/simulate -run '^TestScenario' -count 1 -args -rewrite
go test ./internal/router/registry -run '^TestDocument' -count 1 -args -rewrite
go test ./internal/metric/registry -run '^TestDocument' -count 1 -args -rewrite
