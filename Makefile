# The main commands are `make run` and `make test`; each needs only a fresh Debian machine with
# Go and gcc, and installs the rest itself.

SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help

GO      ?= go
GOTEST  := $(GO) test
SOAK     ?= 2h
SOAKSEED ?= 1

.PHONY: help
help: ## show this help
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## /  \1\t/' | expand -t 12

PROGRAMS := $(addprefix bin/,fairlane fairlane-agent fairlane-cni fairlane-kube)

.PHONY: build
build: $(PROGRAMS) ## build the binaries into bin/

.PHONY: $(PROGRAMS)
$(PROGRAMS): bin/%:
	$(GO) build -trimpath -o $@ ./cmd/$*

.PHONY: web
web: ## build the portal and the console, which the next build embeds; needs Node.js 20.19 or later
	./web/build.sh

.PHONY: run
run: ## build everything and run the demo: weights in, measured shares out; LISTEN=ADDR keeps it up with the API and the portal there
	./web/build.sh --optional --install
	$(MAKE) --no-print-directory build
	./bin/fairlane demo --plane ib $(if $(LISTEN),--listen $(LISTEN),--once)

.PHONY: peers
peers: bin/gnmi_cli bin/cni/cnitool ## install the field's own tools that the tests run (Debian packages, OpenConfig's client, CNI's reference plugins)
	./test/install-peers.sh

bin/gnmi_cli: tools/gnmicli/go.mod tools/gnmicli/go.sum
	cd tools/gnmicli && $(GO) build -o ../../bin/gnmi_cli github.com/openconfig/gnmi/cmd/gnmi_cli

bin/cni/cnitool: tools/cni/go.mod tools/cni/go.sum
	mkdir -p bin/cni
	cd tools/cni && $(GO) build -trimpath -o ../../bin/cni/ tool

.PHONY: test
test: peers ## everything CI runs
	./test/run.sh

.PHONY: lint
lint: ## gofmt, vet, staticcheck and golangci-lint
	./test/lint.sh

.PHONY: generate
generate: ## regenerate what is generated from the contract
	$(GO) generate ./...

.PHONY: bench
bench: ## benchmarks of the core: simulator, compiler, codec, discovery
	$(GOTEST) -run '^$$' -bench . -benchmem ./sim/... ./policy/... ./subnet/... ./ccconfig/...

.PHONY: bench-push
bench-push: ## push and read back 10,000 simulated ports on both databases, then with more managers
	$(GOTEST) -timeout 30m -run '^$$' -bench 'Push|Managers' -benchtime 3x ./service/app

.PHONY: bench-nics
bench-nics: ## read, then set and verify, 10,000 simulated NIC ports by their agents behind one gNMI server
	$(GOTEST) -timeout 30m -run '^$$' -bench 'ReadAll|ApplyAll' -benchtime 3x ./sim/gnmidev

.PHONY: check
check: ## what to run before a commit, in two minutes: build, and lint and tests of what changed
	./test/check.sh

.PHONY: soak
soak: peers web build ## long runs, for SOAK in all (default 2h): race detector, properties, schedules, kills, an attack, pages, every fuzz target
	./test/soak.sh $(SOAK) $(SOAKSEED)

.PHONY: grpcurl
grpcurl: ## build grpcurl and drive the simulated WRCC switches with it
	cd tools/grpcurl && $(GO) build -o ../../bin/grpcurl github.com/fullstorydev/grpcurl/cmd/grpcurl
	FAIRLANE_GRPCURL='$(CURDIR)/bin/grpcurl' $(GOTEST) -count=1 -timeout 5m -run TestReflectionOnlyClients/grpcurl -v ./sim/p4dev

.PHONY: kube
kube: ## test the Kubernetes parts on a real API server and a real node, which the first run builds from source
	./test/kube.sh

.PHONY: images
images: ## write the container images as OCI archives into dist/images; REGISTRY=, PLATFORMS=linux/amd64,linux/arm64, CA=FILE, AGENT_BASE=FILE
	./web/build.sh --optional --install
	cd tools/images && $(GO) run . -out '$(CURDIR)/dist/images' -version "$$(sed -n 's/^appVersion: //p' ../../deploy/helm/fairlane/Chart.yaml)" \
	  -registry '$(REGISTRY)' -platforms '$(or $(PLATFORMS),linux/$(shell $(GO) env GOARCH))' $(if $(CA),-ca '$(abspath $(CA))') $(if $(AGENT_BASE),-agent-base '$(abspath $(AGENT_BASE))')

.PHONY: kube-demo
kube-demo: ## as root, start Kubernetes, the service and a simulated fabric on this machine, for docs/kubernetes-walkthrough.md
	./test/kube.sh --demo

.PHONY: gnmic
gnmic: build ## build gnmic and drive simulated SONiC switches and NIC hosts with it
	cd tools/gnmic && $(GO) build -o ../../bin/gnmic github.com/openconfig/gnmic
	./test/gnmic.sh bin/fairlane bin/gnmic

.PHONY: clean
clean: ## remove what was built
	rm -rf bin dist
	find web/dist -mindepth 1 ! -name placeholder.html -delete
