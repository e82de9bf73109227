package adjust

import (
	"bytes"
	"cmp"
	"fmt"
	"regexp"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/nvidia/aicr-action/internal/bundle"
)

// Names are those of objects that a deployer makes of a bundle, where they are not to be the usual
// ones; an empty one is.
type Names struct {
	// App is the name of Argo CD's root Application (--app-name).
	App string
	// FluxNamespace has all of Flux's objects (--flux-namespace), and FluxSource is the source of the
	// bundle itself (--flux-oci-source-name).
	FluxNamespace, FluxSource string
}

// Flux's usual names; the root Application of Argo CD has one of two.
const (
	fluxNamespace = bundle.FluxNamespace
	fluxSource    = "aicr-bundle"
)

// Check refuses names that cannot be, and those of another deployer.
func (n Names) Check(deployer string) error {
	for _, f := range []struct {
		flag, value string
		fits        bool
		whose       string
		check       func(string) []string
	}{
		{"--app-name", n.App, bundle.ByArgoCD(deployer) && deployer != bundle.ArgoCDAppSet, "root Application of Argo CD", validation.IsDNS1123Subdomain},
		{"--flux-namespace", n.FluxNamespace, bundle.ByFlux(deployer), "objects of Flux", validation.IsDNS1123Label},
		{"--flux-oci-source-name", n.FluxSource, bundle.ByFlux(deployer), "objects of Flux", validation.IsDNS1123Subdomain},
	} {
		if f.value == "" {
			continue
		}
		if !f.fits {
			return fmt.Errorf("%s %s: a bundle of %s has no %s", f.flag, f.value, deployer, f.whose)
		}
		if problems := f.check(f.value); len(problems) > 0 {
			return fmt.Errorf("%s %.100q: %s", f.flag, f.value, strings.Join(problems, "; "))
		}
	}
	return nil
}

// Root is the name of the root Application of a deployer's bundle.
func (n Names) Root(deployer string) string {
	if n.App == "" && deployer == bundle.ArgoCDHelmOCI {
		return bundle.ArgoHelmApplication
	}
	return cmp.Or(n.App, bundle.ArgoRootApplication)
}

// Apply gives the objects of a bundle the names.
func (n Names) Apply(b *bundle.Bundle) error {
	if n == (Names{}) {
		return nil
	}
	for _, r := range b.Expectation.Releases {
		if n.App == r.Name {
			return fmt.Errorf("--app-name %s: the Application of component %s has this name", n.App, r.Component)
		}
	}
	f := filesOf(b)
	for _, file := range b.Files {
		switch {
		case strings.Contains(file.Path, "/chart/"), strings.HasPrefix(file.Path, "local/"): // a component's own manifests
		case n.App != "" && strings.HasPrefix(file.Path, "templates/root"):
			f.replace(file.Path, bytes.Replace(file.Content, []byte("\n  name: "+bundle.ArgoHelmApplication+"\n"), []byte("\n  name: "+n.App+"\n"), 1))
		case strings.HasSuffix(file.Path, ".yaml") && !strings.HasPrefix(file.Path, "templates/") && (bytes.Contains(file.Content, []byte(".fluxcd.io/")) || bytes.Contains(file.Content, []byte("kind: Application\n"))):
			f.editAll(file.Path, n.object)
		case file.Path == "README.md":
			f.replace(file.Path, n.prose(file.Content))
		}
	}
	return f.done()
}

// object gives an object its names, and says whether it has others now.
func (n Names) object(o map[string]any) bool {
	api, _ := o["apiVersion"].(string)
	meta, _ := o["metadata"].(map[string]any)
	spec, _ := o["spec"].(map[string]any)
	changed := false
	rename := func(m map[string]any, key, from, to string) {
		if to != "" && m != nil && m[key] == from {
			m[key], changed = to, true
		}
	}
	switch {
	case strings.HasPrefix(api, "argoproj.io/") && o["kind"] == "Application":
		rename(meta, "name", bundle.ArgoRootApplication, n.App)
	case strings.Contains(api, ".fluxcd.io/"):
		rename(meta, "namespace", fluxNamespace, n.FluxNamespace)
		if bundleSource(o) {
			rename(meta, "name", fluxSource, n.FluxSource)
		}
		sources := []any{spec["sourceRef"]}
		if list, ok := spec["sources"].([]any); ok {
			sources = append(sources, list...)
		}
		if chart, ok := spec["chart"].(map[string]any); ok {
			of, _ := chart["spec"].(map[string]any)
			sources = append(sources, of["sourceRef"])
		}
		for _, s := range sources {
			if m, ok := s.(map[string]any); ok && bundleSource(m) {
				rename(m, "name", fluxSource, n.FluxSource)
			}
		}
	}
	return changed
}

// bundleSource reports whether an object, or a reference, is of a kind that a bundle's own source has.
func bundleSource(o map[string]any) bool {
	return o["kind"] == "OCIRepository" || o["kind"] == "GitRepository"
}

// prose gives the names to a text for people.
func (n Names) prose(text []byte) []byte {
	for _, r := range []struct{ from, to string }{
		{bundle.ArgoRootApplication, n.App}, {bundle.ArgoHelmApplication, n.App}, {fluxNamespace, n.FluxNamespace}, {fluxSource, n.FluxSource},
	} {
		if r.to != "" {
			text = regexp.MustCompile(`\b`+r.from+`\b`).ReplaceAllLiteral(text, []byte(r.to))
		}
	}
	return text
}
