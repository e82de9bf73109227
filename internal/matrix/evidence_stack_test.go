package matrix

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/infra"
	"github.com/nvidia/aicr-action/internal/result/reason"
	"github.com/nvidia/aicr-action/internal/testkit"
	"github.com/nvidia/aicr-action/internal/testkit/infratest"
)

// seedPassword is the value of a Secret that a chart makes of a recipe's value.
const seedPassword = "grafana-password-of-the-evidence-test"

// brokenRecipe is the tiny recipe with a selector that matches no node, and a Secret with a
// password.
func brokenRecipe() *tinyRecipe {
	r := newTinyRecipe()
	b := r.part("b")
	b.values = "password: " + seedPassword + "\nnodeSelector:\n  disktype: ssd"
	b.add("secret.yaml", "apiVersion: v1\nkind: Secret\nmetadata: {name: login}\ndata: {password: {{ .Values.password | b64enc }}}\n")
	return r
}

// evidenceCell runs the tiny recipe to its end; hook is called when a step begins.
func evidenceCell(t *testing.T, r *Runner, d bundle.Deployer, hook func(*cellRun, string)) (*cellRun, error) {
	t.Helper()
	infratest.Slots(t, 1)
	plans := plansOf(t, r, "tiny", d)
	var log bytes.Buffer
	r.Log = &log
	var c *cellRun
	if hook != nil {
		r.Progress = hookProgress{testProgress{t}, func(what string) { hook(c, what) }}
	}
	c = r.newCell(plans[0], NewLane(d))
	c.turn.come(time.Now())
	err := c.run(t.Context())
	took := regexp.MustCompile(`"Collecting debug artifacts".* took=(\S+)`).FindStringSubmatch(log.String())
	if took == nil {
		t.Fatalf("no evidence was collected; the cell ended with %v", err)
	}
	t.Logf("evidence of %s took %s", plans[0].Cell, took[1])
	return c, err
}

type hookProgress struct {
	testProgress
	hook func(string)
}

func (p hookProgress) Begin(what string) infra.Task {
	p.hook(what)
	return p.testProgress.Begin(what)
}

// TestEvidence: a failed cell leaves what upstream leaves of one, by upstream's names and as
// kubectl prints it. argocd-helm-oci and argocd-appset leave the same sorts of files as argocd-oci;
// TestNightlyEvidence has the lanes of Helm.
func TestEvidence(t *testing.T) {
	t.Parallel()
	for _, d := range deployers(t, families[1:]...) {
		t.Run(d.Name(), func(t *testing.T) {
			t.Parallel()
			evidenceOf(t, d)
		})
	}
}

func evidenceOf(t *testing.T, d bundle.Deployer) {
	t.Helper()
	r := stackRunner(t)
	brokenRecipe().use(t, r)
	c, err := evidenceCell(t, r, d, nil)
	if reason.Of(err) != reason.SchedulingFailed {
		t.Fatalf("the cell ended with %s, %v; want %s", reason.Of(err), err, reason.SchedulingFailed)
	}
	wantEvidence(t, c)
	wantNoSecrets(t, c)
}

// wantEvidence checks every file of upstream's table.
func wantEvidence(t *testing.T, c *cellRun) {
	t.Helper()
	dir := c.result.Artifacts
	if want := "kwok-debug-tiny-" + c.plan.Cell.Deployer + "-" + c.RunID; filepath.Base(dir) != want {
		t.Errorf("directory: got %s, want %s", filepath.Base(dir), want)
	}
	cluster := c.env.Cluster.Name()
	files := map[string]string{ // what a line of the file must look like
		"resources.txt": `(?m)^b +deployment\.apps/b +0/1 +1 +0 +\d+s$`,
		"nodes.txt":     `(?m)^NAME +STATUS +ROLES +AGE +VERSION +INTERNAL-IP +EXTERNAL-IP +OS-IMAGE +KERNEL-VERSION +CONTAINER-RUNTIME$`,
		"events.txt":    `(?m)^b +\S+ +Warning +FailedScheduling +pod/b-\S+ +0/6 nodes are available`,
		"pods.txt":      `(?m)^b +b-\S+ +0/1 +Pending +0 +\d+s +<none> +<none> +<none> +<none>$`,
		"registry.log":  `GET /v2/`,
	}
	switch c.plan.Cell.Deployer {
	case bundle.ArgoCDOCI:
		files["argo-apps.yaml"] = `(?m)^- apiVersion: argoproj.io/v1alpha1$`
		files["argo-reposerver.log"] = `"level":"info"`
		files["argo-appcontroller.log"] = `"application":"?(argocd/)?b"|application=(argocd/)?b\b`
	case bundle.FluxOCI:
		files["flux-resources.yaml"] = `(?m)^- apiVersion: helm.toolkit.fluxcd.io/v2$`
		files["flux-source-controller.log"] = `aicr-bundle`
		files["flux-kustomize-controller.log"] = `aicr-tiny`
		files["flux-helm-controller.log"] = `"name":"b"`
	}
	summary := testkit.ReadFile(t, dir, "summary.md")
	for name, line := range files {
		content := testkit.ReadFile(t, dir, cluster+"-"+name)
		if !regexp.MustCompile(line).MatchString(content) {
			t.Errorf("%s: nothing matches %s in:\n%s", name, line, firstLines(content, 30))
		}
		if strings.Contains(content, "could not be read") {
			t.Errorf("%s: %s", name, content)
		}
		testkit.WantText(t, "summary.md", summary, cluster+"-"+name)
	}
	found, err := filepath.Glob(filepath.Join(dir, cluster+"-*"))
	if err != nil || len(found) != len(files)+1 { // and the snapshot for matrix replay
		t.Errorf("files of the cluster: got %q, %v; want %d", found, err, len(files)+1)
	}
	if strings.Contains(summary, "**not complete.**") {
		t.Errorf("summary.md misses a file:\n%s", summary)
	}
	t.Logf("summary.md:\n%s", summary)
	testkit.WantText(t, "summary.md", summary, "# ✗ tiny/"+c.plan.Cell.Deployer+": SCHEDULING_FAILED", "Deployment b/b", "1. `"+cluster+"-pods.txt`",
		"Refused by the scheduler (1)", "4 accelerated", "2 system", "nodeSelector disktype=ssd (no such label)", "again tiny/")
	var rec cellRecord
	if err := json.Unmarshal([]byte(testkit.ReadFile(t, dir, "cell.json")), &rec); err != nil {
		t.Fatalf("cell.json: %v", err)
	}
	if rec.Reason != reason.SchedulingFailed || rec.Expectation == nil || len(rec.Expectation.Workloads) == 0 || rec.Observed == nil ||
		len(rec.Observed.Workloads) != len(rec.Expectation.Workloads) || len(rec.Observed.Items) == 0 || len(rec.Observed.Nodes) != 2 || rec.Duration <= 0 {
		t.Errorf("cell.json lacks something: reason %s, expectation %v, observed %v", rec.Reason, rec.Expectation != nil, rec.Observed != nil)
	}
	testkit.ReadFile(t, dir, "logs/harness.log")
	testkit.ReadFile(t, dir, "logs/kube-scheduler.log")
	testkit.ReadFile(t, dir, "bundle/README.md")
}

