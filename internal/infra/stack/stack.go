// Package stack builds, installs and archives the upstream programs that clusters are made of, as
// kwok/stack/go.mod lists them, and builds the second schedulers and controllers of
// kwok/schedulers/go.mod, the helmfile of kwok/helmfile/go.mod and the Karpenter of kwok/karpenter/go.mod. It knows Go modules and the cache directory. It must not start any of
// these programs.
package stack

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"golang.org/x/mod/modfile"

	"github.com/nvidia/aicr-action/internal/infra/host"
)

// Part is one binary of the stack.
type Part struct {
	Name    string // file name of the binary
	Package string // the upstream main package, as in the tool lines of kwok/stack/go.mod
	Module  string // the module whose version is the part's version
	// Main is the directory beside the parts list whose main package is compiled in place of
	// Package: one that calls the same function, and sets what upstream has no flag for.
	Main string
	// Change, if it names a file, is made in a copy of Module before the part is compiled.
	Change change
}

// source is the package that is compiled, as the go command takes it.
func (p Part) source() string {
	if p.Main != "" {
		return "./" + p.Main
	}
	return p.Package
}

// Group is a set of parts that is needed together.
type Group string

// The groups: the control plane always; the others for the lanes that use them.
const (
	GroupControlPlane Group = "control-plane"
	GroupArgoCD       Group = "argocd"
	GroupFlux         Group = "flux"
	// GroupKubernetes are those of GroupControlPlane that have the version of Kubernetes; the parts
	// of another minor version's own list.
	GroupKubernetes Group = "kubernetes"
	// GroupHelm is the helm binary: Argo CD's repo-server runs it. The helm lane uses Helm's SDK
	// and does not need it.
	GroupHelm Group = "helm"
	// GroupHelm4 is the binary of Helm 4, which helmfile runs for what is made for Helm 4. It is no part of Groups: no
	// other lane needs it.
	GroupHelm4 Group = "helm-4"
	// GroupCoscheduling and GroupKueue are second schedulers, which are parts of NewSchedulers and
	// not of NewStack.
	GroupCoscheduling Group = "coscheduling"
	GroupKueue        Group = "kueue"
	// GroupJobSet and GroupTrainer are controllers, which are parts of NewSchedulers too.
	GroupJobSet  Group = "jobset"
	GroupTrainer Group = "trainer"
	// GroupPrometheusOperator, GroupNFD and GroupCertManager are operators of recipes, each of a list of its own.
	GroupPrometheusOperator Group = "prometheus-operator"
	GroupNFD                Group = "node-feature-discovery"
	GroupCertManager        Group = "cert-manager"
	// GroupKarpenter is Karpenter, the one part of NewKarpenter.
	GroupKarpenter Group = "karpenter"
	// groupHelmfile is helmfile, the one part of NewHelmfile. It runs the helm of GroupHelm or GroupHelm4.
	groupHelmfile Group = "helmfile"
)

// Groups lists those of NewStack in build order.
func Groups() []Group { return []Group{GroupControlPlane, GroupHelm, GroupArgoCD, GroupFlux} }

// SchedulerGroups lists those of NewSchedulers.
func SchedulerGroups() []Group {
	return []Group{GroupCoscheduling, GroupKueue, GroupJobSet, GroupTrainer}
}

// HelmfileGroups lists those of NewHelmfile.
func HelmfileGroups() []Group { return []Group{groupHelmfile} }

// part is a program of a module: its main package is dir there.
func part(name, module, dir string) Part {
	return Part{Name: name, Package: module + dir, Module: module}
}

