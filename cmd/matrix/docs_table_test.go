package main

import "slices"

// where a documented command is executed.
type where int

const (
	here      where = iota // TestDocumentedCommands
	byMake                 // the same; want are the commands that make calls, which are recorded and not run
	onStack                // TestDocumentedCommands_Stack
	elsewhere              // another test, or none that could
)

// docCommand is a row of the table of documented commands. In them, /tmp is a directory of the
// test's own.
type docCommand struct {
	command string
	where   where
	want    []string // parts of what it prints
	test    string   // elsewhere: "directory Test" that covers it
	why     string   // elsewhere: why it is not executed as it stands
}

const (
	allLanes     = "every lane takes minutes; it is what that test runs, cell by cell"
	wholeTests   = "it runs the tests, of which this is one"
	repositories = "it needs the internet; that test has repositories of its own, and runs the same commands"
	moves        = "it asks the module proxy for versions and changes go.mod; that go.mod is whole is what every build checks"
	docker       = "it needs a Docker engine; that test has a fake of it"
	nodeImage    = "it needs root and an engine; make test-kind runs that test between the two"
	keptCluster  = "that test runs these files and this verb on a kept cluster, which has the stages"
	gotestsum    = "go tool gotestsum --format pkgname-and-test-fails --format-icons text --format-hide-empty-pkg --jsonfile bin/tests.json --post-run-command go tool gotestsum tool slowest --num 20 --jsonfile bin/tests.json -- -count=1 -vet=off -p 2 -parallel 6"
	ownMachine   = "a figure is measured by hand, on a machine with nothing else running; that test runs the same cells"
)

// documentedCommands is the table, in the order in which they are executed: every command of
// README.md and docs/, once.
func documentedCommands() []docCommand {
	return slices.Concat(firstCommands(), workflowCommands(), chartCommands(), makeCommands(), stackCommands(), lastCommands())
}

// firstCommands are those of the first pages: looking around, adding a recipe and node profiles.
func firstCommands() []docCommand {
	return []docCommand{
		{command: `export PATH="$PWD/bin:$PATH"`},
		{command: "matrix doctor", want: []string{"platform", "memory"}},
		{command: "matrix version", want: []string{"kube-apiserver"}},
		{command: "matrix explain 51", want: []string{"DEPLOY_FAILED"}},
		{command: "matrix explain SCHEDULING_FAILED", want: []string{"exit code 1 "}},
		{command: "matrix explain MX202", want: []string{"ingress-without-class", "What to do: "}},
		{command: "matrix list checks", want: []string{"MX202", "matrix explain ID says more"}},
		{command: "matrix list recipes", want: []string{"eks-training", "can be run here"}},
		{command: "matrix check --all", where: elsewhere, test: "cmd/matrix TestRecipes", why: "it renders 65 recipes; that test takes some of them"},
		{command: "matrix run h100-eks-ubuntu-training-slurm", where: elsewhere, test: "cmd/matrix TestRecipes", why: allLanes},
		{command: "matrix run aks-training --profile gpuStack=operator-managed -d helm", where: elsewhere, test: "cmd/matrix TestRecipes", why: "that test checks the same recipe without a cluster"},
		{command: "matrix list profiles -o wide", want: []string{"standard-rwo", "oci-bv"}},
		{command: "matrix list charts -o json", want: []string{`"charts": [`, `"name": "cert-manager"`}},
		{command: "matrix discover", want: []string{"eks-training"}},
		{command: "git switch -c my-change"},
		{command: "echo '    - {name: cert-manager, type: Helm, overrides: {replicaCount: 2}}' >> recipes/overlays/eks-training.yaml"},
		{command: "matrix discover --base origin/main", want: []string{"cells: ", "compared with "}},
		{command: "sed -e 's/h100/h200/; s/H100/H200/' recipes/overlays/h100-eks-training.yaml > recipes/overlays/h200-eks-training.yaml"},
		{command: "matrix bundle h200-eks-training --simulated-nodes --to /tmp/h200"},
		{command: "mkdir -p /tmp/my-profiles"},
		{command: "sed -e 's/name: lke/name: mycloud/; s/service: lke/service: mycloud/' kwok/profiles/lke-system.yaml > /tmp/my-profiles/mycloud-system.yaml"},
		{command: "sed -e 's/name: lke/name: mycloud/; s/service: lke/service: mycloud/' kwok/profiles/lke-rtx-pro-6000.yaml > /tmp/my-profiles/mycloud-rtx-pro-6000.yaml"},
		{command: "sed -e 's/name: lke/name: mycloud/; s/service: lke/service: mycloud/' recipes/overlays/lke.yaml > recipes/overlays/mycloud.yaml"},
		{command: "matrix discover --tier 1 --profiles /tmp/my-profiles", want: []string{"mycloud  ", "skipped: 0"}},
		{command: "matrix run h100-eks-ubuntu-training-kubeflow --deployer helm --probes", where: elsewhere, test: "internal/matrix TestHealthChecksOnTheStack", why: "that test runs the same cell, with the health checks"},
		{command: "matrix run h100-eks-ubuntu-training-kubeflow --deployer helm --probes --controller trainer", where: elsewhere, test: "cmd/matrix TestNightlyTrainerInCells", why: "it needs the compiled controllers, which only make test-nightly makes"},
		{command: "matrix run --all --reuse .verdicts", where: elsewhere, test: "internal/command/run TestReuse", why: allLanes},
		{command: "matrix why-run eks-training/helm --reuse .verdicts", want: []string{"eks-training/helm runs: "}},
		{command: "matrix stack path", want: []string{"stack"}},
		{command: "matrix cluster down --stale"},
		{command: "cp -r recipes /tmp/my-recipes"},
		{command: "echo 'nodeSelector: {disktype: ssd}' >> /tmp/my-recipes/components/cert-manager/values.yaml"},
		{command: "cp -r kwok/charts /tmp/charts"},
		{command: "rm -r /tmp/charts/cert-manager"},
		{command: "helm pull cert-manager --repo https://charts.jetstack.io --version v1.17.2 -d /tmp/charts", where: elsewhere, test: "internal/charts/catalog TestChartSource",
			why: "it needs the internet; the simulated chart takes its place in the next command"},
	}
}

