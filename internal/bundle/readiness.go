package bundle

// readiness.go adds to a bundle what waits until a component does its work: a chart with a Job that
// runs the component's readiness.yaml, a test of Chainsaw's, in the program of AICR that is made for it.
// It must not know which charts or objects the deployers make of a component.

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/nvidia/aicr-action/internal/recipe"
	"github.com/nvidia/aicr-action/internal/recipe/document"
)

// ReadinessSuffix is the end of the name of a release that waits for a component.
const ReadinessSuffix = "-readiness"

// ReadinessImage is the program that runs the tests, as AICR's CLI names it if it is no release.
const ReadinessImage = "ghcr.io/nvidia/aicr-gate:dev"

// patience is how long the Job tries, and helmPatience how long Helm waits for it: longer, so that the Job
// has the last word.
const (
	patience     = "1h30m0s"
	helmPatience = "1h35m0s"
)

// CanWait says why a deployer cannot wait for a Job before it goes on; nil if it can.
func CanWait(deployer string) error {
	if deployer == Helm || ByArgoCD(deployer) && deployer != ArgoCDAppSet {
		return nil
	}
	return fmt.Errorf("--readiness-hooks is not for %s, which would not wait for the Jobs; use helm, or one of argocd-oci, argocd-helm-oci and argocd-git", deployer)
}

// ReadinessGates puts behind each component that has a components/NAME/readiness.yaml another one that waits for it, and lets
// what depends on it depend on that. It also returns the names of those. Display says how messages call a file.
func ReadinessGates(files fs.FS, display func(string) string, components []recipe.Component, deployer, image string) (out []recipe.Component, gates []string, err error) {
	gated := map[string]string{}
	for _, c := range components {
		for _, d := range slices.Clone(c.DependencyRefs) {
			if gate := gated[d]; gate != "" {
				c.DependencyRefs = append(slices.Clone(c.DependencyRefs), gate)
			}
		}
		out = append(out, c)
		if c.Disabled() {
			continue
		}
		file := "components/" + c.Name + "/readiness.yaml"
		test, err := fs.ReadFile(files, file)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err == nil {
			err = check(test)
		}
		if err != nil {
			return nil, nil, &document.FileError{File: display(file), Err: fmt.Errorf("readiness of component %s: %w", c.Name, err)}
		}
		gate := gateOf(&c, display(file), test, deployer, image)
		if slices.ContainsFunc(components, func(other recipe.Component) bool { return other.Name == gate.Name }) {
			return nil, nil, &document.FileError{File: display(file), Err: fmt.Errorf("readiness of component %s: its release would have the name of component %s", c.Name, gate.Name)}
		}
		gated[c.Name] = gate.Name
		out = append(out, gate)
		gates = append(gates, gate.Name)
	}
	return out, gates, nil
}

// check refuses a text that the gate would not run.
func check(test []byte) error {
	var head struct{ APIVersion, Kind string }
	if err := yaml.Unmarshal(test, &head); err != nil {
		return err
	}
	if group, _, _ := strings.Cut(head.APIVersion, "/"); group != "chainsaw.kyverno.io" || head.Kind != "Test" {
		return fmt.Errorf("it is a %s of %s; write a Test of chainsaw.kyverno.io", head.Kind, head.APIVersion)
	}
	return nil
}

func gateOf(c *recipe.Component, file string, test []byte, deployer, image string) recipe.Component {
	namespace := c.Namespace
	if namespace == "" {
		namespace = "default"
	}
	gate := recipe.Component{Declared: c.Declared, Registered: c.Registered, DisplayName: "Readiness of " + c.Name}
	gate.Name, gate.Type, gate.Namespace, gate.DependencyRefs = c.Name+ReadinessSuffix, recipe.TypeHelm, namespace, []string{c.Name}
	gate.Manifests = []recipe.Manifest{{Path: "readiness.yaml", File: file, Line: 1, Content: manifest(c.Name, namespace, test, deployer, image)}}
	return gate
}

