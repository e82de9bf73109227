# Each target is one command that a person could type. `make help` lists them.

GO       ?= go
RECIPE   ?=
DEPLOYER ?= helm
SOAK     ?= 50
BENCH    ?= eks-training
# What `make test-kind` runs, as for go test's -run; empty for all of it.
KIND_TESTS ?=
# Its images: auto, pinned (pulled from their registries) or assembled (from Debian packages and Go modules).
export KIND_IMAGES ?= auto
# What `make oracle` asks: Kubelet, Scheduler, APIServer, Helm, Flux, Argo, AppSet, Helmfile, AICR or Scripts, all if empty; with how many generated
# inputs, from which seed, and, for AICR, the directory of its CLI's answers.
ORACLE  ?=
INPUTS  ?= 500
SEED    ?= 0
ANSWERS ?=
# Packages that do several things at a time.
RACED    := ./internal/...
# Prints a line per package as each is done, and what fails as soon as it does; then all failures again, and the slowest tests.
# bin/tests.json keeps the output of every test.
TESTS    := $(GO) tool gotestsum --format pkgname-and-test-fails --format-icons text --format-hide-empty-pkg --jsonfile bin/tests.json \
	--post-run-command '$(GO) tool gotestsum tool slowest --num 20 --jsonfile bin/tests.json' -- -count=1 -vet=off -p 2 -parallel 6
# Static binaries, as in a release. Without cgo Go links by itself, a third faster; `make test` links some fifty test binaries.
export CGO_ENABLED ?= 0

.DEFAULT_GOAL := help
.PHONY: help build generate update-manifests lint test test-nightly oracle test-race test-kind bench bench-matrix bench-go bench-profile bench-ratio bench-verdicts bench-gang picture soak
.PHONY: kwok-cluster kwok-nodes kwok-test-deployer kwok-test-all kwok-e2e kwok-status kwok-cluster-delete

