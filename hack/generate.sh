#!/bin/sh
# Writes everything that is generated: deep copies of the API types and the
# CustomResourceDefinitions. Running it twice changes nothing.
set -eu
cd "$(dirname "$0")/.."

raw=$(mktemp -d)
trap 'rm -rf "$raw"' EXIT

go tool -modfile=go.tools.mod controller-gen object paths=./api/...
go tool -modfile=go.tools.mod controller-gen crd:generateEmbeddedObjectMeta=true paths=./api/... output:crd:dir="$raw"
rm -f config/crd/argoproj.io_*.yaml
go run ./hack/crdpost -in "$raw" -out config/crd