// wantNoSecrets: no value of a Secret that the recipe's charts, Helm or the harness make is in a
// file, in any form. The bundle and the deployer's own objects have the recipe's values, from which
// a chart makes one; Argo CD's controller logs Applications with the values in them.
func wantNoSecrets(t *testing.T, c *cellRun) {
	t.Helper()
	values := map[string]bool{
		"not-a-secret-in-a-throwaway-cluster": true, // Argo CD's server.secretkey (package infra)
		"H4sI":                                true, // how Helm's records of releases begin: gzip in base64
		"SDRzS":                               true, // the same, as the API server has it: in base64 once more
		seedPassword:                          true,
	}
	for _, o := range c.env.Bundle.Expectation.Objects {
		if o.Object.GetKind() != "Secret" {
			continue
		}
		data, _, _ := unstructured.NestedStringMap(o.Object.Object, "data")
		for _, v := range data {
			if plain, err := base64.StdEncoding.DecodeString(v); err == nil && len(plain) > 8 {
				values[v], values[string(plain)] = true, true
			}
		}
	}
	if !values[base64.StdEncoding.EncodeToString([]byte(seedPassword))] {
		t.Fatal("the bundle has no Secret with the password that was set: fix this test")
	}
	cluster := c.env.Cluster.Name()
	own := []string{cluster + "-argo-apps.yaml", cluster + "-flux-resources.yaml", cluster + "-argo-appcontroller.log", infra.ArgoCDController + ".log"}
	err := filepath.WalkDir(c.result.Artifacts, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			if d.Name() == "bundle" {
				return fs.SkipDir
			}
			return nil
		}
		raw, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		for v := range values {
			if v == seedPassword && slices.Contains(own, d.Name()) {
				continue
			}
			if i := bytes.Index(raw, []byte(v)); i >= 0 {
				t.Errorf("%s has a Secret's value: …%s…", d.Name(), raw[max(0, i-80):min(len(raw), i+len(v)+20)])
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// The API server is killed while the cell waits: the debug artifacts exist nevertheless, and list
// the files that could not be collected.
func TestEvidenceWithoutAPIServer(t *testing.T) {
	t.Parallel()
	r := stackRunner(t)
	newTinyRecipe().use(t, r)
	c, err := evidenceCell(t, r, deployers(t, bundle.FluxOCI)[0], func(c *cellRun, what string) {
		if strings.HasSuffix(what, "Waiting for workloads") {
			if err := syscall.Kill(pidOf(c.env, "kube-apiserver"), syscall.SIGKILL); err != nil {
				t.Errorf("kill the API server: %v", err)
			}
		}
	})
	if reason.Of(err) != reason.ComponentDied {
		t.Fatalf("the cell ended with %s, %v; want %s", reason.Of(err), err, reason.ComponentDied)
	}
	dir, cluster := c.result.Artifacts, c.env.Cluster.Name()
	for _, name := range []string{"resources.txt", "nodes.txt", "events.txt", "pods.txt", "flux-resources.yaml"} {
		testkit.WantText(t, name, testkit.ReadFile(t, dir, cluster+"-"+name), "could not be read: ", "connection refused")
	}
	for _, name := range []string{"logs/kube-apiserver.log", "logs/harness.log", "bundle/README.md", "cell.json", cluster + "-flux-source-controller.log", cluster + "-registry.log"} {
		testkit.ReadFile(t, dir, name)
	}
	testkit.WantText(t, "summary.md", testkit.ReadFile(t, dir, "summary.md"), "COMPONENT_DIED", "kube-apiserver ended unexpectedly (signal: killed)", "1. `logs/kube-apiserver.log`",
		"Debug files that could not be collected:", cluster+"-pods.txt: list pods: ")
}

func firstLines(s string, n int) string {
	lines := strings.Split(s, "\n")
	return strings.Join(lines[:min(n, len(lines))], "\n")
}