// Parts returns the parts of a group. Argo CD needs GroupHelm too.
func (g Group) Parts() []Part {
	switch g {
	case GroupControlPlane:
		kubernetes := GroupKubernetes.Parts()
		kwok := part("kwok", "sigs.k8s.io/kwok", "/cmd/kwok")
		kwok.Change = resumedWatches()
		return slices.Concat([]Part{part("etcd", "go.etcd.io/etcd/server/v3", "")}, kubernetes[:2], []Part{kwok}, kubernetes[2:])
	case GroupKubernetes:
		kubernetes := func(name string) Part { return part(name, kubernetesModule, "/cmd/"+name) }
		manager := kubernetes("kube-controller-manager")
		manager.Main = manager.Name
		return []Part{kubernetes("kube-apiserver"), kubernetes("kube-scheduler"), manager}
	case GroupHelm:
		return []Part{part("helm", "helm.sh/helm/v3", "/cmd/helm")}
	case GroupHelm4:
		return []Part{part("helm-4", "helm.sh/helm/v4", "/cmd/helm")}
	case GroupArgoCD:
		return []Part{
			part("kustomize", "sigs.k8s.io/kustomize/kustomize/v5", ""),
			part("argocd", "github.com/argoproj/argo-cd/v3", "/cmd"),
		}
	case GroupFlux:
		flux := func(name string) Part { return part(name, "github.com/fluxcd/"+name, "") }
		return []Part{
			flux("source-controller"), flux("kustomize-controller"), flux("helm-controller"), part("source-watcher", "github.com/fluxcd/source-watcher/v2", "/cmd"),
		}
	case GroupCoscheduling:
		return []Part{part("scheduler-plugins", "sigs.k8s.io/scheduler-plugins", "/cmd/scheduler")}
	case GroupKueue:
		return []Part{part("kueue", "sigs.k8s.io/kueue", "/cmd/kueue")}
	case GroupJobSet:
		return []Part{part("jobset", "sigs.k8s.io/jobset", "")}
	case GroupTrainer:
		return []Part{part("trainer-controller-manager", "github.com/kubeflow/trainer/v2", "/cmd/trainer-controller-manager")}
	case GroupPrometheusOperator:
		return []Part{part("prometheus-operator", "github.com/prometheus-operator/prometheus-operator", "/cmd/operator")}
	case GroupNFD:
		program := func(name string) Part { return part(name, "sigs.k8s.io/node-feature-discovery", "/cmd/"+name) }
		return []Part{program("nfd-master"), program("nfd-gc")}
	case GroupCertManager:
		program := func(name string) Part { return part("cert-manager-"+name, certManagerModule, "/programs/"+name) }
		return []Part{program("controller"), program("webhook"), program("cainjector"), program("startupapicheck")}
	case GroupKarpenter:
		program := part("karpenter", karpenterModule, "/kwok")
		program.Main = program.Name
		return []Part{program}
	case groupHelmfile:
		return []Part{part("helmfile", helmfileModule, "")}
	}
	return nil
}

const (
	helmfileModule    = "github.com/helmfile/helmfile"
	certManagerModule = "github.com/cert-manager/cert-manager"
	karpenterModule   = "sigs.k8s.io/karpenter"
)

// crdSets are the directories of modules from which the CRDs of each deployer come.
func crdSets(g Group) []crdSet {
	switch g {
	case GroupArgoCD:
		return []crdSet{{"github.com/argoproj/argo-cd/v3", "manifests/crds", ""}}
	case GroupFlux:
		var sets []crdSet
		for _, p := range g.Parts() {
			sets = append(sets, crdSet{p.Module, "config/crd/bases", ""})
		}
		return sets
	case GroupCoscheduling:
		return []crdSet{{g.Parts()[0].Module, "config/crd/bases", ""}}
	case GroupKueue: // with the configurations of its webhooks
		return []crdSet{{g.Parts()[0].Module, "config/components/crd/bases", ""}, {g.Parts()[0].Module, "config/components/webhook", "manifests.yaml"}}
	case GroupJobSet:
		return []crdSet{{g.Parts()[0].Module, "config/components/crd/bases", ""}, {g.Parts()[0].Module, "config/components/webhook", "manifests.yaml"}}
	case GroupTrainer:
		return []crdSet{{g.Parts()[0].Module, "manifests/base/crds", ""}, {g.Parts()[0].Module, "manifests/base/webhook", "manifests.yaml"}}
	case GroupKarpenter: // its further kinds are behind feature gates that are off
		return []crdSet{{karpenterModule, "pkg/apis/crds", "karpenter.sh_nodepools.yaml"}, {karpenterModule, "pkg/apis/crds", "karpenter.sh_nodeclaims.yaml"}, {karpenterModule, "kwok/apis/crds", ""}}
	}
	return nil
}

// crdSet is files of a directory of a module: those of a name, or all.
type crdSet struct{ module, dir, name string }

