#!/usr/bin/env bash
# Proves the tree. Each step says what it looks at and how long it took; all
# steps run, and the end names those that failed. Nothing is left changed.
set -euo pipefail
cd "$(dirname "$0")/.."

state() {
  git status --porcelain --untracked-files=all
  git diff | cksum
  # Of files that git does not know, the content counts too.
  git ls-files --others --exclude-standard -z | sort -z | xargs -0 -r cksum
}

formatted() {
  local files
  files=$(git ls-files --cached --others --exclude-standard '*.go' | while read -r f; do [ ! -f "$f" ] || echo "$f"; done | xargs gofmt -l)
  if [ -n "$files" ]; then
    echo "not formatted by gofmt:"
    echo "$files"
    return 1
  fi
}

generated() {
  local before
  before=$(state)
  hack/generate.sh || return 1
  if [ "$before" != "$(state)" ]; then
    echo "generated files are not what the code gives; run make generate. What differs:"
    git --no-pager diff --stat
    git status --short
    return 1
  fi
}

tidy() {
  local failed=0 tools
  go mod tidy -diff || failed=1
  (cd test/cluster && GOWORK=off go mod tidy -diff) || failed=1
  # The tools have a module file but no folder of their own.
  tools=$(mktemp -d)
  cp go.tools.mod "$tools/go.mod"
  cp go.tools.sum "$tools/go.sum"
  (cd "$tools" && GOWORK=off go mod tidy -diff) || failed=1
  rm -rf "$tools"
  return $failed
}

failed=()
step() {
  local name=$1 began=$SECONDS
  shift
  echo "verify: $name"
  if "$@"; then
    echo "verify: $name: good, $((SECONDS - began)) s"
  else
    echo "verify: $name: FAILED, $((SECONDS - began)) s"
    failed+=("$name")
  fi
}

before=$(state)
step "format" formatted
step "lint" hack/lint.sh
step "generated files" generated
step "traces and the documents made from code" go test -count 1 ./internal/simulate ./internal/router/registry ./internal/metric/registry -run '^TestScenario|^TestDocument'
step "module files" tidy
step "links of the documents" go test -count 1 ./internal/walls -run '^TestDocuments'
if [ "$before" != "$(state)" ]; then
  echo "verify: the tree is not as it was before:"
  git status --short
  failed+=("clean tree")
fi
if ((${#failed[@]} > 0)); then
  printf 'verify: failed: %s\n' "${failed[@]}"
  exit 1
fi
echo "verify: all good"
