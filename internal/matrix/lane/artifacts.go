package lane

import "k8s.io/apimachinery/pkg/runtime/schema"

// Artifacts is what a lane's failed cell leaves beside what every cell leaves: data, from which the files and the list of what to open
// next are made.
type Artifacts struct {
	Dumps []ObjectDump
	Logs  []LogTail
	// Own is the lead of a lane whose releases the harness itself delivers: what its log has of that. Empty for the others.
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
	// Pulls: it fetches and renders; otherwise it applies. Lead is why to open it.
	Pulls bool
	Lead  string
	// Kind is the kind of object that it acts on, if there is one: its log comes first when such an object is the first cause.
	Kind string
}
