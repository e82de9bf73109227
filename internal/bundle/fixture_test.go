package bundle

import (
	"context"
	"os"
	"strings"
	"testing"

	"github.com/nvidia/aicr-action/internal/charts/catalog"
	"github.com/nvidia/aicr-action/internal/recipe"
	"github.com/nvidia/aicr-action/internal/recipe/document"
)

// fixture is a recipe with one component of each sort: a chart from a Helm repository, one from an
// OCI registry, manifests only, and a chart with manifests. Its values have a null, text that looks
// like a template, and numbers.
func fixture() Input {
	components := []recipe.Component{
		{
			ComponentRef: recipe.ComponentRef{Name: "web", Namespace: "web-system", Chart: "web", Type: "Helm", Source: "https://charts.example.com/stable", Version: "v1.4.0", ValuesFile: "components/web/values.yaml"},
			DisplayName:  "Web",
			NodeScheduling: recipe.NodeScheduling{System: recipe.SchedulingPaths{
				NodeSelectorPaths: []string{"nodeSelector", "webhook.nodeSelector"},
				TolerationPaths:   []string{"tolerations", "webhook.tolerations"},
			}},
			Values: map[string]any{
				"replicas": 3,
				"text":     "kept as {{ .Release.Name }}, and\nover two lines\n",
				"removed":  nil,
				"big":      12345678,
				"ratio":    0.5,
				"webhook":  map[string]any{"nodeSelector": map[string]any{NodeTypeLabel: "accelerated", "zone": "a"}},
			},
			Origins:  map[string]recipe.Origin{"webhook.nodeSelector." + NodeTypeLabel: {File: "recipes/components/web/values.yaml", Line: 7}},
			Declared: recipe.Origin{File: "recipes/overlays/base.yaml", Line: 12},
		},
		{
			ComponentRef: recipe.ComponentRef{Name: "monitor", Namespace: "monitoring", Chart: "charts/monitor", Source: "oci://registry.example.com/charts", Version: "82.8.0", DependencyRefs: []string{"web"}},
			NodeScheduling: recipe.NodeScheduling{System: recipe.SchedulingPaths{
				NodeSelectorPaths: []string{"prometheus.spec.nodeSelector"},
				TolerationPaths:   []string{"prometheus.spec.tolerations", "exporter.tolerations"},
			}},
			Values:   map[string]any{"exporter": map[string]any{"tolerations": []any{map[string]any{"key": "kwok.x-k8s.io/node", "value": "fake", "effect": "NoSchedule"}}}},
			Declared: recipe.Origin{File: "recipes/overlays/base.yaml", Line: 20},
		},
		{
			ComponentRef: recipe.ComponentRef{Name: "gpu", Namespace: "gpu", Chart: "gpu", Source: "https://charts.example.com/nvidia", Version: "v25.10.1", DependencyRefs: []string{"monitor", "web"}},
			NodeScheduling: recipe.NodeScheduling{
				System:      recipe.SchedulingPaths{NodeSelectorPaths: []string{"operator.nodeSelector", "unused.nodeSelector"}, TolerationPaths: []string{"operator.tolerations"}},
				Accelerated: recipe.SchedulingPaths{NodeSelectorPaths: []string{"daemonsets.nodeSelector"}, TolerationPaths: []string{"daemonsets.tolerations"}, TaintStrPaths: []string{"operator.taint"}},
			},
			Values: map[string]any{"driver": map[string]any{"version": "570.86.16"}},
			Manifests: []recipe.Manifest{{Path: "components/gpu/manifests/quota.yaml", Content: []byte(`apiVersion: v1
kind: ConfigMap
metadata:
  name: {{ .Release.Name }}
data:
  driver: {{ index .Values "gpu" "driver" "version" | quote }}
`)}},
			Declared: recipe.Origin{File: "recipes/overlays/base.yaml", Line: 30},
		},
		{
			ComponentRef: recipe.ComponentRef{Name: "tuning", Namespace: "tuning", DependencyRefs: []string{"gpu"}},
			NodeScheduling: recipe.NodeScheduling{Accelerated: recipe.SchedulingPaths{
				NodeSelectorPaths: []string{"acceleratedNodeSelector"}, TolerationPaths: []string{"acceleratedTolerations"},
			}},
			Values: map[string]any{"profile": "{{ not a template }}", "empty": nil},
			Manifests: []recipe.Manifest{{Path: "components/tuning/manifests/application.yaml", Content: []byte(`{{- $v := index .Values "tuning" }}
apiVersion: apps/v1
kind: DaemonSet
metadata:
  name: tuning
  annotations:
    profile: {{ $v.profile | quote }}
spec:
  selector: {matchLabels: {app: tuning}}
  template:
    metadata: {labels: {app: tuning}}
    spec:
      containers: [{name: tune, image: "example.com/tune:1"}]
      nodeSelector: {{ toYaml $v.acceleratedNodeSelector | nindent 8 }}
      tolerations: {{ toYaml $v.acceleratedTolerations | nindent 8 }}
`)}},
			Declared: recipe.Origin{File: "recipes/overlays/base.yaml", Line: 44},
		},
	}
	result := &recipe.Result{
		APIVersion: document.APIVersion, Kind: "RecipeResult",
		Metadata:        recipe.Metadata{Name: "demo", AppliedOverlays: []string{"base", "demo"}},
		Criteria:        recipe.Criteria{Service: "eks", Accelerator: recipe.Any, Intent: "training", OS: recipe.Any, Platform: recipe.Any},
		DeploymentOrder: []string{"web", "monitor", "gpu", "tuning"},
	}
	for _, c := range components {
		result.ComponentRefs = append(result.ComponentRefs, c.ComponentRef)
	}
	return Input{
		Recipe: result, Components: components, Scheduling: KwokScheduling(),
		Charts:      catalog.FromFS(os.DirFS("testdata/charts"), "dir:testdata/charts"),
		RepoURL:     "oci://registry.example.com/aicr/demo",
		KubeVersion: "v1.36.1",
	}
}

// placed gives the input an address that the deployer takes: that of a Git repository, or of a
// registry.
func placed(d Deployer, in Input) Input {
	if rest, ok := strings.CutPrefix(in.RepoURL, ociScheme); ok && ByGit(d.Name()) {
		in.RepoURL = "https://" + rest + ".git"
	}
	return in
}

func mustBundle(t *testing.T, d Deployer, in Input) *Bundle {
	t.Helper()
	b, err := d.Bundle(context.Background(), placed(d, in))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func content(t *testing.T, b *Bundle, path string) string {
	t.Helper()
	for _, f := range b.Files {
		if f.Path == path {
			return string(f.Content)
		}
	}
	t.Fatalf("the %s bundle has no file %s", b.Deployer, path)
	return ""
}
