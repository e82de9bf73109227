package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"

	"helm.sh/helm/v3/pkg/chart"

	"github.com/nvidia/aicr-action/internal/command/cli"
)

// The commands in the order in which a person uses them, with an HTTP repository and an OCI
// registry.
func TestChartCommands(t *testing.T) {
	u := newUpstream(t, "127.0.0.1")
	cache := t.TempDir()
	call := func(args ...string) invocationResult {
		t.Helper()
		return invokeIn(t.Context(), t, cache, nil, append(args, "--recipes-dir", u.recipes)...)
	}
	out := func() string { return filepath.Join(t.TempDir(), "bundle") }

	// Without a lock file nothing is downloaded.
	for _, args := range [][]string{
		{"run", "eks-training", "--charts", "upstream"}, {"run", "eks-training", "--charts", "direct"}, {"bundle", "eks", "-o", out(), "--charts", "upstream"},
		{"charts", "verify"}, {"charts", "pull"}, {"charts", "mirror", out()},
	} {
		call(args...).want(t, 2, "there is no lock file "+u.lock(), "matrix charts lock")
	}
	if n := u.asks(".tgz"); n > 0 {
		t.Errorf("%d charts were downloaded", n)
	}

	r := call("charts", "lock")
	r.want(t, 0)
	wantText(t, "stdout", r.stdout, "COMPONENT", "cert-manager", "kai-scheduler", "oci://"+u.oci.Listener.Addr().String()+"/nvidia/kai-scheduler", u.http.URL+"/charts", "sha256:", "locked")
	lock, err := os.ReadFile(u.lock())
	if err != nil {
		t.Fatal(err)
	}
	wantText(t, "lock", string(lock), "component: nvsentinel", "component: prometheus-adapter", "hosts: ['"+u.http.Listener.Addr().String())
	call("charts", "lock", "eks-training").want(t, 0)
	if again, err := os.ReadFile(u.lock()); err != nil || !bytes.Equal(lock, again) {
		t.Errorf("locking one recipe again changed the file: %v\n%s", err, again)
	}
	call("charts", "verify", "--upstream").want(t, 0)

	// A lock that does not fit names both places and the command, before anything is downloaded.
	overlay := filepath.Join(u.recipes, "overlays", "base.yaml")
	edit(t, overlay, "version: v1.17.2", "version: v1.17.3")
	for _, args := range [][]string{{"charts", "verify"}, {"run", "eks-training", "--charts", "upstream"}, {"run", "eks-training", "--charts", "direct"}, {"charts", "pull", "eks-training"}} {
		call(args...).want(t, 2, u.lock()+":", "overlays/base.yaml:", "cert-manager v1.17.2", "names cert-manager v1.17.3", "matrix charts lock")
	}
	call("charts", "lock").want(t, 23, "has no version v1.17.3 of chart cert-manager; it has v1.17.2")
	edit(t, overlay, "version: v1.17.3", "version: v1.17.2")

	// A chart whose bytes changed under the same version is refused: when it is locked again,
	// verified, or downloaded to another cache.
	all := simulatedCharts(t)
	changed := all[slices.IndexFunc(all, func(ch *chart.Chart) bool { return ch.Name() == "cert-manager" })]
	changed.Raw[0].Data = append(changed.Raw[0].Data, "\n# another chart\n"...)
	u.put(t, changed)
	digests := regexp.MustCompile(`sha256:[0-9a-f]{64}`)
	for _, args := range [][]string{{"charts", "verify", "--upstream"}, {"charts", "lock"}} {
		r := call(args...)
		r.want(t, 57, changed.Name(), "changed under the same version")
		if found := digests.FindAllString(r.stderr, -1); len(found) < 2 || found[0] == found[1] {
			t.Errorf("the digests are %q, want both", found)
		}
	}
	for _, args := range [][]string{{"charts", "pull"}, {"run", "eks-training", "--charts", "upstream"}} {
		invokeIn(t.Context(), t, t.TempDir(), nil, append(args, "--recipes-dir", u.recipes)...).want(t, 57, changed.Name(), "changed under the same version")
	}

	// What is in the cache needs no network any more.
	u.close()
	call("charts", "verify").want(t, 0)
	call("charts", "pull").want(t, 0)
	call("charts", "pull", "eks").want(t, 0)
	dir := out()
	call("bundle", "eks-training", "-o", dir, "--charts", "upstream").want(t, 0)
	mirror := filepath.Join(t.TempDir(), "mirror")
	r = call("charts", "mirror", mirror)
	r.want(t, 0)
	wantText(t, "stdout", r.stdout, filepath.Join(mirror, "cert-manager-v1.17.2.tgz"))
	fromMirror := out()
	call("bundle", "eks-training", "-o", fromMirror, "--charts", mirror).want(t, 0)
	sameFile(t, filepath.Join(dir, "checksums.txt"), filepath.Join(fromMirror, "checksums.txt"))
	r = invokeIn(t.Context(), t, t.TempDir(), nil, "run", "eks-training", "--charts", "upstream", "--recipes-dir", u.recipes)
	r.want(t, 23, "download chart", "connection refused")
}

