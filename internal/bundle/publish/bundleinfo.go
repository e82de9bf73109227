package publish

// bundleinfo.go writes the index of a bundle as AICR's CLI has it since 1.0: who made it, with
// what settings, and its releases in the order of deployment. It must not know how a bundle is made.

import (
	"crypto/sha256"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	"github.com/nvidia/aicr-action/internal/bundle"
)

// bundleInfoFile is the index's name in a bundle.
const bundleInfoFile = "bundle-info.yaml"

// BundleInfoSettings are what a bundle was made with, as far as its files show it. What is empty is left out.
type BundleInfoSettings struct {
	AppName            string          `json:"appName,omitempty"`
	Checksums          bool            `json:"checksums"`
	NodeScheduling     *NodeScheduling `json:"nodeScheduling,omitempty"`
	ReadinessHooks     bool            `json:"readinessHooks"`
	RepoURL            string          `json:"repoURL,omitempty"`
	Serial             bool            `json:"serial"`
	SharedStorageClass string          `json:"sharedStorageClass,omitempty"`
	StorageClass       string          `json:"storageClass,omitempty"`
	TargetRevision     string          `json:"targetRevision,omitempty"`
	VendorCharts       bool            `json:"vendorCharts"`
}

// NodeScheduling is what the workloads of each kind of nodes were given.
type NodeScheduling struct {
	Accelerated *BundleInfoPlacement `json:"accelerated,omitempty"`
	System      *BundleInfoPlacement `json:"system,omitempty"`
}

// BundleInfoPlacement is a selector and tolerations.
type BundleInfoPlacement struct {
	Selector    map[string]string   `json:"selector,omitempty"`
	Tolerations []corev1.Toleration `json:"tolerations,omitempty"`
}

// SchedulingOf is nil if nothing is set.
func SchedulingOf(s bundle.Scheduling) *NodeScheduling {
	place := func(selector map[string]string, tolerations []corev1.Toleration) *BundleInfoPlacement {
		if len(selector)+len(tolerations) == 0 {
			return nil
		}
		return &BundleInfoPlacement{selector, tolerations}
	}
	n := NodeScheduling{place(s.AcceleratedNodeSelector, s.AcceleratedTolerations), place(s.SystemNodeSelector, s.SystemTolerations)}
	if n == (NodeScheduling{}) {
		return nil
	}
	return &n
}

// bundleInfoDocument has its keys in the order in which AICR's CLI writes them, which is the alphabet's.
type bundleInfoDocument struct {
	APIVersion string            `json:"apiVersion"`
	Build      build             `json:"build"`
	Kind       string            `json:"kind"`
	Layout     layout            `json:"layout"`
	Metadata   map[string]string `json:"metadata"`
}

type build struct {
	Deployer string             `json:"deployer"`
	Recipe   map[string]string  `json:"recipe"`
	Settings BundleInfoSettings `json:"settings"`
}

type layout struct {
	Entrypoint string    `json:"entrypoint"`
	Provenance string    `json:"provenance,omitempty"`
	Releases   []release `json:"releases"`
}

type release struct {
	Component string `json:"component"`
	Manifest  string `json:"manifest,omitempty"`
	Name      string `json:"name"`
	Namespace string `json:"namespace"`
	Path      string `json:"path,omitempty"`
}

// AddBundleInfo gives a bundle its index. One of a deployer that AICR does not have gets none.
func AddBundleInfo(b *bundle.Bundle, s BundleInfoSettings, version string, components []string) error {
	deployer, ok := names()[b.Deployer]
	if !ok {
		return nil
	}
	d := bundleInfoDocument{APIVersion: "aicr.run/v1", Kind: "BundleInfo", Metadata: map[string]string{"version": version}}
	s.Checksums = true
	d.Build = build{Deployer: deployer, Settings: s.shownBy(deployer), Recipe: map[string]string{"path": "recipe.yaml"}}
	for _, f := range b.Files {
		switch {
		case f.Path == "recipe.yaml":
			d.Build.Recipe["digest"] = fmt.Sprintf("sha256:%x", sha256.Sum256(f.Content))
		case f.Path == "provenance.yaml":
			d.Layout.Provenance = f.Path
		case slices.Contains(entrypoints(), f.Path) && d.Layout.Entrypoint == "":
			d.Layout.Entrypoint = f.Path
		}
	}
	for _, inst := range b.Installs {
		d.Layout.Releases = append(d.Layout.Releases, releaseOf(b, inst.Release, components))
	}
	text, err := yaml.Marshal(d)
	if err != nil {
		return err
	}
	b.Files = append(slices.Clone(b.Files), bundle.File{Path: bundleInfoFile, Mode: 0o644, Content: text})
	return b.Sum()
}

// names are what AICR's CLI calls a deployer.
func names() map[string]string {
	return map[string]string{
		bundle.Helm: "helm", bundle.Helm4: "helm", bundle.Helmfile: "helmfile", bundle.ArgoCDOCI: "argocd", bundle.ArgoCDGit: "argocd",
		bundle.ArgoCDHelmOCI: "argocd-helm", bundle.FluxOCI: "flux", bundle.FluxGit: "flux",
	}
}

func entrypoints() []string {
	return []string{"deploy.sh", "helmfile.yaml", "app-of-apps.yaml", "Chart.yaml", "kustomization.yaml"}
}

// shownBy leaves out what a deployer's bundle does not show.
func (s BundleInfoSettings) shownBy(deployer string) BundleInfoSettings {
	if deployer != "argocd" && deployer != "flux" {
		s.RepoURL, s.TargetRevision = "", ""
	}
	if deployer != "argocd" && deployer != "argocd-helm" {
		s.AppName = ""
	}
	return s
}

// releaseOf finds a release among the files. One that was put in beside a component's own is called by
// the component: it waits for it, or has its manifests.
func releaseOf(b *bundle.Bundle, r bundle.Release, components []string) release {
	out := release{Component: r.Component, Name: r.Name, Namespace: r.Namespace}
	for _, c := range components {
		if rest, ok := strings.CutPrefix(r.Name, c); ok && !slices.Contains(components, r.Component) && rest == "-readiness" {
			out.Component = c
		}
	}
	manifests := []string{r.Name + "/application.yaml", r.Name + "/helmrelease.yaml", "templates/children/" + r.Name + ".yaml"}
	for _, f := range b.Files {
		for _, dir := range []string{r.Name, "local/" + r.Name} {
			if strings.HasPrefix(f.Path, dir+"/") {
				out.Path = dir
			}
		}
		if slices.Contains(manifests, f.Path) {
			out.Manifest = f.Path
		}
	}
	return out
}