// workflowCommands are those of workflows and virtual nodes.
func workflowCommands() []docCommand {
	return []docCommand{
		{command: "gh attestation verify matrix_v1.2.3_linux_amd64 --repo nvidia/aicr-action --signer-workflow nvidia/aicr-action/.github/workflows/release.yaml --source-ref refs/heads/main",
			where: elsewhere, test: "test/action TestWorkflows", why: "it needs a release and GitHub; that test checks the workflow that it names"},
		{command: "matrix workflow lint workflows/nodes.yaml workflows/jobs.yaml", want: []string{"workflows/jobs.yaml: 5 tasks, no mistakes"}},
		{command: "matrix workflow run workflows/nodes.yaml workflows/jobs.yaml --html placement.html", where: elsewhere, test: "cmd/matrix TestWorkflows", why: "that test runs it with further flags"},
		{command: "matrix workflow run workflows/nodes.yaml workflows/jobs.yaml --name lab --cleanup", where: elsewhere, test: "cmd/matrix TestWorkflows", why: keptCluster},
		{command: "matrix cluster up --stages pod-complete --no-nodes --name lab", where: elsewhere, test: "cmd/matrix TestWorkflows", why: keptCluster},
		{command: "matrix nodes --from charts/virtual-nodes/values-example.yaml --name lab", where: elsewhere, test: "cmd/matrix TestWorkflows", why: keptCluster},
		{command: "matrix cluster down --name lab", where: elsewhere, test: "cmd/matrix TestWorkflows", why: keptCluster},
		{command: "matrix workflow run workflows/nodes.yaml workflows/jobs.yaml --chaos workflows/chaos/rack.yaml", where: elsewhere, test: "cmd/matrix TestChaos", why: "that test takes every kind of step"},
		{command: "matrix workflow run workflows/gangs/nodes.yaml workflows/gangs/coscheduling.yaml workflows/gangs/burst.yaml --wait-pods 10m", where: elsewhere, test: "cmd/matrix TestNightlyGangSchedulers", why: "that test runs two gangs on four nodes"},
		{command: "matrix workflow run workflows/training/jobset.yaml workflows/training/trainjob.yaml", where: elsewhere, test: "cmd/matrix TestNightlyControllers", why: "it needs the compiled controllers, which only make test-nightly makes"},
	}
}