// A signal ends downloads with its own code.
func TestInterruptedDownload(t *testing.T) {
	u := newUpstream(t, "127.0.0.1")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(&cli.Interrupt{Signal: syscall.SIGINT})
	r := invokeIn(ctx, t, t.TempDir(), nil, "charts", "lock", "--recipes-dir", u.recipes)
	r.want(t, 130)
	if _, err := os.Stat(u.lock()); err == nil {
		t.Error("a lock file was written")
	}
}

func sameFile(t *testing.T, a, b string) {
	t.Helper()
	one, err := os.ReadFile(a)
	if err != nil {
		t.Fatal(err)
	}
	two, err := os.ReadFile(b)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(one, two) {
		t.Errorf("%s and %s differ", a, b)
	}
}

func TestChartSources_Invalid(t *testing.T) {
	for name, c := range map[string]struct {
		args []string
		want []string
	}{
		"direct in a list":       {[]string{"run", "eks", "--charts", "direct", "--charts", "simulated"}, []string{"--charts direct cannot be one of a list"}},
		"twice":                  {[]string{"run", "eks", "--charts", "simulated", "--charts", "simulated"}, []string{"--charts simulated is given twice"}},
		"an input of two lines":  {[]string{"run", "eks", "--charts", "simulated\nsimulated\n"}, []string{"--charts simulated is given twice"}},
		"recipes in the binary":  {[]string{"run", "eks", "--charts", "upstream", "--recipes-dir", "embedded"}, []string{"--charts upstream", "the recipes in this binary/charts.lock"}},
		"a lock for the binary":  {[]string{"charts", "lock", "--recipes-dir", "embedded"}, []string{"cannot be locked", "--recipes-dir DIR"}},
		"no verb":                {[]string{"charts"}, []string{"lock", "verify", "pull", "mirror"}},
		"a mirror without a DIR": {[]string{"charts", "mirror"}, []string{"1 arg"}},
		"an unknown recipe":      {[]string{"charts", "lock", "nonsense", "--recipes-dir", recipesCopy(t)}, []string{`"nonsense"`}},
	} {
		t.Run(name, func(t *testing.T) { invoke(t, nil, c.args...).want(t, 2, c.want...) })
	}
}

// A list of sources: the first that has a chart counts, and what is in none of them is an error.
func TestChartSources_List(t *testing.T) {
	dir := t.TempDir()
	for _, ch := range simulatedCharts(t) {
		if ch.Name() == "cert-manager" {
			if err := os.CopyFS(filepath.Join(dir, ch.Name()), os.DirFS("../../kwok/charts/cert-manager")); err != nil {
				t.Fatal(err)
			}
		}
	}
	out := filepath.Join(t.TempDir(), "bundle")
	invoke(t, nil, "bundle", "eks", "-o", out, "--charts", dir).want(t, 52, "is not in chart source dir:"+dir)
	invoke(t, nil, "bundle", "eks", "-o", out, "--charts", dir, "--charts", "simulated").want(t, 0)
	// An archive that cannot be read may be the chart that the next source would have to stand in
	// for.
	if err := os.WriteFile(filepath.Join(dir, "gpu-operator-v25.10.1.tgz"), []byte("half"), 0o644); err != nil {
		t.Fatal(err)
	}
	r := invoke(t, nil, "bundle", "eks", "-o", out, "--force", "--charts", dir, "--charts", "simulated")
	r.want(t, 52, "gpu-operator-v25.10.1.tgz is not a readable chart")
	if strings.Contains(r.stderr, "simulated") {
		t.Errorf("it names a source that was not asked:\n%s", r.stderr)
	}
}
