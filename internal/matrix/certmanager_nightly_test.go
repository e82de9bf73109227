//go:build nightly

package matrix

import (
	"bytes"
	"context"
	"io/fs"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"testing/fstest"
	"time"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/charts/catalog"
	"github.com/nvidia/aicr-action/internal/infra/programs"
	"github.com/nvidia/aicr-action/internal/recipe"
	"github.com/nvidia/aicr-action/internal/result"
	"github.com/nvidia/aicr-action/internal/result/reason"
	"github.com/nvidia/aicr-action/internal/testkit"
	"github.com/nvidia/aicr-action/internal/testkit/infratest"
	"github.com/nvidia/aicr-action/kwok"
)

// certificates are an authority that signs itself, an issuer of it, and a certificate of that.
const certificates = `
apiVersion: cert-manager.io/v1
kind: Issuer
metadata: {name: self}
spec: {selfSigned: {}}
---
apiVersion: cert-manager.io/v1
kind: Certificate
metadata: {name: authority}
spec: {isCA: true, commonName: authority, secretName: authority, issuerRef: {name: self}}
---
apiVersion: cert-manager.io/v1
kind: Issuer
metadata: {name: authority}
spec: {ca: {secretName: authority}}
---
apiVersion: cert-manager.io/v1
kind: Certificate
metadata: {name: server}
spec: {dnsNames: [server.certs.svc], secretName: server, issuerRef: {name: authority}}
`

// certificateRecipe has cert-manager with these values, and a component after it with manifests.
func certificateRecipe(t *testing.T, values, manifests string) *recipe.Store {
	t.Helper()
	files := fstest.MapFS{}
	for name, text := range map[string]string{
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
	} {
		files[name] = &fstest.MapFile{Data: []byte(text)}
	}
	store, err := recipe.Open(files, "recipes")
	if err != nil {
		t.Fatalf("open the recipes: %v", err)
	}
	return store
}

// certificateCharts are cert-manager's simulated chart, with one edit of one of its files.
func certificateCharts(t *testing.T, file, old, new string) catalog.Source {
	t.Helper()
	files := fstest.MapFS{}
	charts, err := fs.Sub(kwok.Files, "charts")
	if err != nil {
		t.Fatal(err)
	}
	edits := 0
	err = fs.WalkDir(charts, "cert-manager", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := fs.ReadFile(charts, name)
		if file != "" && strings.HasSuffix(name, file) {
			edits += bytes.Count(text, []byte(old))
			text = bytes.ReplaceAll(text, []byte(old), []byte(new))
		}
		files[name] = &fstest.MapFile{Data: text}
		return err
	})
	if err != nil || file != "" && edits == 0 {
		t.Fatalf("edit the chart: %v, %d times %q in %s", err, edits, old, file)
	}
	return catalog.FromFS(files, "edited")
}

// TestNightlyCertManager: cert-manager's four programs run for real: certificates are issued, and
// what only they see is red in their own words.
func TestNightlyCertManager(t *testing.T) {
	t.Parallel()
	withoutNames := strings.Replace(certificates, "dnsNames: [server.certs.svc], ", "", 1)
	for _, c := range []struct {
		name, values, manifests, file, old, new string
		lane                                    []string
		reason                                  reason.Reason // "": it passes
		cause, screen                           string
		within                                  time.Duration // of a red one, in all
	}{
		{name: "passes", manifests: certificates, lane: []string{bundle.Helm, bundle.ArgoCDOCI, bundle.FluxOCI}},
		{name: "F113 a Certificate that the webhook refuses", manifests: withoutNames, reason: reason.DeployFailed, cause: `admission webhook "webhook.cert-manager.io" denied the request`, screen: "at least one of"},
		{
			name: "F114 objects for a webhook that starts", values: ", startupapicheck: {enabled: false}", manifests: certificates,
			reason: reason.DeployFailed, cause: `failed calling webhook "webhook.cert-manager.io"`, screen: "cert-manager/cert-manager-webhook",
		},
		{
			name: "F116 an operator that crashes on its own configuration", manifests: certificates, file: "controller.yaml", old: "            - --v=2\n", new: "            - --v=2\n            - --kube-api-burst=0\n",
			reason: reason.SchedulingFailed, cause: "ends again and again", screen: "kubernetesAPIBurst", within: 90 * time.Second,
		},
	} {
		for _, lane := range append(slices.Clone(c.lane), []string{bundle.Helm}[:max(0, 1-len(c.lane))]...) {
			t.Run(strings.ReplaceAll(c.name, " ", "-")+"/"+lane, func(t *testing.T) {
				t.Parallel()
				r := certificateRunner(t, c.values, c.manifests)
				r.Charts = certificateCharts(t, c.file, c.old, c.new)
				res := operatorCell(t, r, lane)
				screen := strings.Join(append([]string{res.Cause}, res.Details...), "\n")
				t.Logf("%s %s after %s\n%s\nnotes: %s", res.Status, res.Reason, res.Duration, screen, strings.Join(res.Notes, "\n"))
				if c.reason == "" {
					if res.Status != result.Passed {
						t.Errorf("got %s: %s", res.Status, screen)
					}
					if all := strings.Join(res.StandIns, "\n"); strings.Contains(all, "Certificate ") || strings.Contains(all, "cert-manager-webhook") {
						t.Errorf("stand-ins did the operator's work:\n%s", all)
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
	r := stackRunner(t)
	p := embeddedOf(r)
	stacks, err := programs.Stacks(p.Paths)
	if err != nil {
		t.Fatal(err)
	}
	p.Real = &programs.Set{Mode: programs.Real, Stacks: stacks, Progress: testProgress{t}}
	r.Store = certificateRecipe(t, values, manifests)
	r.Charts = certificateCharts(t, "", "", "")
	return r
}

func operatorCell(t *testing.T, r *Runner, lane string) result.Result {
	t.Helper()
	infratest.Slots(t, 1)
	results, err := r.RunAll(t.Context(), plansOf(t, r, "certified", deployers(t, lane)...), 1)
	if err != nil || len(results) != 1 {
		t.Fatalf("%d results, %v", len(results), err)
	}
	return results[0]
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
			res := operatorCell(t, r, bundle.Helm)
			left := controllers()
			stop()
			n := <-killed
			t.Logf("killed %d times: %s %s %s\n%s", n, res.Status, res.Reason, res.Cause, strings.Join(res.Details, "\n"))
			switch {
			case n == 0:
				t.Error("no process of the operator was killed: this shows nothing")
			case !c.forEver && res.Status != result.Passed:
				t.Errorf("killed once: %s, %s", res.Status, res.Cause)
			case c.forEver && (res.Reason != reason.SchedulingFailed || !strings.Contains(res.Cause, "ends again and again")):
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
