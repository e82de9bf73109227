// Package infra says what a cell needs of the place that it runs on: the interfaces Platform,
// Cluster, Registry and Controllers, and the clients of a cluster. It must not know which platform
// there is, how one starts anything, or what a recipe is. Platforms are packages below it.
package infra

import (
	"context"
	"log/slog"
	"path"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/infra/clusterstate"
	"github.com/nvidia/aicr-action/internal/infra/health"
	"github.com/nvidia/aicr-action/internal/result"
	"github.com/nvidia/aicr-action/internal/util/egress"
)

// Platform makes the clusters of cells. Whatever runs a cell does not know whether a cluster is
// host processes or containers.
type Platform interface {
	// Kind is the platform's name in results and on the command line.
	Kind() string
	// KubeVersion is the version of Kubernetes that its clusters have, e.g. v1.36.1.
	KubeVersion() string
	// APIs are what the API servers of its clusters serve, with and without these controllers'
	// CRDs.
	APIs() bundle.APIs
	// Needs makes sure that what clusters and these controllers are made of is on the machine, e.g.
	// compiles it. It starts nothing.
	Needs(ctx context.Context, controllers ...ControllerKind) error
	// Cluster describes a cluster. Its registry has its address from now on; nothing is started
	// before Cluster.Up.
	Cluster(spec Spec) (Cluster, error)
	// Simulates says which of a bundle's objects are stored and not acted on here, e.g. webhooks
	// that are not called: a line each.
	Simulates(objects []bundle.Object) []string
	// Plays reports whether a stand-in writes the status of the custom resources of a kind.
	Plays(kind schema.GroupVersionKind) bool
	// Fingerprint is what a verdict depends on besides the cell's own inputs, e.g. the versions of
	// what clusters are made of: platforms with the same one do the same with the same cell.
	Fingerprint() string
	// ServesGit is nil if its registries have a Git server: a push to http://PUSHHOST/PATH.git makes
	// a repository, which controllers find at http://PULLHOST/PATH.git (Registry.GitHosts).
	// Otherwise it says why not. Reasons: USAGE if no cluster of the platform has one, GIT_NOT_READY if this machine lacks
	// git.
	ServesGit() error
}

// ForeignProgram is a program of a cluster that came out of an image, and differs from the one that the
// harness would compile.
type ForeignProgram struct {
	Name, Image string
	// Pinned: by a digest of images.lock. Shared is the program in whose image it lies, whose maker chose
	// its version; empty for its own. Lacks is what a compiled one has; empty if it is the same.
	Pinned bool
	Shared string
	Lacks  string
}

// Differs says in what.
func (p ForeignProgram) Differs() string {
	text := "program " + p.Name + ": from the image " + p.Image
	if p.Shared != "" {
		text += ", in the version that the makers of " + p.Shared + " chose"
	}
	if p.Lacks != "" {
		text += ", without " + p.Lacks
	}
	if !p.Pinned {
		text += ", which images.lock does not pin (--allow-unpinned)"
	}
	return text
}

// Foreigner is a Platform whose clusters may have such programs.
type Foreigner interface {
	// ForeignPrograms are those of clusters with these controllers.
	ForeignPrograms(controllers ...ControllerKind) []ForeignProgram
}

// HelmRunner is a Platform that has the programs of Helm which a Deliverer runs.
type HelmRunner interface {
	// HelmVersion is the version of its Helm of a major version, such as v4.2.4.
	HelmVersion(major int) string
}

// ControllerKind names the software that a lane needs besides the control plane.
type ControllerKind string

// The kinds of controllers.
const (
	ArgoCDControllers ControllerKind = "argocd"
	FluxControllers   ControllerKind = "flux"
	// ApplicationSetControllers is the part of Argo CD that makes Applications of ApplicationSets;
	// it needs ArgoCDControllers beside it.
	ApplicationSetControllers ControllerKind = "argocd-applicationset"
	// HelmfileProgram is helmfile with helm, a program of this machine that delivers and ends. Its
	// Controllers are a Deliverer. It runs Helm 3, and Helm 4 where Helm4Program is there too.
	HelmfileProgram ControllerKind = "helmfile"
	// KarpenterProgram makes the nodes of a cluster's Spec.Groups. It starts and ends with the cluster, and no
	// lane asks for it.
	KarpenterProgram ControllerKind = "karpenter"
	// Helm4Program is the program of Helm 4. It has no Controllers.
	Helm4Program ControllerKind = "helm-4"
)

