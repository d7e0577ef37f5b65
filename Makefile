# Every target works on a machine with Go, git and make. Run `make` for a list.
SHELL := bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help

SIMULATED ?=
TRAFFIC ?=
SEEDS ?= 100000

CLUSTER := bin/sluice-cluster
CLUSTER_SOURCES := $(shell find test/cluster -name '*.go' -not -name '*_test.go') test/cluster/go.mod test/cluster/go.sum hack/build-cluster.sh

DATAPLANE := bin/sluice-traefik
DATAPLANE_SOURCES := test/dataplane/go.mod test/dataplane/go.sum test/dataplane/dns/dns.go hack/build-dataplane.sh

# KUBECONFIG or KUBEBUILDER_ASSETS, when set, are used in place of the local
# Kubernetes: by tests only if they lead to this machine, by the demo once a
# person has agreed.
GO_TEST := go test

.PHONY: help demo test test-short test-cluster dataplane prometheus verify build generate bench soak load lint clean binaries compile

help: ## Show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

demo: ## Watch releases under real requests and a real Prometheus: a good one goes out, bad ones come back (TRAFFIC=no: without requests; PROMETHEUS=no: a page in its place; SIMULATED=1: in virtual time, without a cluster)
	@SIMULATED=$(SIMULATED) TRAFFIC=$(TRAFFIC) MAKE=$(MAKE) hack/demo.sh

test: $(CLUSTER) compile ## Run every test, also those on a real API server
	$(GO_TEST) -timeout 20m $$(go list ./... | grep -v '/test/')
	$(GO_TEST) -timeout 30m -p 1 ./test/...
	hack/test-cluster.sh

test-short: compile ## Run the tests that need no API server
	$(GO_TEST) -short -timeout 10m $$(go list ./... | grep -v '/test/')

test-cluster: ## Run the tests of the local Kubernetes itself
	hack/test-cluster.sh

dataplane: $(CLUSTER) $(DATAPLANE) ## Build Traefik and the load client: with them tests and bin/sluice-cluster up --dataplane have real traffic
	go build -ldflags '-s -w' -o bin/sluice-load ./hack/load

prometheus: bin/prometheus ## Fetch Prometheus from Debian's package: with it the demo and tests measure pods

verify: ## Prove the tree: format, vet, lint, walls, generated files, modules, documents; it is clean afterwards
	@hack/verify.sh

build: binaries ## Build the controller and the command into bin/

generate: ## Write everything that is generated: deep copies, definitions, traces, documents
	hack/generate.sh
	hack/generate-docs.sh

bench: ## Run the benchmarks and print their numbers beside the targets
	@hack/bench.sh

soak: ## Check the laws on SEEDS random releases (default 100000)
	$(GO_TEST) ./internal/simulate -run '^TestProperty$$' -count 1 -timeout 0 -v -args -seeds $(SEEDS)

load: dataplane ## Make 20 releases under 500 requests/s, killing the controller all the while: no request may fail
	SLUICE_LOAD_RELEASES=20 $(GO_TEST) ./test/loaded -count 1 -timeout 60m -v

lint: ## Run go vet, staticcheck and the wall test
	@hack/lint.sh

clean: ## Remove what was built
	rm -rf bin

# The version is what the build records of itself: the tag, or the commit.
binaries:
	@hack/compile.sh ./cmd/...
	@mkdir -p bin
	go build -buildvcs=auto -ldflags '-s -w' -o bin/ ./cmd/...

compile:
	@hack/compile.sh

$(CLUSTER): $(CLUSTER_SOURCES)
	hack/build-cluster.sh
	@touch $@

bin/prometheus:
	hack/fetch-prometheus.sh

$(DATAPLANE): $(DATAPLANE_SOURCES)
	hack/build-dataplane.sh
	@touch $@
