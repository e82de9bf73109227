// Package result is the outcome of a run as data: cells, verdicts, findings, placements. It is a
// leaf: it knows no cluster, no Helm and no deployer, so that reports and other programs that read
// results need none of them.
package result

import (
	"fmt"
	"strings"
)

// Ref names an object of a cluster.
type Ref struct {
	// Group is the API group; empty for the core group, and where it is not known.
	Group string `json:"group,omitempty"`
	Kind  string `json:"kind"`
	// Namespace is empty for cluster-scoped kinds.
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name"`
}

// String is "Deployment cert-manager/cert-manager" or "ClusterRole view", with the group behind the
// kind if the kind is not one of Kubernetes' own.
func (r Ref) String() string {
	kind := r.Kind
	if strings.Contains(r.Group, ".") && !strings.HasSuffix(r.Group, ".k8s.io") {
		kind += "." + r.Group
	}
	if r.Namespace == "" {
		return kind + " " + r.Name
	}
	return kind + " " + r.Namespace + "/" + r.Name
}

// Place is where something is set: a line of a file, and the value path in it.
type Place struct {
	// File as a person can open it: the recipes directory as given, then the path in it. Empty:
	// unknown.
	File string `json:"file,omitempty"`
	// Line counts from 1; 0 if unknown.
	Line int `json:"line,omitempty"`
	// Path is the value path, e.g. controller.nodeSelector; empty if the place is no value.
	Path string `json:"path,omitempty"`
}

// String is file:line, the form that editors and GitHub annotations understand; empty for the zero
// place.
func (p Place) String() string {
	if p.File == "" || p.Line == 0 {
		return p.File
	}
	return fmt.Sprintf("%s:%d", p.File, p.Line)
}
