// Package clusterstate keeps the state of a cluster as a file: every key that the API server has in
// etcd, at one revision, with the values of Secrets replaced.
//
// It is not a copy of etcd's database. That file keeps old revisions and freed pages, so a value
// that was replaced by a write is still in it; here only what was read and redacted is ever
// written. The price is that keys get new revisions when they are loaded, and objects with them new
// resourceVersions. Their order stays.
package clusterstate

import (
	"errors"
	"fmt"
	"runtime/debug"
	"time"
	"unicode"

	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/version"
)

// Format is the version of the file's format that this program writes and reads.
const Format = 1

// ErrUnusable is what every error of ReadFile wraps when the file is there, but is not a whole
// snapshot of a format that this program knows.
var ErrUnusable = errors.New("not a usable snapshot")

// About is what the taker says about a snapshot.
type About struct {
	// Cluster is the cluster's name.
	Cluster string `json:"cluster"`
	// Kubernetes is the version of the API server, e.g. v1.36.2.
	Kubernetes string `json:"kubernetes"`
	// Cell is what the cluster was for, e.g. eks-training/helm; Verdict is how that ended. Both may
	// be empty.
	Cell    string `json:"cell,omitempty"`
	Verdict string `json:"verdict,omitempty"`
}

// Info is the head of a snapshot's file.
type Info struct {
	Format int `json:"format"`
	About
	// Harness is the version of the program that took it, as the Go toolchain calls it; devel if it
	// does not know.
	Harness string    `json:"harness"`
	Taken   time.Time `json:"taken"`
	// Revision of etcd at which everything was read.
	Revision int64 `json:"revision"`
	// Keys is the number of records; Secrets how many of them are Secrets, all with their values
	// replaced.
	Keys    int `json:"keys"`
	Secrets int `json:"secrets"`
	// LeftOut are keys of Secrets that could not be decoded, and so are not in the snapshot.
	LeftOut []string `json:"leftOut,omitempty"`
}

// Record is a key and its value, as the API server stores it.
type Record struct {
	Key   string
	Value []byte

	written int64 // the revision of etcd at which the value was written; not kept in the file, whose order says enough
}

// Snapshot is a cluster's state, the oldest write first. Take and ReadFile make one; neither gives
// one with a Secret's values in it.
type Snapshot struct {
	Info
	Records []Record
}

// CheckKubernetes says whether a control plane of version have can serve the snapshot. Patch
// releases never change how objects are stored, so another one is only worth a warning; across
// minor releases kinds appear and vanish, and what is seen would not be what was.
func (i Info) CheckKubernetes(have string) (warning string, err error) {
	theirs, err := version.ParseSemantic(i.Kubernetes)
	if err != nil {
		return "", fmt.Errorf("%w: it says that it is of Kubernetes %q: %w", ErrUnusable, i.Kubernetes, err)
	}
	ours, err := version.ParseSemantic(have)
	if err != nil {
		return "", fmt.Errorf("read the version of the stack: %w", err)
	}
	if theirs.EqualTo(ours) {
		return "", nil
	}
	if theirs.Major() != ours.Major() || theirs.Minor() != ours.Minor() {
		return "", fmt.Errorf("the snapshot is of Kubernetes %s and this program has %s; replay it with the version of matrix that took it (%s)",
			i.Kubernetes, have, i.Harness)
	}
	return fmt.Sprintf("the snapshot is of Kubernetes %s, replayed with %s", i.Kubernetes, have), nil
}

// check refuses a head that this program would not have written. Snapshots come out of other
// people's CI artifacts: the cluster's name becomes part of a path, and the rest goes to a
// terminal.
func (i Info) check() error {
	if i.Format != Format {
		return fmt.Errorf("its format is %d; this program reads format %d (it was taken with matrix %q)", i.Format, Format, i.Harness)
	}
	if problems := validation.IsDNS1123Subdomain(i.Cluster); len(problems) > 0 {
		return fmt.Errorf("its cluster is named %q: %s", i.Cluster, problems[0])
	}
	for _, text := range append([]string{i.Kubernetes, i.Cell, i.Verdict, i.Harness}, i.LeftOut...) {
		for _, r := range text {
			if !unicode.IsPrint(r) {
				return fmt.Errorf("its head has a character that cannot be printed: %q", text)
			}
		}
	}
	return nil
}

func harness() string {
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" && info.Main.Version != "(devel)" {
		return info.Main.Version
	}
	return "devel"
}
