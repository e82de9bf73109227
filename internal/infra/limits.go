package infra

// Feature is something that a user may ask for and that not every platform has.
type Feature int

// The features.
const (
	// Programs run for the pods with their images.
	Programs Feature = iota
	// SidePrograms are second schedulers and controllers of jobs, which run beside a cluster.
	SidePrograms
	// ImageArchive is a file with the images that clusters are made of.
	ImageArchive
	// DirectCharts are pulled by controllers from repositories that may be on this machine.
	DirectCharts
	// ReusedCluster is one cluster for all cells of a run.
	ReusedCluster
	// KeptClusters stay after the run.
	KeptClusters
	// ParallelCells are more cells at a time than one.
	ParallelCells
	// ClustersAhead are started for the next cells while others run.
	ClustersAhead
	// Chaos breaks the nodes and pods of a cell.
	Chaos
	// Deliverers are programs of this machine that deliver a bundle: helmfile.
	Deliverers
	// OtherKubernetes is a control plane of another minor version.
	OtherKubernetes
	// OtherArgoCD is another version of Argo CD.
	OtherArgoCD
	// OtherFlux is another version of Flux.
	OtherFlux
	// Snapshots are the states of failed cells' clusters, for `matrix replay`.
	Snapshots
)

// Limits are what a platform cannot do, and what its cells take of the machine.
type Limits struct {
	// Lacks has each feature that the platform lacks, with the reason: what follows "does not work
	// with --platform NAME: ". LacksReused has those that it lacks besides when all cells run in one
	// cluster.
	Lacks, LacksReused map[Feature]string
	// Cores is how many cores a cell keeps busy.
	Cores int
	// Cells is how many cells run at a time, as far as there are cores, unless the user asks for
	// more; 0 for no such number.
	Cells int
	// Compiled: what clusters are made of is compiled on this machine, which takes Go.
	Compiled bool
}