// KarpenterGroup and KarpenterKwokGroup are the API groups of what KarpenterProgram works on.
const (
	KarpenterGroup     = "karpenter.sh"
	KarpenterKwokGroup = "karpenter.kwok.sh"
)

// ControllerKinds are those that deliver. Each has its own deadlines, KWOK_<KIND>_SYNC_TIMEOUT and
// KWOK_<KIND>_ROOT_GRACE.
func ControllerKinds() []ControllerKind { return []ControllerKind{ArgoCDControllers, FluxControllers} }

// Spec describes a cluster for one cell.
type Spec struct {
	// Name is unique on the machine. Purpose is what `matrix cluster status` says that the cluster
	// is for.
	Name, Purpose string
	// Nodes are the simulated nodes, at first if there are Groups: nodes that are made for pods
	// which fit on none. Karpenter makes them (KarpenterProgram).
	Nodes  []*corev1.Node
	Groups []NodeGroup
	// Dir is the cell's own directory, for what the platform writes; it is removed after
	// Cluster.Down.
	Dir string
	Log *slog.Logger
	// Controllers are those that will be installed: a platform may get ready for them while the
	// cluster starts, and may have their CRDs there from the start. The cell gets no controller by
	// this alone.
	Controllers []ControllerKind
	// Egress, if set, is what the deployer's controllers may reach besides the cluster and its
	// registry.
	Egress *Egress
}

// Alike are the nodes, and one like those of each group: what all have in common is that of the provider.
func (s *Spec) Alike() []*corev1.Node {
	all := slices.Clone(s.Nodes)
	for i := range s.Groups {
		all = append(all, s.Groups[i].Node)
	}
	return all
}

// Egress is a way out, to chart repositories and to nothing else.
type Egress struct {
	// Repositories are the addresses of chart repositories that a recipe names.
	Repositories []string
	// Hosts are all that a download from there has to do with, as HOST:PORT.
	Hosts []string
	// Guard says which of them may be on this machine or in a private network; nil for all.
	Guard *egress.Guard
}

// Cluster is a Kubernetes cluster that a cell has to itself, with its registry. A lane cannot tell
// one implementation from another.
type Cluster interface {
	// Name of the cluster; files of evidence start with it.
	Name() string
	// Up starts the cluster, with its nodes and default storage, its stand-ins and its registry,
	// and returns once all of that is ready. Reasons: CLUSTER_FAILED, NODES_FAILED, PORT_TAKEN,
	// REGISTRY_NOT_READY, REGISTRY_UNREACHABLE, NO_SPACE.
	Up(ctx context.Context) error
	// Kubeconfig is the path of an admin kubeconfig. Clients are nil until the API server has
	// answered once.
	Kubeconfig() string
	Clients() *Clients
	Registry() Registry
	// Controllers are the controllers of a kind, not installed yet. An error: the platform has none
	// of that kind.
	Controllers(kind ControllerKind, o ControllerOptions) (Controllers, error)
	// PlaySchedulers has the kube-scheduler place the pods that ask for these schedulers too, by
	// its own rules, since their own pods are only simulated. It is called before Up.
	PlaySchedulers(names []string)
	// RunOperators has the operators among a bundle's objects run, as far as the platform is to and
	// can; it compiles those that are missing. It is called before Up. Reasons: USAGE if one is to run and cannot,
	// STACK_BUILD_FAILED, TOOLCHAIN_MISSING, NO_SPACE.
	RunOperators(ctx context.Context, objects []bundle.Object) (Operators, error)
	// Runs reports whether pods with this container run, so that a scheduler in one of them need
	// not be simulated.
	Runs(c *corev1.Container) bool
	// StartJobControllers starts these controllers, one after the other, and waits until they are
	// ready. Their webhooks are called for the objects of one namespace, and for nothing that is
	// written by other clients than the ones that it returns. Definitions that the cluster has are
	// used as they are; those that it lacks are installed. They end with the cluster. Reasons:
	// SCHEDULER_FAILED, CLUSTER_FAILED, PORT_TAKEN, NO_SPACE; INTERNAL if the platform has none.
	StartJobControllers(ctx context.Context, namespace string, names []string) (*JobControllers, error)
	// Complaints are what programs that run for pods of the recipe say of errors, and what the API
	// server says of devices that it did not take, a line each. Those about an object that the cause
	// of a failure names go before others.
	Complaints(cause string) []string
	// StandIns lists what was answered so far for components that are only simulated, e.g.
	// "Prometheus monitoring/main".
	StandIns() []string
	// Sandbox says what keeps the cluster's processes from the rest of this machine, a line each;
	// nil if they are not on it.
	Sandbox() []string
	// Proxies says for each controller of a kind whether it reaches the API server through a proxy,
	// a line each; nil without such controllers.
	Proxies(kind ControllerKind) []string
	// Died delivers each component that ended by itself.
	Died() <-chan *DeathError
	// Tail is the end of a component's log, at most so many lines; controllers and the registry
	// ("registry") are components too.
	Tail(ctx context.Context, component string, lines int) ([]byte, error)
	// CollectLogs writes the whole log of every component to dir. What could not be read is an
	// *UnreadError; the file says so in its place.
	CollectLogs(ctx context.Context, dir string) error
	// Snapshot writes the cluster's state at this moment to a file, the values of Secrets replaced:
	// what `matrix replay` boots from. Of about, the cluster fills in its own name and version.
	Snapshot(ctx context.Context, path string, about clusterstate.About) error
	// Keep lets the cluster outlive this program, usable at the same address, and leaves files with
	// it; see Attachment. Its controllers, registry and stand-ins end with this program.
	Keep(ctx context.Context, files map[string][]byte) error
	// Down removes it, and nothing else. After Keep it only gives back what does not stay.
	Down(ctx context.Context) error
	// Processes are what those of its processes on this machine took that have ended, sorted by
	// name: after Down all of them, but for what is kept.
	Processes() []result.ProcessUse
}

