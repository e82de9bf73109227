package app

import (
	"context"
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/validation"
	"sigs.k8s.io/yaml"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/util/yamlx"
)

// ClusterFile is what the cluster of a repository has that no file of the repository has (--cluster-file).
type ClusterFile struct {
	// Cluster is the Secret by which Argo CD knows the cluster: ApplicationSets see its labels and annotations.
	Cluster struct {
		Labels      map[string]string `yaml:"labels"`
		Annotations map[string]string `yaml:"annotations"`
	} `yaml:"cluster"`
	// Variables are those of Flux, by their names (postBuild.substituteFrom).
	Variables map[string]string `yaml:"variables"`
	// Secrets and ConfigMaps exist, by NAMESPACE/NAME, with these keys. Their values are made.
	Secrets    map[string][]string `yaml:"secrets"`
	ConfigMaps map[string][]string `yaml:"configMaps"`
	// Repositories are directories of the checkout with files of other Git repositories, by their addresses. An empty one
	// leaves out what is from there.
	Repositories map[string]string `yaml:"repositories"`
	// Projects are the names of AppProjects that Argo CD has.
	Projects []string `yaml:"projects"`
	// Nodes are counts of nodes by their kind, system and accelerated.
	Nodes map[string]int `yaml:"nodes"`

	collects bool // what is asked for and missing is added
}

// Missing is a cluster file of what the app needs and its repository does not have.
func (a *App) Missing(ctx context.Context, d bundle.Deployer) (*ClusterFile, error) {
	a.Cluster = collecting()
	_, err := a.Open(ctx, d)
	return a.Cluster, err
}

// collecting is a file that takes in what a repository needs and does not have, while it is laid out.
func collecting() *ClusterFile {
	return &ClusterFile{collects: true, Variables: map[string]string{}, Secrets: map[string][]string{}, ConfigMaps: map[string][]string{}, Repositories: map[string]string{}}
}

// Empty reports whether it says nothing.
func (c *ClusterFile) Empty() bool {
	return len(c.Variables)+len(c.Secrets)+len(c.ConfigMaps)+len(c.Repositories)+len(c.Projects) == 0
}

// Encode is the text of the file, for a person to fill in.
func (c *ClusterFile) Encode() ([]byte, error) {
	said := map[string]any{}
	if len(c.Variables) > 0 {
		said["variables"] = c.Variables
	}
	for key, all := range map[string]map[string][]string{"secrets": c.Secrets, "configMaps": c.ConfigMaps} {
		if len(all) > 0 {
			said[key] = all
		}
	}
	if len(c.Projects) > 0 {
		said["projects"] = c.Projects
	}
	about := "# Values of keys are made; give variables values that fit.\n"
	if len(c.Repositories) > 0 {
		said["repositories"] = c.Repositories
		about += "# What is from another repository is left out; to run it too, name the directory of this checkout that has its files.\n"
	}
	text, err := yaml.Marshal(said)
	if err != nil {
		return nil, fmt.Errorf("write what the cluster has: %w", err)
	}
	return append([]byte("# What the cluster has that no file of the repository has: matrix run --app PATH --cluster-file THIS\n"+about), text...), nil
}

// uses adds the variables of a text that have no value and no default.
func (c *ClusterFile) uses(text string, vars map[string]string) {
	for _, m := range bareVariable.FindAllStringSubmatch(text, -1) {
		if _, set := vars[m[1]]; !set && c.collects {
			c.Variables[m[1]] = madeValue
			vars[m[1]] = madeValue
		}
	}
}

// bareVariable is a variable of Flux without a default.
var bareVariable = regexp.MustCompile(`\$\{([_a-zA-Z][_a-zA-Z0-9]*)\}`)

// madeValue is the value of a key of a Secret or ConfigMap of which only the key is known.
const madeValue = "made-by-aicr-action"