// chartCommands are those of charts, and of bundles and data that are not from this repository.
func chartCommands() []docCommand {
	return []docCommand{
		{command: "matrix charts verify", where: elsewhere, test: "cmd/matrix TestChartCommands", why: repositories},
		{command: "matrix charts verify --upstream", where: elsewhere, test: "cmd/matrix TestChartCommands", why: repositories},
		{command: "matrix charts lock", where: elsewhere, test: "cmd/matrix TestChartCommands", why: repositories},
		{command: "matrix charts lock eks-training", where: elsewhere, test: "cmd/matrix TestChartCommands", why: repositories},
		{command: "matrix charts pull", where: elsewhere, test: "cmd/matrix TestChartCommands", why: repositories},
		{command: "matrix charts mirror /tmp/mirror", where: elsewhere, test: "cmd/matrix TestChartCommands", why: repositories},
		{command: "matrix run eks-training --charts /tmp/mirror", where: elsewhere, test: "cmd/matrix TestChartCommands", why: "that test makes a mirror, and a bundle from it"},
		{command: "matrix run eks-training --charts ./charts --charts simulated", where: elsewhere, test: "cmd/matrix TestChartSources_List", why: "that test makes bundles from such a list"},
		{command: "matrix run eks-training --aicr ./aicr", where: elsewhere, test: "internal/matrix TestExternalBundler", why: "it needs AICR's CLI; that test has a test double of it"},
		{command: "matrix run --app examples/apps/argocd --charts simulated", where: elsewhere, test: "cmd/matrix TestApp_ArgoCD", why: "that test runs the same cell"},
		{command: "matrix run --bundle-dir ./bundle --deployer flux-oci", where: elsewhere, test: "internal/intake TestRoundTrip", why: "that test reads such bundles, for every lane"},
		{command: "mkdir -p /tmp/my-data"},
		{command: `printf 'apiVersion: aicr.run/v1beta1\nkind: ComponentRegistry\ncomponents: []\n' > /tmp/my-data/registry.yaml`},
		{command: "matrix bundle eks-training --data /tmp/my-data --to /tmp/my-bundle", want: []string{"files for"}},
	}
}