// Operators are what RunOperators makes of a bundle.
type Operators struct {
	// Lines say for each operator whether it runs, for people.
	Lines []string
	// Awaited are the bundle's objects that an operator which runs will report on.
	Awaited []Awaited
	// Jobs are the controllers of users' jobs among the operators that run.
	Jobs []JobController
}

// Awaited is an object whose operator runs, and the condition that is True once it has done its
// work; or, without one, the reason of the event by which the operator says that it leaves the object
// out, and the operator's image.
type Awaited struct {
	bundle.Object
	Condition string
	Rejects   string
	Operator  string
}

// Denial is what a ServiceAccount may not do, by the API server's authorization, and has never been
// allowed to.
type Denial struct {
	Account   string // NAMESPACE/NAME
	Verb      string
	Resource  string // plural, with its group and subresource
	Namespace string
	Count     int
}

// Contest is an object that ServiceAccounts write in turns.
type Contest struct {
	Resource        schema.GroupVersionResource
	Namespace, Name string
	Status          bool // only its status is meant
	// Writers are the accounts, as NAMESPACE/NAME, sorted.
	Writers []string
	// Turns is how often one wrote after another one, the last time at Last.
	Turns int
	Last  time.Time
}

// Contested is what a cluster can do where programs run for pods: say which objects they write in
// turns, as far as that goes on. A few turns are no fault.
type Contested interface {
	Contested() ([]Contest, error)
}

// Program is what runs on this machine for an image: a file, or what the image itself has.
type Program struct {
	// Image is the image exactly as pods name it.
	Image string
	// Command, if set, is the one command of the image that this is the program of: the image has others, whose
	// containers stay simulated.
	Command string
	// Path is an executable file; empty if the image is unpacked.
	Path string
	// Unpacked, if set, is the image: a pod's process has its files as its root.
	Unpacked *Unpacked
	// Args are the arguments that it gets before those of the container.
	Args []string
	// Listens are its flags and settings for addresses to listen on: the processes of a machine share
	// its ports, so each pod gets free ones.
	Listens []Listen
	// Config, if set, is its configuration file, which has settings of Listens.
	Config *ConfigFile
	// Off are its servers that do not run here.
	Off []Off
	// Noise are parts of the lines about errors that it logs only because nodes are simulated.
	Noise []string
}

// Unneeded is a program that was given for an image which no pod of a cell has, and the sentence about
// it.
type Unneeded struct{ Image, Text string }

// Of reports whether it is the program of a container.
func (p *Program) Of(c *corev1.Container) bool {
	return p.Image == c.Image && (p.Command == "" || len(c.Command) > 0 && path.Base(c.Command[0]) == p.Command)
}

// Off is a server of a program that would listen on a port which no setting names, and which the
// processes of a machine cannot share: the feature is switched off, and a stand-in answers for it.
type Off struct {
	// Gate is the feature, as in featureGates of the program's configuration file and in its flag
	// feature-gates.
	Gate string
	Port int
}

// CannotRun begins the message of a pod that is to run as a process and cannot, by its template alone.
const CannotRun = "this pod cannot run as a process: "

// ProbeFails begins the message of a pod that runs and whose readiness probe fails.
const ProbeFails = "its readiness probe fails: "

