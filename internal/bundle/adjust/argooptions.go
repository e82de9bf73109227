package adjust

import (
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/nvidia/aicr-action/internal/bundle"
)

// ArgoOptions are about the Applications of a bundle, and no value of a component: --set deployer:KEY=VALUE.
// An empty one leaves the Applications as they are.
type ArgoOptions struct {
	// NamePrefix is in front of the names of the Applications, and of their releases, but for the root's.
	NamePrefix string
	// DestinationServer is the API server of the cluster that they deploy to, and Project their AppProject; again not
	// the root's.
	DestinationServer, Project string
	// CascadeDelete is true or false: whether deleting an Application deletes what it deployed.
	CascadeDelete string
}

const (
	deployerKey = "deployer:"
	finalizer   = "resources-finalizer.argocd.argoproj.io"
	inCluster   = "https://kubernetes.default.svc"
	longestName = 53 // of a name of a Helm release
)

var prefixPattern = regexp.MustCompile(`^[a-z0-9][a-z0-9-]*$`)

// ParseArgoOptions takes the values for the deployer out of those of --set.
func ParseArgoOptions(sets []string) (o ArgoOptions, rest []string, err error) {
	for _, set := range sets {
		expr, ok := strings.CutPrefix(set, deployerKey)
		if !ok {
			rest = append(rest, set)
			continue
		}
		key, value, _ := strings.Cut(expr, "=")
		fail := func(problem string) (ArgoOptions, []string, error) {
			return o, nil, fmt.Errorf("--set %q: %s", set, problem)
		}
		if value == "" {
			return fail("the value is empty; write deployer:KEY=VALUE, or remove the flag")
		}
		switch key {
		case "namePrefix":
			if !prefixPattern.MatchString(value) {
				return fail("a prefix of names has lower-case letters, digits and dashes, and begins with no dash, e.g. tenant-a-")
			}
			o.NamePrefix = value
		case "destinationServer":
			if u, err := url.Parse(value); err != nil || u.Scheme != "https" || u.Host == "" || u.User != nil || strings.ContainsAny(value, "'\" \t\r\n") {
				return fail("want the address of an API server, e.g. https://prod.example.com:6443")
			}
			o.DestinationServer = value
		case "project":
			labels := strings.Split(value, ".")
			if problems := validation.IsDNS1123Subdomain(value); len(problems) > 0 {
				return fail(problems[0])
			} else if slices.ContainsFunc(labels, func(label string) bool { return len(label) > validation.DNS1123LabelMaxLength }) {
				return fail(fmt.Sprintf("a part of it has more than %d characters", validation.DNS1123LabelMaxLength))
			}
			o.Project = value
		case "cascadeDelete":
			on, err := strconv.ParseBool(value)
			if err != nil {
				return fail("write deployer:cascadeDelete=true or =false")
			}
			o.CascadeDelete = strconv.FormatBool(on)
		default:
			return fail("deployer: has no option " + key + "; there are cascadeDelete, destinationServer, namePrefix and project")
		}
	}
	return o, rest, nil
}

// Check refuses options for a deployer that has none.
func (o ArgoOptions) Check(deployer string) error {
	if o == (ArgoOptions{}) || bundle.ByArgoCD(deployer) && deployer != bundle.ArgoCDAppSet {
		return nil
	}
	return fmt.Errorf("--set deployer:… is about the Applications of Argo CD, and a bundle of %s has none that it could change; remove it", deployer)
}

// Apply changes the Applications of a bundle, before its root is given another name.
func (o ArgoOptions) Apply(b *bundle.Bundle, root string) error {
	if o == (ArgoOptions{}) {
		return nil
	}
	f := filesOf(b)
	rootFile, child := "app-of-apps.yaml", func(release string) string { return release + "/application.yaml" }
	if b.Deployer == bundle.ArgoCDHelmOCI {
		rootFile, child = "templates/root-application.yaml", func(release string) string { return "templates/children/" + release + ".yaml" }
	}
	paths := []string{rootFile}
	for _, r := range b.Expectation.Releases {
		path, name := child(r.Name), o.NamePrefix+r.Name
		paths = append(paths, path)
		if len(name) > longestName {
			return fmt.Errorf("--set deployer:namePrefix=%s: %s has more than %d characters, and Argo CD gives a Helm release the name of its Application; take a shorter prefix", o.NamePrefix, name, longestName)
		}
		if name == root {
			return fmt.Errorf("--set deployer:namePrefix=%s: the Application of component %s would have the name of the root Application, %s; take another prefix, or --app-name", o.NamePrefix, r.Component, root)
		}
		// The lines of an Application; what values have is deeper.
		if o.NamePrefix != "" {
			f.swap(path, "\n  name: "+r.Name+"\n", "\n  name: "+name+"\n")
			f.swap(path, "\n      releaseName: "+r.Name+"\n", "\n      releaseName: "+name+"\n")
		}
		if o.DestinationServer != "" {
			f.swap(path, "\n    server: "+inCluster+"\n", "\n    server: "+scalar(o.DestinationServer)+"\n")
		}
		if o.Project != "" {
			f.swap(path, "\n  project: default\n", "\n  project: "+scalar(o.Project)+"\n")
		}
	}
	if o.CascadeDelete == "false" {
		for _, path := range paths {
			f.swap(path, "\n  finalizers:\n  - "+finalizer+"\n", "\n")
		}
	}
	return f.done()
}

// scalar is a text as a value in YAML.
func scalar(text string) string {
	out, _ := marshal(text) // a text is always YAML
	return strings.TrimSuffix(string(out), "\n")
}
