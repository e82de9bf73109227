//go:build nightly

package matrix

import (
	"context"
	_ "embed"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/recipe"
	"github.com/nvidia/aicr-action/internal/result"
	"github.com/nvidia/aicr-action/internal/result/reason"
	"github.com/nvidia/aicr-action/internal/testkit"
)

// certificates are an authority that signs itself, an issuer of it, and a certificate of that.
//
//go:embed testdata/objects/certificates.yaml
var certificates string

// certificateRecipe has cert-manager with these values, and a component after it with manifests.
func certificateRecipe(t *testing.T, values, manifests string) *recipe.Store {
	t.Helper()
	return storeOf(t, map[string]string{
		"registry.yaml": `
apiVersion: aicr.nvidia.com/v1alpha1
kind: ComponentRegistry
components:
  - name: cert-manager
    helm: {defaultRepository: "https://charts.example.com", defaultChart: example/cert-manager, defaultVersion: v1.17.2, defaultNamespace: cert-manager}
    nodeScheduling:
      system: {tolerationPaths: [tolerations, webhook.tolerations, cainjector.tolerations, startupapicheck.tolerations]}
  - name: certs
    manifest: {defaultNamespace: certs}
`,
		"overlays/base.yaml": `
apiVersion: aicr.nvidia.com/v1alpha1
kind: RecipeMetadata
metadata: {name: base}
spec:
  componentRefs:
    - name: cert-manager
      overrides: {crds: {enabled: true}` + values + `}
    - {name: certs, dependencyRefs: [cert-manager], manifestFiles: [components/certs/manifests/certs.yaml]}
`,
		"overlays/certified.yaml":               "apiVersion: aicr.nvidia.com/v1alpha1\nkind: RecipeMetadata\nmetadata: {name: certified}\nspec: {criteria: {service: eks, intent: training}}\n",
		"components/certs/manifests/certs.yaml": manifests,
	})
}

// TestNightlyCertManager: cert-manager's four programs run for real: certificates are issued, and
// what only they see is red in their own words.
func TestNightlyCertManager(t *testing.T) {
	t.Parallel()
	gated := strings.Replace(certificates, "dnsNames: [server.certs.svc], ", `otherNames: [{oid: "1.2.3", utf8Value: tea}], `, 1) // no check of the harness knows gates
	for _, c := range []struct {
		name, values, manifests, file, old, new string
		lane                                    []string
		reason                                  reason.Reason // "": it passes
		cause, screen                           string
		within                                  time.Duration // of a red one, in all
	}{
		{name: "passes", manifests: certificates, lane: []string{bundle.Helm, bundle.ArgoCDOCI, bundle.FluxOCI}},
		{name: "F113 a Certificate that the webhook refuses", manifests: gated, reason: reason.DeployFailed, cause: `admission webhook "webhook.cert-manager.io" denied the request`, screen: "Feature gate OtherNames must be enabled"},
		{ // nothing waits for it but the deployer, which tries again
			name: "F114 objects for a webhook that starts", values: ", startupapicheck: {enabled: false}", manifests: certificates,
			lane: []string{bundle.Helm, bundle.HelmTemplate, bundle.ArgoCDOCI, bundle.FluxOCI},
		},
		{
			name: "F114 objects for a webhook that is never ready", values: ", startupapicheck: {enabled: false}", manifests: certificates, file: "webhook.yaml", old: "path: /healthz\n", new: "path: /nothing\n",
			reason: reason.DeployFailed, cause: `failed calling webhook "webhook.cert-manager.io"`, screen: "no pod of Service cert-manager/cert-manager-webhook is ready", within: 2 * time.Minute,
		},
		{
			name: "F114 objects for a webhook that crashes", values: ", startupapicheck: {enabled: false}", manifests: certificates, file: "webhook.yaml", old: "            - --v=2\n", new: "            - --v=2\n            - --tea\n",
			reason: reason.WorkloadFailed, cause: "ends again and again", screen: "unknown flag: --tea", within: 90 * time.Second,
		},
		{
			name: "F116 an operator that crashes on its own configuration", manifests: certificates, file: "controller.yaml", old: "            - --v=2\n", new: "            - --v=2\n            - --kube-api-burst=0\n",
			reason: reason.WorkloadFailed, cause: "ends again and again", screen: "kubernetesAPIBurst", within: 90 * time.Second,
		},
	} {
		for _, lane := range append(slices.Clone(c.lane), []string{bundle.Helm}[:max(0, 1-len(c.lane))]...) {
			t.Run(strings.ReplaceAll(c.name, " ", "-")+"/"+lane, func(t *testing.T) {
				t.Parallel()
				r := certificateRunner(t, c.values, c.manifests)
				r.Charts = editedChart(t, "cert-manager", c.file, c.old, c.new)
				res := operatorCell(t, r, "certified", lane)
				screen := strings.Join(append([]string{res.Cause}, res.Details...), "\n")
				t.Logf("%s %s after %s\n%s\nnotes: %s", res.Status, res.Reason, res.Duration, screen, strings.Join(res.Notes, "\n"))
				if c.reason == "" {
					if res.Status != result.Passed {
						t.Errorf("got %s: %s", res.Status, screen)
					}
					standIns := slices.DeleteFunc(slices.Clone(res.StandIns), func(line string) bool { return strings.Contains(line, " runs for the image ") }) // the programs
					if all := strings.Join(standIns, "\n"); len(standIns) == len(res.StandIns) || strings.Contains(all, "Certificate ") || strings.Contains(all, "cert-manager-webhook") {
						t.Errorf("stand-ins did the operator's work:\n%s", strings.Join(res.StandIns, "\n"))
					}
					return
				}
				if res.Status != result.Failed || res.Reason != c.reason {
					t.Errorf("got %s, %s; want %s", res.Status, res.Reason, c.reason)
				}
				if c.within > 0 && res.Duration > c.within {
					t.Errorf("it was red after %s, want %s", res.Duration, c.within)
				}
				testkit.WantText(t, "cause", res.Cause, c.cause)
				testkit.WantText(t, "first screen", screen, c.screen)
			})
		}
	}
}