// makeCommands are those of the Makefile.
func makeCommands() []docCommand {
	return []docCommand{
		{command: "make build", where: byMake, want: []string{"go build -o bin/matrix ./cmd/matrix", "go build -o bin/aicr ./cmd/aicr"}},
		{command: "make lint", where: byMake, want: []string{"go vet ./...", "go tool staticcheck ./...", "go tool errcheck ./...", "go tool go-errorlint ./..."}},
		{command: "make test", where: byMake, want: []string{"go vet ./...", "go run ./cmd/matrix stack build", gotestsum + " -timeout 60m ./internal/matrix ./cmd/matrix ./test/action ./..."}},
		{command: "make test-nightly", where: byMake, want: []string{"go run ./cmd/matrix stack build --schedulers", gotestsum + " -timeout 120m -tags nightly -run ^TestNightly ./internal/matrix ./cmd/matrix ./test/action ./internal/infra/addons ./internal/infra/embedded"}},
		{command: "make oracle", where: byMake, want: []string{"go run ./cmd/matrix stack build", "go run ./cmd/matrix stack build --helmfile", "go test -v -count=1 -vet=off -timeout 60m -tags oracle -run ^TestOracle ./test/oracle -args -inputs 500 -seed 0 -sample 0 -found ../../bin/differences"}},
		{command: "make oracle ORACLE=Kubelet INPUTS=50 SEED=7", where: byMake, want: []string{"go test -v -count=1 -vet=off -timeout 60m -tags oracle -run ^TestOracleKubelet ./test/oracle -args -inputs 50 -seed 7 -sample 0 -found ../../bin/differences"}},
		{command: "make oracle ORACLE=AICR ANSWERS=/answers", where: byMake, want: []string{"go test -v -count=1 -vet=off -timeout 60m -tags oracle -run ^TestOracleAICR ./test/oracle -args -inputs 500 -seed 0 -sample 0 -found ../../bin/differences -answers /answers"}},
		{command: "make test-race", where: byMake, want: []string{"go test -race -short -count=1 -vet=off -timeout 30m ./internal/..."}},
		{command: "make test-kind", where: byMake, want: []string{"go run ./test/kindnode test ./internal/infra/kind ./test/kindnode"}},
		{command: "make test-kind KIND_IMAGES=assembled", where: byMake, want: []string{"go run ./test/kindnode test ./internal/infra/kind ./test/kindnode"}},
		{command: "make test-kind KIND_TESTS=TestContractInKind", where: byMake, want: []string{"go run ./test/kindnode test ./internal/infra/kind ./test/kindnode -run TestContractInKind"}},
		{command: "go run ./test/kindnode status", where: elsewhere, test: "test/action TestCIRun", why: "that test runs it, with a test double of the fixture"},
		{command: "go run ./test/kindnode build", where: elsewhere, test: "test/kindnode TestClusterFromTheNodeImage", why: nodeImage},
		{command: "go run ./test/kindnode up", where: elsewhere, test: "test/kindnode TestClusterFromTheNodeImage", why: nodeImage},
		{command: "go run ./test/kindnode env", where: elsewhere, test: "test/kindnode TestClusterFromTheNodeImage", why: nodeImage},
		{command: "go run ./test/kindnode down", where: elsewhere, test: "test/kindnode TestClusterFromTheNodeImage", why: nodeImage},
		{command: "make bench", where: byMake, want: []string{"go run ./internal/tools/bench -goals"}},
		{command: "make bench-matrix", where: byMake, want: []string{"go run ./internal/tools/bench -- eks-training"}},
		{command: "make bench-matrix UPDATE=1", where: byMake, want: []string{"go run ./internal/tools/bench -update -- eks-training"}},
		{command: "make bench-matrix BENCH='--tier 1'", where: byMake, want: []string{"go run ./internal/tools/bench -- --tier 1"}},
		{command: "make bench UPDATE=1", where: byMake, want: []string{"go run ./internal/tools/bench -goals -update"}},
		{command: "make bench-profile", where: byMake, want: []string{"go run ./internal/tools/bench -profile -- eks-training"}},
		{command: "make bench-profile UPDATE=1", where: byMake, want: []string{"go run ./internal/tools/bench -profile -update -- eks-training"}},
		{command: "make bench-ratio", where: byMake, want: []string{"go run ./internal/tools/bench -ratio -lanes helm,argocd-oci,flux-oci -- eks-training"}},
		{command: "make bench-ratio UPDATE=1", where: byMake, want: []string{"go run ./internal/tools/bench -ratio -lanes helm,argocd-oci,flux-oci -update -- eks-training"}},
		{command: "make bench-verdicts", where: byMake, want: []string{"go run ./internal/tools/bench -verdicts"}},
		{command: "make bench-verdicts UPDATE=1", where: byMake, want: []string{"go run ./internal/tools/bench -verdicts -update"}},
		{command: "make bench-verdicts FAULTS='F3[0-9]'", where: byMake, want: []string{"go run ./internal/tools/bench -verdicts -- F3[0-9]"}},
		{command: "make bench-gang", where: byMake, want: []string{"go run ./internal/tools/bench -gangs"}},
		{command: "make bench-gang UPDATE=1", where: byMake, want: []string{"go run ./internal/tools/bench -gangs -update"}},
		{command: "make picture", where: byMake, want: []string{"go run ./internal/tools/picture"}},
		{command: "make soak", where: byMake, want: []string{"go test -v -tags soak -count=1 -run TestSoak -timeout 24h ./cmd/matrix -args -soak 50"}},
		{command: "make soak SOAK=36", where: byMake, want: []string{"go test -v -tags soak -count=1 -run TestSoak -timeout 24h ./cmd/matrix -args -soak 36"}},
		{command: "make update-manifests", where: byMake, want: []string{"go run ./kwok/manifests/internal/manifestgen kwok/stack kwok/manifests"}},
		{command: "make generate", where: byMake, want: []string{"go run ./kwok/crdgen kwok/charts", "go run ./cmd/matrix explain --markdown"}},
		{command: "make kwok-test-deployer RECIPE=eks-training DEPLOYER=flux-oci", where: byMake, want: []string{"bin/matrix run eks-training --deployer flux-oci"}},
		{command: "make kwok-e2e RECIPE=eks-training", where: byMake, want: []string{"bin/matrix run eks-training --deployer all"}},
		{command: "make kwok-test-all DEPLOYER=helm", where: byMake, want: []string{"bin/matrix run --all --deployer helm"}},
	}
}

