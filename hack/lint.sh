#!/usr/bin/env bash
# Runs the linters: go vet on both modules, staticcheck on the main one, and the
# walls. Why these: docs/decisions/0001-linters.md.
set -euo pipefail
cd "$(dirname "$0")/.."

echo "lint: go vet" >&2
go vet ./...
echo "lint: go vet of test/cluster" >&2
(cd test/cluster && GOWORK=off CGO_ENABLED=0 go vet -gcflags='all=-l -dwarf=false' ./...)
echo "lint: staticcheck" >&2
go tool -modfile=go.tools.mod staticcheck ./...
echo "lint: walls" >&2
go test -count 1 ./internal/walls
