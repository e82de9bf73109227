// Package health is the health policy: the kinds of custom resources whose status no controller
// writes on a simulated cluster, although a deployer may wait for it (docs/contributing/faults.md, F22). The
// list is short and reviewed, the same for every lane, and each use is printed. The package does
// not connect to a cluster.
package health

import (
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/nvidia/aicr-action/internal/util/yamlx"
)

// The format of the file.
const (
	apiVersion = "aicr.nvidia.com/v1alpha1"
	kind       = "HealthPolicy"
)

// RuleExists: an object counts as healthy as soon as it exists. It is the only rule so far.
const RuleExists = "exists"

// Entry is one kind. The policy is about kinds and not names, since Argo CD's health customizations
// are.
type Entry struct {
	APIVersion string `yaml:"apiVersion"`
	Kind       string `yaml:"kind"`
	// Rule is RuleExists.
	Rule string `yaml:"rule"`
	// Reason says in one line why no controller writes the status; Link is an address that confirms
	// it.
	Reason string `yaml:"reason"`
	Link   string `yaml:"link"`
}

// GroupKind is the entry's kind in any version: an operator that does not run writes the status of
// none.
func (e Entry) GroupKind() schema.GroupKind {
	return schema.FromAPIVersionAndKind(e.APIVersion, e.Kind).GroupKind()
}

// Policy is the whole list. The zero policy is empty.
type Policy struct{ Entries []Entry }

type document struct {
	APIVersion string  `yaml:"apiVersion"`
	Kind       string  `yaml:"kind"`
	Healthy    []Entry `yaml:"healthy"`
}

// Parse reads a policy, strictly: unknown fields, unknown rules, built-in kinds (their controllers
// run) and kinds that are there twice are refused. Errors have file and line; all are joined.
func Parse(file string, data []byte) (Policy, error) {
	var doc document
	if err := yamlx.DecodeStrict(data, &doc); err != nil {
		return Policy{}, placed(file, err)
	}
	if doc.APIVersion != apiVersion || doc.Kind != kind {
		return Policy{}, fmt.Errorf("%s:1: it is %q; want %q", file, doc.APIVersion+" "+doc.Kind, apiVersion+" "+kind)
	}
	lines, err := entryLines(data)
	if err != nil {
		return Policy{}, placed(file, err)
	}
	var found []error
	first := map[schema.GroupKind]int{}
	for i, e := range doc.Healthy {
		add := func(format string, args ...any) {
			found = append(found, fmt.Errorf("%s:%d: "+format, append([]any{file, lines[i]}, args...)...))
		}
		e.check(add)
		gk := e.GroupKind()
		if line, ok := first[gk]; ok {
			add("%s is already on line %d; remove one", gk, line)
		}
		first[gk] = lines[i]
	}
	if len(found) > 0 {
		return Policy{}, errors.Join(found...)
	}
	return Policy{Entries: doc.Healthy}, nil
}

func (e Entry) check(add func(string, ...any)) {
	gv, err := schema.ParseGroupVersion(e.APIVersion)
	switch {
	case err != nil || gv.Version == "" || e.Kind == "":
		add("apiVersion %q and kind %q: want those of a custom resource", e.APIVersion, e.Kind)
	case gv.Group == "" || scheme.Scheme.IsGroupRegistered(gv.Group):
		add("%s in %s is a built-in kind: its controller runs, so that its health can be seen", e.Kind, e.APIVersion)
	}
	if e.Rule != RuleExists {
		add("rule %q: want %q (healthy as soon as it exists)", e.Rule, RuleExists)
	}
	if e.Reason == "" || strings.Contains(e.Reason, "\n") {
		add("reason %q: want one line that says why no controller writes the status", e.Reason)
	}
	if u, err := url.Parse(e.Link); err != nil || u.Scheme != "https" || u.Host == "" {
		add("link %q: want an https:// address where a reviewer finds the reason confirmed", e.Link)
	}
}

// entryLines gives the line of each entry.
func entryLines(data []byte) ([]int, error) {
	var doc struct {
		Healthy []yaml.Node `yaml:"healthy"`
	}
	err := yaml.Unmarshal(data, &doc)
	var lines []int
	for i := range doc.Healthy {
		lines = append(lines, doc.Healthy[i].Line)
	}
	return lines, err
}

// placed puts the file before the line of each of the decoder's complaints.
func placed(file string, err error) error {
	var all []error
	for _, p := range yamlx.Problems(err) {
		at := file
		if p.Line > 0 {
			at = fmt.Sprintf("%s:%d", file, p.Line)
		}
		all = append(all, fmt.Errorf("%s: %s", at, p.Text))
	}
	return errors.Join(all...)
}

// Find gives the entry of a kind.
func (p Policy) Find(gk schema.GroupKind) (Entry, bool) {
	i := slices.IndexFunc(p.Entries, func(e Entry) bool { return e.GroupKind() == gk })
	if i < 0 {
		return Entry{}, false
	}
	return p.Entries[i], true
}

// ArgoCD gives the entries as Argo CD's health customizations, for the data of the ConfigMap
// argocd-cm. Argo CD then reports the kind as healthy, and its built-in check of it, if it has one,
// is not used.
// https://argo-cd.readthedocs.io/en/stable/operator-manual/health/#custom-health-checks
func (p Policy) ArgoCD() map[string]any {
	data := map[string]any{}
	for _, e := range p.Entries {
		gk := e.GroupKind()
		data["resource.customizations.health."+gk.Group+"_"+gk.Kind] = fmt.Sprintf(
			"hs = {}\nhs.status = \"Healthy\"\nhs.message = %s\nreturn hs\n", luaString("health policy: "+e.Reason))
	}
	return data
}

// luaString quotes a line of text for Lua 5.1, which takes bytes as they are and knows these two
// escapes.
func luaString(s string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(s) + `"`
}