// Stack is the set of upstream binaries that one content of a parts list, a go.mod and its go.sum,
// stands for.
type Stack struct {
	Dir    string // binaries in bin/, CRDs in crds/<group>/
	groups []Group
	mod    []byte
	sum    []byte
	// sources are Go files beside go.mod, by their paths: programs that are made of an upstream
	// module's packages, since the module has none that can be compiled alone.
	sources map[string][]byte
	// versions of modules, from go.mod
	versions map[string]string
	// kubernetes, if set, has the control plane of another minor version, in place of the stack's.
	kubernetes *Stack
	// origin, if set, is where missing programs come from; else all are compiled.
	origin *Origin
	work   *work
	// named are modules whose versions the user has named, in place of the list's.
	named []string
}

// stackLayout is part of the key: raise it when the way of building changes the result.
const stackLayout = "1"

// NewStack reads the parts list of clusters, kwok/stack/go.mod, with the Go files beside it, which
// are embedded/stack among the sources (kwok.StackSources). It builds nothing.
func NewStack(paths host.Paths, goMod, goSum []byte, sources fs.FS) (*Stack, error) {
	files, err := Sources(sources, "embedded/stack")
	if err != nil {
		return nil, fmt.Errorf("read the stack's own programs: %w", err)
	}
	return newFrom(paths, "kwok/stack/go.mod", append(Groups(), GroupHelm4), goMod, goSum, files)
}

// Sources are the Go files below a directory of files that have the suffix .txt, by their paths
// without both.
func Sources(files fs.FS, dir string) (map[string][]byte, error) {
	all := map[string][]byte{}
	err := fs.WalkDir(files, dir, func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		content, err := fs.ReadFile(files, name)
		all[strings.TrimSuffix(strings.TrimPrefix(name, dir+"/"), ".txt")] = content
		return err
	})
	return all, err
}

// NewSchedulers reads the parts list of second schedulers and controllers, kwok/schedulers/go.mod.
// It builds nothing. Archive and Install are not for it.
func NewSchedulers(paths host.Paths, goMod, goSum []byte) (*Stack, error) {
	return newFrom(paths, "kwok/schedulers/go.mod", SchedulerGroups(), goMod, goSum, nil)
}

// NewHelmfile reads the parts list of the lane helmfile, kwok/helmfile/go.mod. It builds nothing.
// Archive and Install are not for it.
func NewHelmfile(paths host.Paths, goMod, goSum []byte) (*Stack, error) {
	return newFrom(paths, "kwok/helmfile/go.mod", HelmfileGroups(), goMod, goSum, nil)
}

// NewKarpenter reads the parts list of Karpenter, kwok/karpenter/go.mod, with the Go files beside it, which are
// embedded/karpenter among the sources (kwok.KarpenterSources). It builds nothing. Archive and Install are not for it.
func NewKarpenter(paths host.Paths, goMod, goSum []byte, sources fs.FS) (*Stack, error) {
	files, err := Sources(sources, "embedded/karpenter")
	if err != nil {
		return nil, fmt.Errorf("read the stack's own programs: %w", err)
	}
	return newFrom(paths, "kwok/karpenter/go.mod", []Group{GroupKarpenter}, goMod, goSum, files)
}

// NewOperator reads the parts list of an operator of recipes, kwok/operators/NAME/go.mod: they are
// made for different versions of Kubernetes' libraries, so each has its own. Sources are the Go files
// beside it, by their paths. It builds nothing. Archive and Install are not for it.
func NewOperator(paths host.Paths, name string, group Group, goMod, goSum []byte, sources map[string][]byte) (*Stack, error) {
	return newFrom(paths, "kwok/operators/"+name+"/go.mod", []Group{group}, goMod, goSum, sources)
}

// Has reports whether a group is one of its parts.
func (s *Stack) Has(g Group) bool { return slices.Contains(s.groups, g) }