// PortTaken begins the message of a pod that waits for a port of this machine.
const PortTaken = "another program of this machine listens on port "

// Unpacked is an image whose files are on this machine.
type Unpacked struct {
	// Root is the directory with its files, which nobody changes.
	Root string `json:"-"`
	// Digest is that of the manifest, or of the index, that the image's name stands for.
	Digest string `json:"digest"`
	// What the image says of its process.
	Entrypoint []string `json:"entrypoint,omitempty"`
	Cmd        []string `json:"cmd,omitempty"`
	Env        []string `json:"env,omitempty"`
	WorkDir    string   `json:"workDir,omitempty"`
	User       string   `json:"user,omitempty"`
}

// ConfigFile is a configuration file that a program reads: an object of Kubernetes' form.
type ConfigFile struct {
	// Flag names the file, e.g. "config".
	Flag string
	// APIVersion and Kind are those of the file that a pod gets which names none.
	APIVersion, Kind string
	// Hosts are the paths of its settings for hosts to listen on, which is this machine only.
	Hosts []string
}

// Listen is a flag of a program that names a port, e.g. "web.listen-address" with the value
// ":8080", or a setting of its configuration file, e.g. "webhook.port".
type Listen struct {
	// Flag is empty for a program that has only the setting. Of both the flag counts.
	Flag string
	// Setting is the path of the field in Program.Config, with dots; empty for a program that has only
	// the flag.
	Setting string
	// Default is its value if it is not given, e.g. ":8080" or "6080"; empty if the program then does
	// not listen.
	Default string
}

// Registry is a cluster's OCI registry. It speaks plain HTTP.
type Registry interface {
	// PushHost is host:port as this program reaches it; PullHost as the controllers do. They need
	// not be the same.
	PushHost() string
	PullHost() string
	// GitHosts are the same for its Git server, if the platform serves Git. That may be another
	// server; push is known once the controllers that read Git are installed.
	GitHosts() (push, pull string)
	// Start serves; Stop ends that at once. It may be started again, and still has what was pushed.
	Start(ctx context.Context) error
	Stop()
}

// Controllers are the controllers of a deployer in one cluster.
type Controllers interface {
	// Install applies CRDs and configuration. Reasons: ARGOCD_… and FLUX_…,
	// REPOSITORY_SECRET_FAILED.
	Install(ctx context.Context) error
	// Start starts the controllers and waits until they are ready. Reasons: ARGOCD_NOT_READY,
	// FLUX_NOT_READY.
	Start(ctx context.Context) error
	// Unchanged reports whether what keeps a recipe from configuring the controllers is as it was
	// when they started. Reasons: DEPLOY_FAILED names what the recipe changed; CLUSTER_FAILED.
	Unchanged(ctx context.Context) error
	Stop()
}

// Delivery is what a Deliverer does with a bundle.
type Delivery int

// The deliveries: of a bundle that is new in the cluster, of one that is there already, and its
// removal.
const (
	FirstDelivery Delivery = iota
	SecondDelivery
	Removal
)

// Deliverer is a program that delivers a bundle and ends. Install and Start of it do nothing.
type Deliverer interface {
	Controllers
	// Deliver runs the program in the directory of a bundle, with the Helm of a major version, up to its end or that
	// of ctx. What it printed is returned, and is in the log of its component.
	Deliver(ctx context.Context, dir string, what Delivery, helm int) (said string, err error)
}

// ControllerOptions are what a lane tells its controllers.
type ControllerOptions struct {
	// Health is the health policy, for controllers that report the health of custom resources: Argo
	// CD gets a check for each of its kinds.
	Health health.Policy
	// Objects are settings of Argo CD that a lane brings, e.g. an AppProject. They are applied
	// before the policy that lets nobody write their like.
	Objects []*unstructured.Unstructured
	// Root is the name of the object that the lane applies and that delivers the rest, for
	// controllers that accept no other of its kind: Flux's Kustomization. Empty: none.
	Root string
	// Git is the address of the Git repository that has the bundle, as the controllers reach it.
	// Empty: they read no Git.
	Git string
}

// UnreadError: the content of a file of evidence could not be had. The file says so in its place.
type UnreadError struct{ Err error }

func (e *UnreadError) Error() string { return e.Err.Error() }
func (e *UnreadError) Unwrap() error { return e.Err }

// Text is what the file has in place of its content.
func (e *UnreadError) Text() string {
	return "could not be read: " + strings.TrimSpace(e.Err.Error()) + "\n"
}