// stackCommands are those that run on the stack, with the clusters that they leave.
func stackCommands() []docCommand {
	return []docCommand{
		{command: "make kwok-cluster", where: onStack},
		{command: "make kwok-nodes RECIPE=eks-training", where: onStack},
		{command: "make kwok-status", where: onStack},
		{command: "make kwok-cluster-delete", where: onStack},
		{command: "matrix cluster up", where: onStack},
		{command: "matrix stack build", where: onStack},
		{command: "matrix run eks-training --deployer helm --recipes-dir /tmp/my-recipes", where: onStack},
		{command: "matrix run eks-training --deployer helm --charts /tmp/charts", where: onStack},
		{command: "matrix run eks-training --deployer helm --results out --junit out/junit.xml --html out/report.html --summary out/summary.md", where: onStack},
		{command: "matrix report out/kwok-results.json --format html > report.html", where: onStack},
		{command: "matrix merge shard-*/kwok-results.json --to kwok-results.json", where: onStack},
		{command: "matrix run eks-training --deployer helm --artifacts out", where: onStack},
		{command: "matrix replay kwok-debug-eks-training-flux-oci-1a2b3c4d", where: onStack},
		{command: "kubectl get pods -A -o wide", where: onStack},
		{command: "kubectl get events -A --sort-by=.lastTimestamp", where: onStack},
		{command: "kubectl describe helmrelease -n flux-system cert-manager", where: elsewhere, test: "cmd/matrix TestReplay_FailedCell",
			why: "only a cell of flux-oci has HelmReleases, and the one that is replayed here is of helm, which takes a third of the time"},
		{command: "helm list -A", where: onStack},
		{command: `eval "$(matrix replay --detach DIR)"`, where: onStack},
		{command: "tar -xzOf *-etcd.tar.gz snapshot.json", where: onStack},
		{command: "tar -tzf *-etcd.tar.gz | grep deployments", where: onStack},
		{command: "matrix run eks-training --deployer helm --keep", where: onStack},
		{command: "matrix why cert-manager/deployment/cert-manager", where: onStack},
		{command: "matrix cluster status", where: onStack},
		{command: "matrix cluster kubeconfig --name NAME", where: onStack},
		{command: "matrix cluster down --name NAME", where: onStack},
	}
}

