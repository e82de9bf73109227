package argoapi

// appset.go has the objects of a bundle that an Argo CD ApplicationSet delivers: the
// ApplicationSet, the AppProject of its Applications, and the Secret of a cluster. It must not know
// recipes, charts or clusters that run.

import "strconv"

// Names in such a bundle.
const (
	AppSetName = "aicr-stack" // of the ApplicationSet, and of the AppProject that the bundle has
	// The files, in the order in which they are applied.
	ProjectFile = "project.yaml"
	ClusterFile = "local-cluster-secret.yaml"
	AppSetFile  = "applicationset.yaml"
	// WaveLabel is on every Application, with the number of its wave from 1 on: the steps of the
	// ApplicationSet's RollingSync select by it.
	WaveLabel = "aicr.nvidia.com/wave"
	// The label of clusters that get the recipe.
	ClusterLabel, ClusterValue = "environment", "gpu-enabled"

	namespace = "argocd"
)

// AppSetRelease is what the Application of a release is made from.
type AppSetRelease struct {
	Name, Namespace string
	Wave            int
	// RepoURL and Revision are those of the source; Path is for a chart in a directory or an OCI
	// artifact, Chart for one in a Helm repository.
	RepoURL, Revision, Path, Chart string
	// Values is YAML.
	Values string
}

// element is the release's element of the list generator. All elements have the same keys, since
// the template uses all of them. The values are one text, which the generator copies unchanged: a
// value with {{ in it is not executed as a template, and null stays null.
func (r AppSetRelease) element() map[string]any {
	return map[string]any{
		"component": r.Name, "namespace": r.Namespace, "wave": strconv.Itoa(r.Wave), "repoURL": r.RepoURL, "targetRevision": r.Revision,
		"path": r.Path, "chart": r.Chart, "helmValues": r.Values,
	}
}

// ApplicationSet makes the Applications of the releases, of the AppProject project, on each cluster
// with the label. The local cluster's are called as the releases; those of another cluster have its
// name in front.
//
// RollingSync syncs wave after wave: the next one when every Application of the one before is
// Synced and Healthy
// (https://argo-cd.readthedocs.io/en/stable/operator-manual/applicationset/Progressive-Syncs/).
func ApplicationSet(releases []AppSetRelease, project string) map[string]any {
	var steps, elements []any
	last := 0
	for _, r := range releases {
		elements = append(elements, r.element())
		last = max(last, r.Wave)
	}
	for w := 1; w <= last; w++ {
		steps = append(steps, map[string]any{"matchExpressions": []any{
			map[string]any{"key": WaveLabel, "operator": "In", "values": []any{strconv.Itoa(w)}},
		}})
	}
	return map[string]any{
		"apiVersion": "argoproj.io/v1alpha1",
		"kind":       "ApplicationSet",
		"metadata":   map[string]any{"name": AppSetName, "namespace": namespace},
		"spec": map[string]any{
			"goTemplate":        true,
			"goTemplateOptions": []any{"missingkey=error"},
			// The list is the first generator: what the first one makes is not read as templates,
			// what the second one says is.
			"generators": []any{map[string]any{"matrix": map[string]any{"generators": []any{
				map[string]any{"list": map[string]any{"elements": elements}},
				map[string]any{"clusters": map[string]any{"selector": map[string]any{"matchLabels": map[string]any{ClusterLabel: ClusterValue}}}},
			}}}},
			"strategy": map[string]any{"type": "RollingSync", "rollingSync": map[string]any{"steps": steps}},
			"template": map[string]any{
				"metadata": map[string]any{
					"name":       `{{ if ne .name "in-cluster" }}{{ .nameNormalized }}-{{ end }}{{ .component }}`,
					"labels":     map[string]any{WaveLabel: "{{ .wave }}"},
					"finalizers": []any{"resources-finalizer.argocd.argoproj.io"},
				},
				"spec": map[string]any{
					"project": project,
					"source": map[string]any{
						"repoURL": "{{ .repoURL }}", "targetRevision": "{{ .targetRevision }}", "path": "{{ .path }}", "chart": "{{ .chart }}",
						"helm": map[string]any{"releaseName": "{{ .component }}", "values": "{{ .helmValues }}"},
					},
					"destination": map[string]any{"server": "{{ .server }}", "namespace": "{{ .namespace }}"},
					"syncPolicy": map[string]any{
						"automated":   map[string]any{"prune": true, "selfHeal": true},
						"syncOptions": []any{"CreateNamespace=true", "ServerSideApply=true"},
					},
				},
			},
		},
	}
}

// LocalCluster registers the cluster that Argo CD runs in, with the label that the ApplicationSet
// selects. Without such a Secret the cluster generator has no labels to select by.
func LocalCluster() map[string]any {
	return map[string]any{
		"apiVersion": "v1", "kind": "Secret", "type": "Opaque",
		"metadata": map[string]any{
			"name": "in-cluster", "namespace": namespace,
			"labels": map[string]any{"argocd.argoproj.io/secret-type": "cluster", "app.kubernetes.io/part-of": "argocd", ClusterLabel: ClusterValue},
		},
		"stringData": map[string]any{"name": "in-cluster", "server": "https://kubernetes.default.svc", "config": `{"tlsClientConfig":{"insecure":false}}`},
	}
}
