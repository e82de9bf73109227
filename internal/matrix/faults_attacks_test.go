package matrix

import (
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/infra/embedded"
	"github.com/nvidia/aicr-action/internal/matrix/lane"
	"github.com/nvidia/aicr-action/internal/result"
	"github.com/nvidia/aicr-action/internal/result/reason"
)

// The attacks of docs/security.md: what a recipe that means harm would do.

// protections are the ways in which an attack is tried: against all of them, and against one alone.
var protections = map[string]embedded.Protections{
	"": {}, "policy alone": {Sandbox: true}, "sandbox alone": {Policy: true},
}

func unprotected(p embedded.Protections) func(*Runner) {
	return func(r *Runner) {
		platform := *embeddedOf(r)
		platform.Without = p
		r.Platform = &platform
	}
}

// runsAProgram is a cluster Secret whose login is a program, and an Application that is aimed at
// it. marker is what the program would write.
func runsAProgram(marker string) string {
	return fmt.Sprintf(`apiVersion: v1
kind: Secret
metadata:
  name: elsewhere
  namespace: argocd
  labels: {argocd.argoproj.io/secret-type: cluster}
stringData:
  name: elsewhere
  server: https://127.0.0.1:1
  config: '{"execProviderConfig":{"command":"/bin/sh","args":["-c","/usr/bin/env > %[1]s"],"apiVersion":"client.authentication.k8s.io/v1beta1"},"tlsClientConfig":{"insecure":true}}'
---
apiVersion: argoproj.io/v1alpha1
kind: Application
metadata: {name: elsewhere, namespace: argocd}
spec:
  project: default
  source: {repoURL: "oci://127.0.0.1:1/none", targetRevision: "1", path: .}
  destination: {name: elsewhere, namespace: default}
  syncPolicy: {automated: {}}
`, marker)
}

// aProgramIsRun seeds runsAProgram under the protections of that name.
func aProgramIsRun(name string) seed {
	marker := filepath.Join(os.TempDir(), fmt.Sprintf("aicr-action-attack-%d-%s", os.Getpid(), filepath.Base(filepath.Clean("x"+name))))
	s := seed{
		name: name, lanes: []string{bundle.ArgoCDOCI}, sync: 30 * time.Second, runner: unprotected(protections[name]),
		recipe:   func(r *tinyRecipe) { r.only("a"); r.part("a").add("attack.yaml", runsAProgram(marker)) },
		deployed: lookFor(marker, protections[name].Policy),
		want:     red(reason.DeployFailed, "Secret argocd/elsewhere would give Argo CD a cluster or a repository", "may not configure the controllers"),
	}
	if protections[name].Policy { // the Application exists, and is not the bundle's
		s.want = red(reason.DeployFailed, "Application argocd/elsewhere").in(3 * time.Minute)
	}
	s.want.check = func(t *testing.T, _ result.Result) {
		t.Helper()
		if raw, err := os.ReadFile(marker); err == nil {
			_ = os.Remove(marker)
			t.Errorf("the recipe's program ran, with the environment\n%s", raw)
		}
	}
	return s
}

// lookFor gives the attack time, where the policy does not end the cell: Argo CD asks a new cluster
// for its version within seconds.
func lookFor(marker string, wait bool) func(context.Context, *lane.Env) error {
	return func(ctx context.Context, _ *lane.Env) error {
		for until := time.Now().Add(15 * time.Second); wait && time.Now().Before(until) && ctx.Err() == nil; time.Sleep(100 * time.Millisecond) {
			if _, err := os.Stat(marker); err == nil {
				break
			}
		}
		return nil
	}
}

// aListener is an address on this machine, and what those say who dial it.
func aListener() (address string, dialled <-chan string) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	said := make(chan string, 100)
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			buf := make([]byte, 100)
			_ = c.SetDeadline(time.Now().Add(time.Second))
			n, _ := c.Read(buf)
			said <- string(buf[:n])
			_ = c.Close()
		}
	}()
	return l.Addr().String(), said
}

