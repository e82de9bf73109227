package result

// Scheduling describes how the pods of a cell got their nodes, from the deployment to the cell's
// end. It includes pods of probes, and those that were created again after chaos. Times are in
// milliseconds since the start of the deployment.
type Scheduling struct {
	// Pods is how many were created, Placed how many of them got a node.
	Pods   int `json:"pods"`
	Placed int `json:"placed"`
	// Median, P90 and Max are from a pod's creation to its node, in milliseconds.
	Median int64 `json:"medianMs"`
	P90    int64 `json:"p90Ms"`
	Max    int64 `json:"maxMs"`
	// MeanOccupancy and PeakOccupancy are in percent of the GPUs; the mean is over the time in
	// which a pod held a GPU or waited for one.
	MeanOccupancy float64 `json:"meanOccupancyPercent"`
	PeakOccupancy float64 `json:"peakOccupancyPercent"`
	// Fragmented is the most GPUs that were free at a time, on nodes with fewer free ones than any
	// waiting pod needed.
	Fragmented int `json:"fragmentedGPUs"`
	// Domains are the pods by topology domain; none if no node has a label that names one.
	Domains []PlacedDomain `json:"domains,omitempty"`
	// Moments are the GPUs over time, at equal distances.
	Moments GPUMoments `json:"moments"`
	// Rows are the nodes over time. With many nodes a row is several of them.
	Rows []NodeRow `json:"rows,omitempty"`
}

// PlacedDomain is the pods of a block or a spine.
type PlacedDomain struct {
	Kind  string `json:"kind"` // block or spine
	Name  string `json:"name"`
	Nodes int    `json:"nodes"`
	Pods  int    `json:"pods"`
}

// GPUMoments are numbers of GPUs at moments that are Every milliseconds apart, from 0 on. All lists
// have the same length.
type GPUMoments struct {
	Every int64 `json:"everyMs"`
	// GPUs are those of all nodes, Taken are held by pods, Waiting are asked for by pods without a
	// node, Useless are free and fit no such pod.
	GPUs    []int `json:"gpus"`
	Taken   []int `json:"taken"`
	Waiting []int `json:"waiting"`
	Useless []int `json:"useless"`
}

// NodeRow is a node over time, or several neighbours by name and their mean.
type NodeRow struct {
	Name string `json:"name"`
	// Nodes is how many they are, Pods how many pods were placed on them.
	Nodes int `json:"nodes"`
	Pods  int `json:"pods"`
	// Taken has a letter for each of the moments: how many tenths of the GPUs were taken at most,
	// from 0 to 9 and a for all, and - where the nodes took no pods or have no GPUs.
	Taken string `json:"taken"`
}