// certificateRunner runs certificateRecipe with real operators.
func certificateRunner(t *testing.T, values, manifests string) *Runner {
	t.Helper()
	r := realOperators(t)
	r.Store = certificateRecipe(t, values, manifests)
	r.Charts = editedChart(t, "cert-manager", "", "", "")
	return r
}

// TestNightlyOperatorKilled: an operator that is killed starts again, and the cell passes; one that is
// killed for ever is red; and no process of it is left.
func TestNightlyOperatorKilled(t *testing.T) { // not beside others, whose operators it would kill
	for _, c := range []struct {
		name    string
		forEver bool
	}{{"once", false}, {"for ever", true}} {
		t.Run(strings.ReplaceAll(c.name, " ", "-"), func(t *testing.T) {
			r := certificateRunner(t, "", certificates)
			ctx, stop := context.WithCancel(t.Context())
			killed := make(chan int, 1)
			go func() { killed <- killOperators(ctx, c.forEver) }()
			res := operatorCell(t, r, "certified", bundle.Helm)
			left := controllers()
			stop()
			n := <-killed
			t.Logf("killed %d times: %s %s %s\n%s", n, res.Status, res.Reason, res.Cause, strings.Join(res.Details, "\n"))
			switch {
			case n == 0:
				t.Error("no process of the operator was killed: this shows nothing")
			case !c.forEver && res.Status != result.Passed:
				t.Errorf("killed once: %s, %s", res.Status, res.Cause)
			case c.forEver && (res.Reason != reason.WorkloadFailed || !strings.Contains(res.Cause, "ends again and again")):
				t.Errorf("killed for ever: %s %s, %s", res.Status, res.Reason, res.Cause)
			}
			if len(left) > 0 {
				t.Errorf("processes are left: %v", left)
			}
		})
	}
}

// controllers are the processes of cert-manager's controller that this process has started.
func controllers() []int {
	out, err := exec.Command("pgrep", "-P", strconv.Itoa(os.Getpid()), "-f", "/bin/cert-manager-controller").Output()
	if err != nil {
		return nil // none
	}
	var all []int
	for line := range strings.FieldsSeq(string(out)) {
		if pid, err := strconv.Atoi(line); err == nil {
			all = append(all, pid)
		}
	}
	return all
}

// killOperators kills the controller once it runs, and again and again if that is asked for.
func killOperators(ctx context.Context, again bool) int {
	killed := 0
	for ctx.Err() == nil {
		for _, pid := range controllers() {
			if syscall.Kill(pid, syscall.SIGKILL) == nil {
				killed++
			}
		}
		if killed > 0 && !again {
			return killed
		}
		time.Sleep(200 * time.Millisecond)
	}
	return killed
}