// dialsElsewhere seeds a chart repository at another address: nothing may dial it.
func dialsElsewhere(name string) seed {
	address, dialled := aListener()
	s := seed{
		name: name, lanes: []string{bundle.FluxOCI}, sync: 30 * time.Second, runner: unprotected(protections[name]),
		recipe: func(r *tinyRecipe) {
			r.only("a")
			r.part("a").add("attack.yaml", fmt.Sprintf("apiVersion: source.toolkit.fluxcd.io/v1\nkind: HelmRepository\nmetadata: {name: metadata}\nspec: {interval: 1m, url: \"http://%s/latest\"}\n", address))
		},
		want: red(reason.DeployFailed, "HelmRepository a/metadata would make Flux dial http://"+address),
	}
	if protections[name].Policy { // Flux waits for the repository to become ready, as it does for all that a release installs
		s.sync, s.want = 15*time.Second, red(reason.SyncTimeout, "HelmRelease a")
	}
	s.want.check = func(t *testing.T, _ result.Result) {
		t.Helper()
		select {
		case text := <-dialled:
			t.Errorf("the address that the recipe names was dialled: %q", text)
		default:
		}
	}
	return s
}

// underEach are the seeds of one attack under each protection alone and, at night, under both.
func underEach(make func(string) seed) []seed {
	both := make("")
	both.lanes, both.nightly = nil, both.lanes
	return []seed{both, make("policy alone"), make("sandbox alone")}
}

// openPolicy is Flux's admission policy with nothing in it.
const openPolicy = `
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: aicr-action-flux}
spec: {matchConstraints: {resourceRules: [{apiGroups: [""], apiVersions: ["v1"], operations: [CREATE], resources: [podtemplates]}]}, validations: [{expression: "true"}]}
---
`

// attacks are the rows of the suite for what a recipe that means harm would do.
func attacks() []fault {
	return []fault{
		{
			id: "F52", what: "a recipe that registers a cluster with Argo CD whose login is a program", verdict: "rejected by policy; the program does not start, and would not with the sandbox alone either",
			seeds: underEach(aProgramIsRun),
		},
		{
			id: "F53", what: "a recipe with a chart repository at an address that is not the registry", verdict: "rejected by policy; nothing is dialled, and would not be with the sandbox alone either",
			seeds: underEach(dialsElsewhere),
		},
		{
			id: "F81", what: "a recipe that replaces the admission policy of the harness, or the deployer's own CRDs, at rendering or only once it is installed",
			verdict: "rejected before a cluster exists, with the component's file and line; what only an installation shows is rejected by a policy that no request can change, and without that one is DEPLOY_FAILED, since no verdict counts",
			seeds: []seed{
				{lanes: []string{bundle.FluxOCI}, recipe: onceInstalled(openPolicy), want: red(reason.DeployFailed, "ValidatingAdmissionPolicy aicr-action-flux judges the recipe")},
				{name: "no static policy", lanes: []string{bundle.FluxOCI}, recipe: onceInstalled(openPolicy), runner: unprotected(embedded.Protections{Static: true}), want: red(reason.DeployFailed, "ValidatingAdmissionPolicy aicr-action-flux was changed", "no verdict of this cell counts")},
			},
			tests: []string{"internal/bundle TestReservedObjects", "internal/bundle/policy TestWhy", "internal/infra/gitops TestOwnObjects_Reserved", "internal/infra/gitops TestPolicies_RealAPIServer", "internal/infra/embedded TestStaticPolicy"},
		},
		{
			id: "F82", what: "objects of Argo CD or Flux with what fetches, runs or writes besides a bundle: sourceHydrator, jsonnet, fileParameters, an operation with its own source or one that runs already, generators that ask addresses, a Bucket, a second Kustomization",
			verdict: "rejected by policy, whose lists have what is allowed; what is rendered, or is in --bundle-dir, is refused with file and line",
			tests:   []string{"internal/infra/gitops TestPolicies_RealAPIServer", "internal/bundle/policy TestCheck", "internal/bundle TestReservedObjects", "internal/intake TestForms_Unknown"},
		},
	}
}
