package main

// aicrconfig.go reads a document of kind AICRConfig: what the flags of AICR's commands say, in
// a file. It knows the fields, and the flag that each of them stands for. It must not know what a
// flag does.

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/nvidia/aicr-action/internal/recipe"
	"github.com/nvidia/aicr-action/internal/recipe/document"
)

// aicrConfigValue is what a field of the file sets.
type aicrConfigValue struct {
	// Flag that it stands for, without hyphens in front.
	Flag string
	// Texts are the flag's values: one, or those of a list.
	Texts []string
	// Field is its path in the document, and At its place.
	Field string
	At    document.Origin
}

// aicrConfig is a file that was read.
type aicrConfig struct {
	values map[string][]aicrConfigValue
	// Notes are for people: how the file was read, and that it has nothing for a command.
	Notes []string
}

// The commands that have a section in the file.
const (
	aicrConfigRecipe = "recipe"
	aicrConfigBundle = "bundle"
)

// Values are those of a command's section, in the order of the fields in the document's schema.
func (c *aicrConfig) Values(command string) []aicrConfigValue { return c.values[command] }

type file struct {
	APIVersion string         `json:"apiVersion"`
	Kind       string         `json:"kind"`
	Metadata   map[string]any `json:"metadata"`
	Spec       struct {
		Recipe *recipeSection `json:"recipe"`
		Bundle *bundleSection `json:"bundle"`
		// Those of other commands, which take no --config here.
		Snapshot map[string]any `json:"snapshot"`
		Validate map[string]any `json:"validate"`
		Verify   map[string]any `json:"verify"`
	} `json:"spec"`
}

type recipeSection struct {
	Criteria *recipe.Criteria `json:"criteria"`
	Profile  string           `json:"profile"`
	Input    struct {
		Snapshot string `json:"snapshot"`
	} `json:"input"`
	Output struct {
		Path   string `json:"path"`
		Format string `json:"format"`
	} `json:"output"`
	Configuration  recipe.Configuration `json:"configuration"`
	Data           string               `json:"data"`
	CriteriaStrict *bool                `json:"criteriaStrict"`
}

type bundleSection struct {
	Input struct {
		Recipe string `json:"recipe"`
	} `json:"input"`
	Output struct {
		Target    string `json:"target"`
		ImageRefs string `json:"imageRefs"`
	} `json:"output"`
	Deployment struct {
		Deployer     string   `json:"deployer"`
		Repo         string   `json:"repo"`
		Set          []string `json:"set"`
		Dynamic      []string `json:"dynamic"`
		VendorCharts bool     `json:"vendorCharts"`
		AppName      string   `json:"appName"`
	} `json:"deployment"`
	Scheduling struct {
		SystemNodeSelector         map[string]string `json:"systemNodeSelector"`
		SystemNodeTolerations      []string          `json:"systemNodeTolerations"`
		AcceleratedNodeSelector    map[string]string `json:"acceleratedNodeSelector"`
		AcceleratedNodeTolerations []string          `json:"acceleratedNodeTolerations"`
		WorkloadGate               string            `json:"workloadGate"`
		WorkloadSelector           map[string]string `json:"workloadSelector"`
		Nodes                      int               `json:"nodes"`
		StorageClass               string            `json:"storageClass"`
		SharedStorageClass         string            `json:"sharedStorageClass"`
		DRAEvictionNodeLabel       string            `json:"draEvictionNodeLabel"`
	} `json:"scheduling"`
	Attestation struct {
		Enabled                   bool   `json:"enabled"`
		CertificateIdentityRegexp string `json:"certificateIdentityRegexp"`
		OIDCDeviceFlow            bool   `json:"oidcDeviceFlow"`
		FulcioURL                 string `json:"fulcioURL"`
		RekorURL                  string `json:"rekorURL"`
		SigningKey                string `json:"signingKey"`
	} `json:"attestation"`
	Registry struct {
		InsecureTLS bool `json:"insecureTLS"`
		PlainHTTP   bool `json:"plainHTTP"`
	} `json:"registry"`
}

