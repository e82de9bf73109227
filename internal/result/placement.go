package result

// Placement has the node of each pod at the gate's last poll.
type Placement struct {
	Nodes []PlacedNode `json:"nodes"`
	// Unplaced are the pods that no node has.
	Unplaced []PodGroup `json:"unplaced,omitempty"`
}

// Span is the time in which the workloads of a component became ready, in milliseconds since the cell's start.
type Span struct {
	Component string `json:"component"`
	From      int64  `json:"fromMs"`
	Until     int64  `json:"untilMs"`
	// Ready: all were ready at Until. Otherwise Until is when the gate last looked.
	Ready bool `json:"ready"`
}

// PlacedNode is a node and the pods on it. In a large cluster it represents all nodes that differ
// only in their names and zones.
type PlacedNode struct {
	Name string `json:"name"`
	// Alike is how many nodes it represents, itself included, and Names are their names, in ranges
	// such as "accelerated-0 to accelerated-999". Zone is then a list, and the names of pods are
	// those of the node Name. Alike is 0 and Names is empty for a single node.
	Alike    int      `json:"alike,omitempty"`
	Names    []string `json:"names,omitempty"`
	Kind     string   `json:"kind"` // system or accelerated
	Instance string   `json:"instance,omitempty"`
	Zone     string   `json:"zone,omitempty"`
	// GPUProduct is what the GPUs are called, GPUs how many there are, GPUsTaken how many pods
	// asked for.
	GPUProduct string `json:"gpuProduct,omitempty"`
	GPUs       int    `json:"gpus,omitempty"`
	GPUsTaken  int    `json:"gpusTaken,omitempty"`
	// CPU and Memory are what pods asked for, in percent of what the node has, rounded up.
	CPU    int        `json:"cpuPercent"`
	Memory int        `json:"memoryPercent"`
	Pods   []PodGroup `json:"pods,omitempty"`
}

// PodGroup is the pods of one workload on one node.
type PodGroup struct {
	Namespace string `json:"namespace"`
	// Workload is the kind and name at the top of the pods' owners, e.g. "DaemonSet
	// nvidia-driver-daemonset".
	Workload string `json:"workload"`
	// Component of the recipe; empty for what no chart of the recipe has.
	Component string   `json:"component,omitempty"`
	Pods      []string `json:"pods"`
	// More is how many there are besides those that Pods names: without a node, in a large cluster.
	More int `json:"more,omitempty"`
	GPUs int `json:"gpus,omitempty"`
	// Done: the pods have ended, and hold nothing of the node any more.
	Done bool `json:"done,omitempty"`
	// Misplaced: the workload belongs on nodes of another kind, which this names.
	Misplaced string `json:"misplaced,omitempty"`
}