help: ## List the targets
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / { printf "  %-20s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)
	@echo 'Variables: RECIPE=eks-training  DEPLOYER=helm|argocd-oci|argocd-helm-oci|flux-oci|all  KIND_IMAGES=auto|pinned|assembled'

build: ## Build bin/matrix and bin/aicr
	$(GO) build -o bin/matrix ./cmd/matrix
	$(GO) build -o bin/aicr ./cmd/aicr

generate: ## Renew what is made from other files: embedded parts lists, charts' common helpers, CRDs, docs/exit-codes.md
	for list in stack schedulers helmfile karpenter operators/prometheus-operator operators/node-feature-discovery operators/cert-manager; do cp kwok/$$list/go.mod kwok/embedded/$${list##*/}.mod && cp kwok/$$list/go.sum kwok/embedded/$${list##*/}.sum || exit 1; done
	for list in stack karpenter operators/cert-manager; do to=$$PWD/kwok/embedded/$${list##*/} && rm -rf $$to && (cd kwok/$$list && for f in */*.go; do mkdir -p $$to/$${f%/*} && cp $$f $$to/$$f.txt || exit 1; done) || exit 1; done
	cp kwok/stack/images.lock kwok/embedded/images.lock
	for list in kwok/kubernetes/*; do cp $$list/go.mod kwok/embedded/kubernetes-$${list##*/}.mod && cp $$list/go.sum kwok/embedded/kubernetes-$${list##*/}.sum || exit 1; done
	for chart in kwok/charts/*/Chart.yaml; do cp kwok/charts/_common/_common.tpl $${chart%/*}/templates/_common.tpl || exit 1; done
	$(GO) run ./kwok/crdgen kwok/charts
	@mkdir -p docs
	$(GO) run ./cmd/matrix explain --markdown > docs/exit-codes.md.new && mv docs/exit-codes.md.new docs/exit-codes.md
	$(GO) run ./cmd/matrix explain --checks-markdown > docs/checks.md.new && mv docs/checks.md.new docs/checks.md

update-manifests: ## Renew kwok/manifests, what a Kind cluster gets, from the modules of kwok/stack/go.mod
	$(GO) run ./kwok/manifests/internal/manifestgen kwok/stack kwok/manifests

lint: ## gofmt, go vet, staticcheck, errcheck and errorlint, at the versions in go.mod
	@echo '==> gofmt'; files=$$($$($(GO) env GOROOT)/bin/gofmt -l .) && test -z "$$files" || { echo "run gofmt -w on: $$files" >&2; exit 1; }
	$(GO) vet ./... && $(GO) vet -tags nightly ./internal/matrix ./cmd/matrix ./test/action ./internal/infra/addons ./internal/infra/embedded && $(GO) vet -tags soak ./cmd/matrix && $(GO) vet -tags oracle ./test/oracle && $(GO) vet -tags kind ./test/kindnode ./internal/infra/kind
	$(GO) tool staticcheck ./...
	$(GO) tool errcheck ./...
	$(GO) tool go-errorlint ./...

test: lint ## Linters, unit tests, and on the real stack the lanes and the fault-injection suite, each claim once
	@echo '==> the stack: compiled once, about 10 minutes on 2 cores, then kept in the cache directory'
	$(GO) run ./cmd/matrix stack build
	@echo '==> tests, two packages side by side: those on the real stack take minutes; each prints a line when it is done'
	$(TESTS) -timeout 60m ./internal/matrix ./cmd/matrix ./test/action ./...

test-nightly: ## What takes minutes and rarely breaks: faults in every lane, second schedulers, trainer, gangs, a release
	$(GO) run ./cmd/matrix stack build
	@echo '==> the second schedulers and the controllers: compiled once, about 5 minutes'
	$(GO) run ./cmd/matrix stack build --schedulers
	$(TESTS) -timeout 120m -tags nightly -run '^TestNightly' ./internal/matrix ./cmd/matrix ./test/action ./internal/infra/addons ./internal/infra/embedded

oracle: ## Hold rules to the programs that decide: kubelet, scheduler, API server, Helm, Flux, Argo CD, helmfile, bash; ORACLE=Kubelet for one, INPUTS=500 and SEED=1 for what is generated; bin/differences gets what is new
	$(GO) run ./cmd/matrix stack build
	$(GO) run ./cmd/matrix stack build --helmfile
	$(GO) test -v -count=1 -vet=off -timeout 60m -tags oracle -run '^TestOracle$(ORACLE)' ./test/oracle -args -inputs $(INPUTS) -seed $(SEED) -sample 0 -found ../../bin/differences$(if $(ANSWERS), -answers $(abspath $(ANSWERS)))

test-race: ## Unit tests with the race detector; it needs a C compiler
	CGO_ENABLED=1 $(GO) test -race -short -count=1 -vet=off -timeout 30m $(RACED)

test-kind: ## Kind clusters: pull the images or, without a registry or Docker, build them; run the contract and four lanes, remove all. Linux, as root; docs/contributing/kind-fixture.md
	$(GO) run ./test/kindnode test ./internal/infra/kind ./test/kindnode$(if $(KIND_TESTS), -run '$(KIND_TESTS)')

bench-go: ## Benchmarks of single functions, e.g. of starting a cluster
	$(GO) run ./cmd/matrix stack build
	$(GO) test -run '^$$' -bench . -timeout 60m ./...

bench-matrix: ## Time BENCH='eks-training' through its lanes, compare with docs/contributing/figures.md; UPDATE=1 keeps the table there
	$(GO) run ./internal/tools/bench $(if $(UPDATE),-update )-- $(BENCH)

bench: ## Time each command that has a goal; CHARTS=DIR of original charts and RECIPES=DIR for the rows that need them, LONG=1 for every recipe; UPDATE=1 keeps the table in docs/contributing/figures.md
	$(GO) run ./internal/tools/bench -goals$(if $(CHARTS), -charts $(CHARTS))$(if $(RECIPES), -recipes $(RECIPES))$(if $(LONG), -long)$(if $(UPDATE), -update)

bench-profile: ## What the processes of each lane of BENCH='eks-training' spend their CPU time on; LANES=helm,flux-oci for some; UPDATE=1 keeps the tables in docs/contributing/figures.md
	$(GO) run ./internal/tools/bench -profile $(if $(LANES),-lanes $(LANES) )$(if $(UPDATE),-update )-- $(BENCH)

bench-ratio: ## What a cell of BENCH='eks-training' costs beside the same bundle delivered by hand, and its requests; LANES=helm,flux-oci for some; UPDATE=1 keeps the table in docs/contributing/figures.md
	$(GO) run ./internal/tools/bench -ratio -lanes $(if $(LANES),$(LANES),helm,argocd-oci,flux-oci) $(if $(UPDATE),-update )-- $(BENCH)

bench-verdicts: ## Time how soon after a fault its verdict comes, in the fault-injection suite; FAULTS='F1[0-9]' for some, NIGHTLY=1 for those of make test-nightly too; UPDATE=1 keeps the table in docs/contributing/figures.md
	$(GO) run ./cmd/matrix stack build
	$(GO) run ./internal/tools/bench -verdicts$(if $(NIGHTLY), -nightly)$(if $(UPDATE), -update)$(if $(FAULTS), -- '$(FAULTS)')

picture: ## Draw the pictures of README.md from docs/images/run.txt, which is what a run printed
	$(GO) run ./internal/tools/picture

bench-gang: ## The gang benchmark, 53 jobs on 32 nodes with 256 GPUs, through each scheduler; UPDATE=1 keeps the table in docs/contributing/figures.md
	$(GO) run ./internal/tools/bench -gangs$(if $(UPDATE), -update)

soak: ## Run eks-training SOAK=50 times in one process; no red, and nothing that grows. About 2 minutes a run on 2 cores
	$(GO) run ./cmd/matrix stack build
	$(GO) test -v -tags soak -count=1 -run TestSoak -timeout 24h ./cmd/matrix -args -soak $(SOAK)

kwok-cluster: build ## Make a cluster that stays, without nodes
	bin/matrix cluster up --no-nodes

kwok-nodes: build ## Make the nodes that RECIPE wants on that cluster
	bin/matrix nodes $(RECIPE)

kwok-test-deployer: build ## Run RECIPE through DEPLOYER, on a fresh cluster
	bin/matrix run $(RECIPE) --deployer $(DEPLOYER)

kwok-test-all: build ## Run every recipe that has a service through DEPLOYER, each on a fresh cluster
	bin/matrix run --all --deployer $(DEPLOYER)

kwok-e2e: build ## Run RECIPE through all deployers, each on a fresh cluster
	bin/matrix run $(RECIPE) --deployer all

kwok-status: build ## List the clusters on this machine
	bin/matrix cluster status

kwok-cluster-delete: build ## Remove the cluster that stays
	bin/matrix cluster down