// manifest has the Job, its test, and what it may read. The names of what belongs to no namespace have that of the
// release, so that two of them in one cluster have their own.
func manifest(component, namespace string, test []byte, deployer, image string) []byte {
	name, config := component+"-readiness-gate", component+"-readiness-bundle"
	wide := name + "-" + namespace
	object := func(api, kind, name, namespace string, rest map[string]any) map[string]any {
		meta := map[string]any{"name": name}
		if namespace != "" {
			meta["namespace"] = namespace
		}
		o := map[string]any{"apiVersion": api, "kind": kind, "metadata": meta}
		for key, v := range rest {
			o[key] = v
		}
		return o
	}
	var rules []any
	for _, r := range []struct {
		group     string
		resources []any
	}{
		{"", []any{"pods", "nodes", "namespaces", "services", "configmaps", "events"}},
		{"apps", []any{"deployments", "daemonsets", "statefulsets", "replicasets"}},
		{"batch", []any{"jobs", "cronjobs"}},
		{"apiextensions.k8s.io", []any{"customresourcedefinitions"}},
		{"nvidia.com", []any{"*"}},
		{"mellanox.com", []any{"nicclusterpolicies"}},
		{"operators.coreos.com", []any{"clusterserviceversions"}},
	} {
		rules = append(rules, map[string]any{"apiGroups": []any{r.group}, "resources": r.resources, "verbs": []any{"get", "list", "watch"}})
	}
	job := object("batch/v1", "Job", name, namespace, map[string]any{"spec": map[string]any{
		"backoffLimit": 6,
		"template": map[string]any{"spec": map[string]any{
			"restartPolicy":      "Never",
			"serviceAccountName": name,
			"containers": []any{map[string]any{
				"name": "gate", "image": image, "imagePullPolicy": "IfNotPresent",
				"args":         []any{"--bundle-dir=/bundle", "--namespace=" + namespace, "--timeout=2m0s", "--poll-interval=10s", "--stability-window=30s", "--max-wait=" + patience},
				"volumeMounts": []any{map[string]any{"name": "bundle", "mountPath": "/bundle", "readOnly": true}},
			}},
			"volumes": []any{map[string]any{"name": "bundle", "configMap": map[string]any{"name": config}}},
		}},
	}})
	if ByArgoCD(deployer) { // which cannot change a Job, and so replaces it
		job["metadata"].(map[string]any)["annotations"] = map[string]any{"argocd.argoproj.io/sync-options": "Replace=true,Force=true"}
	}
	var docs []string
	for _, o := range []map[string]any{
		object("v1", "ServiceAccount", name, namespace, nil),
		object("rbac.authorization.k8s.io/v1", "ClusterRole", wide, "", map[string]any{"rules": rules}),
		object("rbac.authorization.k8s.io/v1", "ClusterRoleBinding", wide, "", map[string]any{
			"roleRef":  map[string]any{"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": wide},
			"subjects": []any{map[string]any{"kind": "ServiceAccount", "name": name, "namespace": namespace}},
		}),
		object("v1", "ConfigMap", config, namespace, map[string]any{"data": map[string]any{component + ".yaml": string(test)}}),
		job,
	} {
		text, _ := yaml.Marshal(o) // maps of texts are always YAML
		docs = append(docs, string(text))
	}
	// The chart's files are templates, and a test may have braces.
	return []byte(strings.ReplaceAll(strings.Join(docs, "---\n"), "{{", `{{ "{{" }}`))
}

// WaitUntilReady lets what installs a bundle with Helm wait until the Jobs are done, which Helm does not by itself.
func WaitUntilReady(b *Bundle, gates []string) error {
	if b.Deployer != Helm || len(gates) == 0 {
		return nil
	}
	b.Files = slices.Clone(b.Files)
	for i := range b.Files {
		f := &b.Files[i]
		lines := strings.Split(string(f.Content), "\n")
		for j, line := range lines {
			for _, gate := range gates {
				if f.Path == "deploy.sh" && strings.HasPrefix(line, "release "+gate+" ") || f.Path == gate+"/README.md" && strings.HasPrefix(line, "    helm upgrade --install "+gate+" ") {
					lines[j] += " --wait --wait-for-jobs --timeout " + helmPatience
				}
			}
		}
		f.Content = []byte(strings.Join(lines, "\n"))
	}
	return b.Sum()
}