// reader fills a Config from a document.
type reader struct {
	document.Decoder
	root   *yaml.Node
	config *aicrConfig
}

// readAICRConfig reads a file, as YAML or JSON. Called is how messages call it. If anything is wrong, the
// error joins a *document.FileError for every problem.
func readAICRConfig(called string, data []byte) (*aicrConfig, error) {
	r := &reader{Decoder: document.Decoder{File: called}, config: &aicrConfig{values: map[string][]aicrConfigValue{}}}
	root, found := document.ParseYAML(called, data)
	r.AddAll(found)
	if len(found) > 0 || !r.Header(root, document.ConfigKind) {
		return nil, r.Err()
	}
	r.root = root
	var doc file
	r.Decode(root, &doc, "")
	spec := &doc.Spec
	if spec.Recipe == nil && spec.Bundle == nil && spec.Snapshot == nil && spec.Validate == nil && spec.Verify == nil {
		r.Add(r.at("spec"), "spec has none of snapshot, recipe, bundle, validate and verify; add the section of the command that the file is for")
	}
	if spec.Recipe != nil {
		r.recipe(spec.Recipe)
	}
	if spec.Bundle != nil {
		r.bundle(spec.Bundle)
	}
	if spec.Recipe != nil && spec.Bundle != nil {
		if out, in := spec.Recipe.Output.Path, spec.Bundle.Input.Recipe; out != "" && in != "" && out != in {
			r.Add(r.at("spec", "bundle", "input", "recipe"), "spec.bundle.input.recipe is %s, and spec.recipe.output.path is %s; write the same file", in, out)
		}
	}
	for _, n := range r.Notes {
		r.config.Notes = append(r.config.Notes, fmt.Sprintf("%s: %s", n.At, n.Text))
	}
	return r.config, r.Err()
}

func (r *reader) at(steps ...any) document.Origin {
	return document.Origin{File: r.File, Line: document.LineOf(r.root, steps...)}
}

// value is a flag's value at a field of a section; nothing if the field is not set.
func (r *reader) value(section, field, flag string, texts ...string) {
	if len(texts) == 0 || len(texts) == 1 && texts[0] == "" {
		return
	}
	var steps []any
	for _, step := range strings.Split("spec."+section+"."+field, ".") {
		steps = append(steps, step)
	}
	r.config.values[section] = append(r.config.values[section], aicrConfigValue{Flag: flag, Texts: texts, Field: "spec." + section + "." + field, At: r.at(steps...)})
}

func (r *reader) recipe(s *recipeSection) {
	if s.Criteria != nil {
		if s.Input.Snapshot != "" {
			r.Add(r.at("spec", "recipe", "input", "snapshot"), "spec.recipe has criteria and input.snapshot; keep one of them: the snapshot tells the criteria, or the criteria are written")
		}
		for i, name := range recipe.CriteriaNames() {
			r.value(aicrConfigRecipe, "criteria."+name, name, *s.Criteria.Fields()[i])
		}
		r.value(aicrConfigRecipe, "criteria.nodes", "nodes", number(s.Criteria.Nodes))
	}
	if f := s.Output.Format; f != "" && f != "yaml" && f != "json" && f != "table" {
		r.Add(r.at("spec", "recipe", "output", "format"), "spec.recipe.output.format is %.100q; write yaml, json or table", f)
	}
	r.value(aicrConfigRecipe, "profile", "profile", s.Profile)
	choice := s.Configuration.Choice()
	r.value(aicrConfigRecipe, "configuration.slurm.accounting.mode", "slurm-accounting-mode", choice.Accounting)
	r.value(aicrConfigRecipe, "configuration.runtimeInventory.mode", "runtime-inventory", choice.Inventory)
	r.value(aicrConfigRecipe, "configuration.gke.tcpxoInterfaces", "gke-tcpxo-interfaces", choice.Interfaces)
	r.value(aicrConfigRecipe, "input.snapshot", "snapshot", s.Input.Snapshot)
	r.value(aicrConfigRecipe, "output.path", "output", s.Output.Path)
	r.value(aicrConfigRecipe, "output.format", "format", s.Output.Format)
	r.value(aicrConfigRecipe, "data", "data", s.Data)
	if s.CriteriaStrict != nil {
		r.value(aicrConfigRecipe, "criteriaStrict", "criteria-strict", strconv.FormatBool(*s.CriteriaStrict))
	}
}

