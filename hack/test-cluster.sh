#!/usr/bin/env bash
# Tests the nested module test/cluster. Its flags are those of
# hack/build-cluster.sh, so that both share one build cache. Vetting it is a part of
# hack/lint.sh.
set -euo pipefail
cd "$(dirname "$0")/../test/cluster"
export GOWORK=off CGO_ENABLED=0
env -u KUBECONFIG -u KUBEBUILDER_ASSETS go test -gcflags='all=-l -dwarf=false' -vet=off -timeout 20m "$@" ./...
