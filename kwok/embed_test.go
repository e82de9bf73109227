package kwok

import (
	"bytes"
	"embed"
	"io/fs"
	"maps"
	"os"
	"path"
	"regexp"
	"strings"
	"testing"
)

func TestEmbeddedPartsList_UpToDate(t *testing.T) {
	for _, c := range []struct {
		file string
		copy []byte
	}{
		{"stack/images.lock", ImagesLock}, {"stack/go.mod", StackMod}, {"stack/go.sum", StackSum}, {"schedulers/go.mod", SchedulersMod}, {"schedulers/go.sum", SchedulersSum}, {"helmfile/go.mod", HelmfileMod}, {"helmfile/go.sum", HelmfileSum},
		{"karpenter/go.mod", KarpenterMod}, {"karpenter/go.sum", KarpenterSum},
		{"operators/prometheus-operator/go.mod", PrometheusOperatorMod}, {"operators/prometheus-operator/go.sum", PrometheusOperatorSum},
		{"operators/node-feature-discovery/go.mod", NFDMod}, {"operators/node-feature-discovery/go.sum", NFDSum},
		{"operators/cert-manager/go.mod", CertManagerMod}, {"operators/cert-manager/go.sum", CertManagerSum},
		{"kubernetes/1.34/go.mod", kubernetes(t, "kubernetes-1.34.mod")}, {"kubernetes/1.34/go.sum", kubernetes(t, "kubernetes-1.34.sum")},
		{"kubernetes/1.35/go.mod", kubernetes(t, "kubernetes-1.35.mod")}, {"kubernetes/1.35/go.sum", kubernetes(t, "kubernetes-1.35.sum")},
		{"kubernetes/1.37/go.mod", kubernetes(t, "kubernetes-1.37.mod")}, {"kubernetes/1.37/go.sum", kubernetes(t, "kubernetes-1.37.sum")},
	} {
		real, err := os.ReadFile(c.file)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(real, c.copy) {
			t.Errorf("the embedded copy of kwok/%s is old: run `make generate` and commit the result", c.file)
		}
	}
}

// The Go files of the programs that are made of upstream's packages are the embedded ones, each of them.
func TestEmbeddedSources_UpToDate(t *testing.T) {
	read := func(files fs.FS, suffix string) map[string]string {
		all := map[string]string{}
		err := fs.WalkDir(files, ".", func(name string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || !strings.HasSuffix(name, suffix) {
				return err
			}
			content, err := fs.ReadFile(files, name)
			all[strings.TrimSuffix(name, suffix)] = string(content)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		return all
	}
	for _, c := range []struct {
		dir, embedded string
		files         embed.FS
		least         int
	}{
		{"operators/cert-manager", "embedded/cert-manager", CertManagerSources, 5},
		{"stack", "embedded/stack", StackSources, 1},
		{"karpenter", "embedded/karpenter", KarpenterSources, 1},
	} {
		embedded, err := fs.Sub(c.files, c.embedded)
		if err != nil {
			t.Fatal(err)
		}
		want, got := read(os.DirFS(c.dir), ".go"), read(embedded, ".go.txt")
		delete(want, "doc") // a package without code
		if len(want) < c.least || !maps.Equal(want, got) {
			t.Errorf("the embedded copies of the %d Go files below kwok/%s are old: run `make generate` and commit the result", len(want), c.dir)
		}
	}
}

// Every chart carries what all charts have in common, unchanged: each is complete on its own, and
// there is one place to change it.
func TestCharts_CommonHelpers(t *testing.T) {
	const source = "charts/_common/_common.tpl"
	want, err := fs.ReadFile(Files, source)
	if err != nil {
		t.Fatal(err)
	}
	charts, err := fs.Glob(Files, "charts/*/Chart.yaml")
	if err != nil || len(charts) < 17 {
		t.Fatalf("%d charts, %v; want at least 17", len(charts), err)
	}
	for _, file := range charts {
		dir := path.Dir(file)
		if dir == path.Dir(source) {
			t.Errorf("%s makes a chart of what the charts have in common; remove it", file)
			continue
		}
		have, err := fs.ReadFile(Files, dir+"/templates/_common.tpl")
		if err != nil {
			t.Errorf("%v: run `make generate` and commit the result", err)
		} else if !bytes.Equal(have, want) {
			t.Errorf("kwok/%s/templates/_common.tpl is not kwok/%s: run `make generate` and commit the result", dir, source)
		}
		err = fs.WalkDir(Files, dir, func(file string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || path.Base(file) == "_common.tpl" {
				return err
			}
			text, err := fs.ReadFile(Files, file)
			if strings.Contains(string(text), `define "simulated.`) {
				t.Errorf("kwok/%s defines a template of kwok/%s again; which of the two counts depends on the file's name", file, source)
			}
			return err
		})
		if err != nil {
			t.Error(err)
		}
	}
}

func kubernetes(t *testing.T, name string) []byte {
	t.Helper()
	raw, err := Kubernetes.ReadFile("embedded/" + name)
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

// A runtime without a number of replicas has one, by its definition: Kubeflow Trainer's webhook refuses another number, and
// runs for real (matrix run --operators).
func TestRuntimeDefaults(t *testing.T) {
	for _, plural := range []string{"clustertrainingruntimes", "trainingruntimes"} {
		text, err := Files.ReadFile("charts/kubeflow-trainer/crds/" + plural + ".trainer.kubeflow.org.yaml")
		if err != nil {
			t.Fatal(err)
		}
		if !regexp.MustCompile(` replicas:\n +type: integer\n +default: 1\n`).Match(text) {
			t.Errorf("%s: replicatedJobs[*].replicas has no default of 1", plural)
		}
	}
}