// ReadClusterFile reads one. Errors name its lines.
func ReadClusterFile(file string) (*ClusterFile, error) {
	raw, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("read what the cluster has: %w", err)
	}
	c := &ClusterFile{}
	docs, err := yamlx.Documents(raw)
	if err == nil && len(docs) > 1 {
		return nil, fmt.Errorf("%s:%d: a second document; want one", file, docs[1].Line)
	}
	problems := []yamlx.Problem{}
	if err != nil {
		problems = yamlx.Problems(err)
	} else if len(docs) == 1 {
		problems = yamlx.DecodeNode(docs[0].Content[0], c)
	}
	if len(problems) > 0 {
		return nil, fmt.Errorf("%s:%d: %s", file, problems[0].Line, problems[0].Text)
	}
	for key, all := range map[string]map[string][]string{"secrets": c.Secrets, "configMaps": c.ConfigMaps} {
		for _, name := range slices.Sorted(maps.Keys(all)) {
			namespace, name, ok := strings.Cut(name, "/")
			if wrong := append(validation.IsDNS1123Label(namespace), validation.IsDNS1123Subdomain(name)...); !ok || len(wrong) > 0 {
				return nil, fmt.Errorf("%s: %s: %q is no NAMESPACE/NAME", file, key, strings.TrimSuffix(namespace+"/"+name, "/"))
			}
		}
	}
	for _, kind := range slices.Sorted(maps.Keys(c.Nodes)) {
		if count := c.Nodes[kind]; kind != "system" && kind != "accelerated" || count < 0 {
			return nil, fmt.Errorf("%s: nodes: %s: %d; want system or accelerated, and how many", file, kind, count)
		}
	}
	return c, nil
}

// Objects are the Secrets and ConfigMaps that exist.
func (c *ClusterFile) Objects() (all []*unstructured.Unstructured) {
	if c == nil {
		return nil
	}
	for _, k := range []struct {
		kind, field string
		names       map[string][]string
	}{{"Secret", "stringData", c.Secrets}, {"ConfigMap", "data", c.ConfigMaps}} {
		for _, full := range slices.Sorted(maps.Keys(k.names)) {
			namespace, name, _ := strings.Cut(full, "/")
			data := map[string]any{}
			for key, value := range c.values(k.names[full]) {
				data[key] = value
			}
			all = append(all, &unstructured.Unstructured{Object: map[string]any{
				"apiVersion": "v1", "kind": k.kind, "metadata": map[string]any{"namespace": namespace, "name": name}, k.field: data,
			}})
		}
	}
	return all
}

// values are those of keys: the variable of that name, or one that is made.
func (c *ClusterFile) values(keys []string) map[string]string {
	all := map[string]string{}
	for _, key := range keys {
		value, ok := c.Variables[key]
		switch {
		case ok:
		case strings.HasSuffix(key, ".yaml"), strings.HasSuffix(key, ".yml"):
			value = "{}\n" // e.g. values of a release
		default:
			value = madeValue
		}
		all[key] = value
	}
	return all
}

// Of gives the data of a Secret or ConfigMap that exists; false if the file has none of that name. Keys are those that are
// asked for.
func (c *ClusterFile) Of(kind, namespace, name string, keys ...string) (map[string]string, bool) {
	if c == nil {
		return nil, false
	}
	names := c.Secrets
	if kind == "ConfigMap" {
		names = c.ConfigMaps
	}
	had, ok := names[namespace+"/"+name]
	if c.collects {
		if had == nil {
			had = []string{}
		}
		for _, key := range keys {
			if !slices.Contains(had, key) {
				had = append(had, key)
			}
		}
		names[namespace+"/"+name], ok = had, true
	}
	return c.values(had), ok
}

// lacks notes a repository that is not here, if the file takes in what is missing.
func (c *ClusterFile) lacks(address string) bool {
	if c.collects {
		c.Repositories[address] = ""
	}
	return c.collects
}

// hasProject reports whether Argo CD has an AppProject, which is noted if the file takes in what is missing.
func (c *ClusterFile) hasProject(name string) bool {
	if c.collects && !slices.Contains(c.Projects, name) {
		c.Projects = append(c.Projects, name)
	}
	return slices.Contains(c.Projects, name)
}

// says reports whether the file itself has a Secret or ConfigMap.
func (c *ClusterFile) says(kind, namespace, name string) bool {
	names := c.Secrets
	if kind == "ConfigMap" {
		names = c.ConfigMaps
	}
	_, ok := names[namespace+"/"+name]
	return ok
}

// clusterLine is the line of a cluster file by which a Secret or ConfigMap exists.
func clusterLine(kind, namespace, name string, keys ...string) string {
	return fmt.Sprintf("if the cluster has it, say so in --cluster-file: `%s`", existsLine(kind, namespace, name, keys...))
}

// existsLine is that line alone.
func existsLine(kind, namespace, name string, keys ...string) string {
	list := strings.ToLower(kind[:1]) + kind[1:] + "s"
	return fmt.Sprintf("%s: {%s/%s: [%s]}", list, namespace, name, strings.Join(keys, ", "))
}