func newFrom(paths host.Paths, list string, groups []Group, goMod, goSum []byte, sources map[string][]byte) (*Stack, error) {
	f, err := modfile.Parse(list, goMod, nil)
	if err != nil {
		return nil, fmt.Errorf("read the stack's parts list: %w", err)
	}
	s := &Stack{work: &work{}, groups: groups, mod: goMod, sum: goSum, sources: sources, versions: map[string]string{}}
	for _, r := range f.Require {
		s.versions[r.Mod.Path] = r.Mod.Version
	}
	tools := map[string]bool{}
	for _, t := range f.Tool {
		tools[t.Path] = true
	}
	for _, g := range groups {
		for _, p := range g.Parts() {
			if !tools[p.Package] || s.versions[p.Module] == "" {
				return nil, fmt.Errorf("%s: no tool line or no version for %s (the %s binary)", list, p.Package, p.Name)
			}
			if p.Main != "" && sources[p.Main+"/main.go"] == nil {
				return nil, fmt.Errorf("%s: no %s/main.go beside it (the %s binary)", list, p.Main, p.Name)
			}
		}
	}
	h := sha256.New()
	content := [][]byte{[]byte(stackLayout), goMod, goSum}
	for _, g := range groups {
		for _, p := range g.Parts() {
			if p.Change.File != "" {
				content = append(content, []byte(p.Name), []byte(p.Change.File), []byte(p.Change.Old), []byte(p.Change.New))
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(sources)) {
		content = append(content, []byte(name), sources[name])
	}
	for _, b := range content {
		_, _ = fmt.Fprintf(h, "%d\n", len(b))
		_, _ = h.Write(b)
	}
	key := hex.EncodeToString(h.Sum(nil))[:16]
	s.Dir = filepath.Join(paths.Stack(), key+"-"+runtime.GOOS+"-"+runtime.GOARCH)
	return s, nil
}

// Bin is the path of a binary, whether it exists yet or not.
func (s *Stack) Bin(name string) string {
	if s.elsewhere(name) {
		return s.kubernetes.Bin(name)
	}
	return s.program(name)
}

// HasCRDs reports whether CRDs come with a group.
func (g Group) HasCRDs() bool { return len(crdSets(g)) > 0 }

// CRDs is the directory of a group's CRDs, whether it exists yet or not.
func (s *Stack) CRDs(g Group) string {
	dir := filepath.Join(s.Dir, "crds", string(g))
	for _, set := range crdSets(g) {
		if slices.Contains(s.named, set.module) {
			dir += "-" + s.versions[set.module]
		}
	}
	return dir
}

// Version of a module of the stack, e.g. v1.36.1 for k8s.io/kubernetes.
func (s *Stack) Version(module string) string { return s.versions[module] }

// KubeVersion is the version of the control plane.
func (s *Stack) KubeVersion() string {
	if s.kubernetes != nil {
		return s.kubernetes.KubeVersion()
	}
	return s.versions[kubernetesModule]
}

// PartVersion is one line of `matrix version`.
type PartVersion struct {
	Name    string `json:"name"`
	Module  string `json:"module"`
	Version string `json:"version"`
	Built   bool   `json:"built"`
	// Pulled says which image it came out of; nil if it was compiled, or is not built.
	Pulled *Pulled `json:"pulled,omitempty"`
	// From says where it will come from, if it is not built: an image, or why it is compiled.
	From string `json:"from,omitempty"`
}

// Versions lists every part.
func (s *Stack) Versions() []PartVersion {
	var all []PartVersion
	for _, g := range s.groups {
		for _, p := range g.Parts() {
			_, err := os.Stat(s.Bin(p.Name))
			version := s.versions[p.Module]
			if s.elsewhere(p.Name) {
				version = s.KubeVersion()
			}
			v := PartVersion{Name: p.Name, Module: p.Module, Version: version, Built: err == nil, Pulled: s.recordOf(p.Name)}
			if v.Pulled != nil && v.Pulled.Shared != "" {
				v.Version = "as with " + v.Pulled.Shared
			}
			if !v.Built {
				v.From = s.from(p)
			}
			all = append(all, v)
		}
	}
	return all
}

// Missing returns the parts of the groups that are not built.
func (s *Stack) Missing(groups ...Group) []Part {
	var missing []Part
	for _, g := range groups {
		for _, p := range g.Parts() {
			if _, err := os.Stat(s.Bin(p.Name)); err != nil {
				missing = append(missing, p)
			}
		}
	}
	return missing
}
