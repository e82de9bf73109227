package lane

import "k8s.io/apimachinery/pkg/runtime/schema"

// Artifacts is what a lane's failed cell leaves in addition to what every cell leaves. The files
// and the list of what to open next are made from it.
type Artifacts struct {
	Dumps []ObjectDump
	Logs  []LogTail
	// Own is the reason to open the harness's log, for a lane whose releases the harness itself
	// delivers; empty for the others.
	Own string
}

// ObjectDump is a file with the deployer's own objects, as kubectl get -o yaml prints them.
type ObjectDump struct {
	Name, What string
	Namespace  string // empty: all
	Resources  []schema.GroupVersionResource
}

// LogTail is a file with the end of a controller's log.
type LogTail struct {
	Name, What string
	Component  string // the controller, as Cluster.Tail takes it
	// Pulls means that the controller fetches and renders; otherwise it applies. Lead is why to
	// open the log.
	Pulls bool
	Lead  string
	// Kind is the kind of object that the controller handles, if there is one. Its log comes first
	// when such an object is the first cause.
	Kind string
}