func (r *reader) bundle(s *bundleSection) {
	// A bundle without what these ask for is not the bundle that the file describes.
	for _, f := range []struct {
		field string
		set   bool
		why   string
	}{
		{"output.imageRefs", s.Output.ImageRefs != "", "the digest is printed, and written to no file"},
		{"attestation.enabled", s.Attestation.Enabled, "it signs nothing; sign the bundle with AICR's own CLI"},
		{"registry.insecureTLS", s.Registry.InsecureTLS, "certificates of registries are always checked"},
	} {
		if f.set {
			steps := []any{"spec", aicrConfigBundle}
			for _, step := range strings.Split(f.field, ".") {
				steps = append(steps, step)
			}
			r.Add(r.at(steps...), "spec.bundle.%s is not for this program: %s", f.field, f.why)
		}
	}
	d, n := &s.Deployment, &s.Scheduling
	r.value(aicrConfigBundle, "input.recipe", "recipe", s.Input.Recipe)
	r.value(aicrConfigBundle, "output.target", "output", s.Output.Target)
	r.value(aicrConfigBundle, "deployment.deployer", "deployer", d.Deployer)
	r.value(aicrConfigBundle, "deployment.repo", "repo", d.Repo)
	r.value(aicrConfigBundle, "deployment.set", "set", d.Set...)
	r.value(aicrConfigBundle, "deployment.dynamic", "dynamic", d.Dynamic...)
	r.value(aicrConfigBundle, "deployment.appName", "app-name", d.AppName)
	r.value(aicrConfigBundle, "scheduling.systemNodeSelector", "system-node-selector", pairs(n.SystemNodeSelector)...)
	r.value(aicrConfigBundle, "scheduling.systemNodeTolerations", "system-node-toleration", n.SystemNodeTolerations...)
	r.value(aicrConfigBundle, "scheduling.acceleratedNodeSelector", "accelerated-node-selector", pairs(n.AcceleratedNodeSelector)...)
	r.value(aicrConfigBundle, "scheduling.acceleratedNodeTolerations", "accelerated-node-toleration", n.AcceleratedNodeTolerations...)
	r.value(aicrConfigBundle, "scheduling.workloadGate", "workload-gate", n.WorkloadGate)
	r.value(aicrConfigBundle, "scheduling.workloadSelector", "workload-selector", pairs(n.WorkloadSelector)...)
	r.value(aicrConfigBundle, "scheduling.nodes", "nodes", number(n.Nodes))
	r.value(aicrConfigBundle, "scheduling.storageClass", "storage-class", n.StorageClass)
	r.value(aicrConfigBundle, "scheduling.sharedStorageClass", "shared-storage-class", n.SharedStorageClass)
	r.value(aicrConfigBundle, "scheduling.draEvictionNodeLabel", "dra-eviction-node-label", n.DRAEvictionNodeLabel)
	if d.VendorCharts {
		r.value(aicrConfigBundle, "deployment.vendorCharts", "vendor-charts", "true")
	}
	if s.Registry.PlainHTTP {
		r.value(aicrConfigBundle, "registry.plainHTTP", "plain-http", "true")
	}
}

// number is empty for 0, which a file need not write.
func number(n int) string {
	if n == 0 {
		return ""
	}
	return strconv.Itoa(n)
}

func pairs(m map[string]string) []string {
	var all []string
	for _, key := range slices.Sorted(maps.Keys(m)) {
		all = append(all, key+"="+m[key])
	}
	return all
}
