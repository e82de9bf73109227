package placement

// Result is how the pods of one workflow were placed. Times are in milliseconds since the workflow
// started.
type Result struct {
	// Nodes are those that had GPUs or one of the pods, by name.
	Nodes []NodeUse `json:"nodes"`
	// Domains are the pods by topology domain; none if no node has a block or spine label.
	Domains []DomainUse `json:"domains,omitempty"`
	Jobs    []Job       `json:"jobs"`
	// Pods is how many belong to the jobs, Placed how many of them got a node, OtherPods how many
	// others were in the cluster.
	Pods      int `json:"pods"`
	Placed    int `json:"placed"`
	OtherPods int `json:"otherPods"`
	// TimeToSchedule is from a pod's creation to its node.
	TimeToSchedule Spread `json:"timeToScheduleMs"`
	// Occupancy is over time, at most mostSamples points.
	Occupancy []Sample `json:"occupancy"`
	// MeanOccupancy and PeakOccupancy are in percent of the GPUs; the mean is over the time in
	// which a pod held a GPU or waited for one.
	MeanOccupancy float64 `json:"meanOccupancyPercent"`
	PeakOccupancy float64 `json:"peakOccupancyPercent"`
	// Fragmentation is the most GPUs that were free at a time and useless for every pod that
	// waited: no node had enough of them.
	Fragmentation int  `json:"fragmentedGPUs"`
	Gangs         Gang `json:"gangs"`

	picture [][]float64
	rows    []string
	end     int64
}

// NodeUse is how one node was used.
type NodeUse struct {
	Name  string `json:"name"`
	Block string `json:"block,omitempty"`
	Spine string `json:"spine,omitempty"`
	GPUs  int    `json:"gpus"`
	// Pods are those of the jobs that were placed on it; PeakGPUs is how many GPUs were taken at a
	// time, by any pod.
	Pods     int `json:"pods"`
	PeakGPUs int `json:"peakGPUs"`
	// Occupancy is the mean in percent of its GPUs over the workflow.
	Occupancy float64 `json:"occupancyPercent"`
}

// DomainUse is the pods of one topology domain.
type DomainUse struct {
	Kind  string `json:"kind"` // block or spine
	Name  string `json:"name"`
	Nodes int    `json:"nodes"`
	Pods  int    `json:"pods"`
}

// Job is one object that was submitted, and its pods.
type Job struct {
	Name      string `json:"name"`
	Namespace string `json:"namespace"`
	// Task is the id of the task that submitted it.
	Task string `json:"task"`
	// Wanted is the podCount, 0 if there is none; Pods how many were seen; Placed how many got a
	// node.
	Wanted int `json:"wanted"`
	Pods   int `json:"pods"`
	Placed int `json:"placed"`
	GPUs   int `json:"gpus"`
	// Scheduled is from the first pod's creation to the last pod's node; -1 if a pod has none.
	Scheduled int64 `json:"scheduledMs"`
	// HalfPlaced is how long some of its pods had a node and others had none, in milliseconds.
	HalfPlaced int64 `json:"halfPlacedMs"`
	// Blocks and Spines are how many of them its pods are in. Distance is the mean over pairs of
	// its pods: 0 on one node, 1 in one block, 2 under one spine, 3 otherwise. It is -1 if fewer
	// than two pods are placed, or the nodes have no such labels.
	Blocks   int     `json:"blocks"`
	Spines   int     `json:"spines"`
	Distance float64 `json:"distance"`
	// Waiting is the scheduler's message about one pod without a node.
	Waiting string `json:"waiting,omitempty"`
}

// Gang counts the jobs of more than one pod by how they were placed.
type Gang struct {
	Jobs int `json:"jobs"`
	// Whole counts jobs of which every pod got a node, None those of which no pod did. Half counts
	// those of which some did and others never did: they hold GPUs in vain.
	Whole int `json:"whole"`
	Half  int `json:"half"`
	None  int `json:"none"`
	// LongestHalf is the longest time that a job was half placed, in milliseconds.
	LongestHalf int64 `json:"longestHalfMs"`
}

// Spread is a distribution of times, in milliseconds.
type Spread struct {
	Median int64 `json:"median"`
	P90    int64 `json:"p90"`
	Max    int64 `json:"max"`
	// PerSecond is how many pods were placed per second, from the first creation to the last
	// placement.
	PerSecond float64 `json:"podsPerSecond"`
}

// Sample is the cluster at one moment.
type Sample struct {
	At int64 `json:"ms"`
	// GPUs are those of all nodes, Taken are held by pods, Waiting are asked for by pods without a
	// node, Useless are free and fit no such pod.
	GPUs    int `json:"gpus"`
	Taken   int `json:"taken"`
	Waiting int `json:"waiting"`
	Useless int `json:"useless"`
	// Pods run or start; Pending have no node.
	Pods    int `json:"pods"`
	Pending int `json:"pending"`
}