// lastCommands are those of which most are executed by another test, since they need more than this machine or take long.
func lastCommands() []docCommand {
	return []docCommand{
		{command: "git checkout v1.2.3", where: elsewhere, test: "internal/tools/release TestPin", why: "no version has been released"},
		{command: "go run ./internal/tools/release/tool pack --version v1.2.3 --platform linux/amd64 --binary-only", where: elsewhere, test: "internal/tools/release TestPack", why: "that test packs a program too, to a place of its own"},
		{command: "sha256sum dist/matrix_v1.2.3_linux_amd64", where: elsewhere, test: "internal/tools/release TestChecksums", why: "that test compares the digests"},
		{command: "git clone https://github.com/nvidia/aicr-action", where: elsewhere, test: "cmd/matrix TestDocumentedCommands", why: "it needs the internet; that test runs in a copy"},
		{command: "cd aicr-action", where: elsewhere, test: "cmd/matrix TestDocumentedCommands", why: "that test starts in the directory"},
		{command: "CGO_ENABLED=0 go build -o bin/matrix ./cmd/matrix", where: elsewhere, test: "cmd/matrix TestProcessExitCodes", why: "that test builds the program too, to a place of its own"},
		{command: "matrix run eks-training", where: elsewhere, test: "internal/matrix TestLanes", why: allLanes},
		{command: "matrix run eks-training -d helm,argocd-oci,argocd-helm-oci,flux-oci", where: elsewhere, test: "internal/matrix TestLanes", why: allLanes},
		{command: "matrix run eks-training --deployer helm", where: elsewhere, test: "cmd/matrix TestReports_InterruptedRun", why: "that test runs it with further flags"},
		{command: "matrix run eks-training --deployer helm,helm-template", where: elsewhere, test: "internal/matrix TestNightlyLanes", why: allLanes},
		{command: "matrix stack lock kwok/stack/images.lock", where: elsewhere, test: "internal/infra/stack TestRelock", why: "it needs the makers' registries; that test has one of its own"},
		{command: "matrix stack build --kubernetes 1.34", where: elsewhere, test: "internal/infra/stack TestWithKubernetes", why: "it compiles for minutes"},
		{command: "matrix run --kubernetes 1.34", where: elsewhere, test: "cmd/matrix TestNightlyKubernetes", why: "it names no recipe; that test names one, and compiles for minutes"},
		{command: "matrix run eks-training -d LANE", where: elsewhere, test: "internal/matrix TestLanes", why: ownMachine},
		{command: "matrix run eks-training -d helm", where: elsewhere, test: "internal/matrix TestLanes", why: ownMachine},
		{command: "matrix run eks-training --platform kind", where: elsewhere, test: "internal/infra/kind TestConfig", why: docker},
		{command: "matrix run eks-training --platform kind --kind-images kind-images.tar", where: elsewhere, test: "internal/infra/kind TestEnsureImages", why: docker},
		{command: "matrix run eks-training --platform kind --reuse-cluster", where: elsewhere, test: "internal/infra/kind TestReuse_Invalid", why: docker},
		{command: "matrix parity eks-training --stack images,modules", where: elsewhere, test: "cmd/matrix TestNightlyStackImages", why: "it needs the makers' registries; that test has one of its own"},
		{command: "matrix parity eks-training", where: elsewhere, test: "test/kindnode TestLanesOfBothPlatforms", why: nodeImage},
		{command: "matrix run eks-training --program registry.example.com/operator:1=./operator", where: elsewhere, test: "cmd/matrix TestRun_Program", why: "that test runs a recipe with a program of its own"},
		{command: "go build -o bin/gpu-scheduler ./cmd/gpu-scheduler", where: elsewhere, test: "cmd/matrix TestGPUSchedulerRecipe", why: "that test builds the program too, to a place of its own"},
		{command: "matrix run gpu-scheduler --recipes-dir examples/gpu-scheduler --charts charts -d argocd-appset --program registry.example.com/gpu-scheduler:1.0.0=bin/gpu-scheduler", where: elsewhere, test: "cmd/matrix TestGPUSchedulerRecipe", why: "that test runs it with further flags"},
		{command: "matrix images save kind-images.tar", where: elsewhere, test: "cmd/matrix TestImagesList", why: docker},
		{command: "matrix run h200-eks-training --deployer helm", where: elsewhere, test: "internal/bundle TestShippedRecipes", why: "the recipe is made by the page's commands; that test renders those of its kind, and TestLanes runs one"},
		{command: "go test -short ./internal/bundle ./internal/verify/chainsaw ./kwok", where: elsewhere, test: "cmd/matrix TestDocumentedCommands", why: wholeTests},
		{command: "go test ./internal/matrix/checks", where: elsewhere, test: "cmd/matrix TestDocumentedCommands", why: wholeTests},
		{command: "go run ./cmd/matrix check --app internal/matrix/checks/network/testdata/mx202/bad-none.yaml", where: elsewhere, test: "cmd/matrix TestCheck", why: "it would compile this program again; that test calls the same command"},
		{command: "go test -short ./...", where: elsewhere, test: "cmd/matrix TestDocumentedCommands", why: wholeTests},
		{command: "go test -short ./internal/bundle ./internal/matrix ./cmd/matrix", where: elsewhere, test: "cmd/matrix TestDocumentedCommands", why: wholeTests},
		{command: "go test -short ./internal/bundle -run TestGolden -update", where: elsewhere, test: "internal/bundle TestGolden", why: "-update changes the files that the test compares with"},
		{command: "go test ./internal/matrix -run TestFaultsDocument -update", where: elsewhere, test: "internal/matrix TestFaultsDocument", why: "-update changes the page that the test compares with"},
		{command: "cd kwok/stack", where: elsewhere, test: "kwok TestEmbeddedPartsList_UpToDate", why: moves},
		{command: "cd ../..", where: elsewhere, test: "kwok TestEmbeddedPartsList_UpToDate", why: moves},
		{command: "go get github.com/fluxcd/helm-controller@v1.6.4", where: elsewhere, test: "kwok TestEmbeddedPartsList_UpToDate", why: moves},
		{command: "go get github.com/spf13/cobra@latest", where: elsewhere, test: "cmd/matrix TestProcessExitCodes", why: moves},
		{command: "go mod tidy", where: elsewhere, test: "cmd/matrix TestProcessExitCodes", why: moves},
		{command: "go mod tidy -e", where: elsewhere, test: "kwok TestEmbeddedPartsList_UpToDate", why: moves},
	}
}
