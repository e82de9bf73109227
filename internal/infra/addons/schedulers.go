// Package addons runs second schedulers, and the controllers whose Jobs they place, beside a
// control plane: the real programs, as host processes, each with its own configuration. It
// knows programs on the scheduler framework, and what each needs in a cluster. It must not know
// workflows, recipes, or which platform made the cluster.
package addons

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	"github.com/nvidia/aicr-action/internal/infra/host"
	"github.com/nvidia/aicr-action/internal/infra/simulate"
	"github.com/nvidia/aicr-action/internal/infra/stack"
	"github.com/nvidia/aicr-action/internal/util/filesys"
	"github.com/nvidia/aicr-action/kwok"
)

// Scheduler is a program to run: a second scheduler, or a controller.
type Scheduler struct {
	// Name is what people call it, e.g. coscheduling.
	Name string
	// Path is its executable file.
	Path string
	// CRDs is a directory of definitions that it needs; empty: none.
	CRDs string

	controllers []string // on whose objects Kueue works too

	group   stack.Group    // that has to be built; empty for a program of the user's own
	version string         // of its module; empty likewise
	config  map[string]any // a KubeSchedulerConfiguration, or the Configuration of Kueue or of a controller
}

// Admits reports whether it decides when objects may start, by webhooks and by suspending them, and
// leaves the placing of pods to the default scheduler.
func (s Scheduler) Admits() bool { return s.Name == kueue && len(s.Profiles()) == 0 }

// Controls reports whether it is a controller, which creates Jobs for its own kinds, and does not
// place pods.
func (s Scheduler) Controls() bool {
	_, ok := controllers[s.Name]
	return ok && len(s.Profiles()) == 0
}

// Webhooks reports whether the API server has to call its webhooks.
func (s Scheduler) Webhooks() bool { return s.Admits() || s.Controls() }

// String is what it is, and its name.
func (s Scheduler) String() string {
	if s.Controls() {
		return "controller " + s.Name
	}
	return "scheduler " + s.Name
}

// shipped are the schedulers that are compiled when they are needed: their groups, by their names.
var shipped = map[string]stack.Group{"coscheduling": stack.GroupCoscheduling, kueue: stack.GroupKueue}

const kueue = "kueue"

// Shipped are the names of the schedulers that are compiled when they are needed, sorted.
func Shipped() []string { return slices.Sorted(maps.Keys(shipped)) }

// New describes a shipped scheduler, whose program is in the stack once its group is built.
func New(name string, built *stack.Stack) (Scheduler, error) {
	group, ok := shipped[name]
	if !ok {
		return Scheduler{}, fmt.Errorf("there is no scheduler %q; there are: %v", name, Shipped())
	}
	return describe(name, group, built)
}

// NewController describes a shipped controller in the same way.
func NewController(name string, built *stack.Stack) (Scheduler, error) {
	group, ok := controllers[name]
	if !ok {
		return Scheduler{}, fmt.Errorf("there is no controller %q; there are: %v", name, Controllers())
	}
	return describe(name, group, built)
}

// Groups are what has to be built of the shipped ones among these.
func Groups(all []Scheduler) []stack.Group {
	var groups []stack.Group
	for _, s := range all {
		if s.group != "" {
			groups = append(groups, s.group)
		}
	}
	return groups
}

func describe(name string, group stack.Group, built *stack.Stack) (Scheduler, error) {
	file := "scheduling/" + name + ".yaml"
	raw, err := kwok.Files.ReadFile(file)
	if err != nil {
		return Scheduler{}, err
	}
	var config map[string]any
	if group == stack.GroupCoscheduling {
		config, err = readConfig("kwok/"+file, raw)
	} else {
		err = yaml.Unmarshal(raw, &config)
	}
	return Scheduler{Name: name, Path: built.Bin(group.Parts()[0].Name), CRDs: built.CRDs(group), group: group, version: built.Version(group.Parts()[0].Module), config: config}, err
}

// maxConfig is the largest configuration that is read, in bytes.
const maxConfig = 1 << 20

// FromProgram describes a user's scheduler: the schedulerName of its pods, an executable file, and
// a file with a KubeSchedulerConfiguration that has a profile of that name. Without such a file,
// the program gets a configuration with only that profile.
func FromProgram(name, path, file string) (Scheduler, error) {
	if name == "" || path == "" {
		return Scheduler{}, fmt.Errorf("%q: want NAME=FILE, the name that pods ask for and an executable file", name+"="+path)
	}
	path, err := filepath.Abs(path)
	if err != nil {
		return Scheduler{}, err
	}
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return Scheduler{}, fmt.Errorf("the program of scheduler %s: %w", name, err)
	case !host.Executable(info):
		return Scheduler{}, fmt.Errorf("the program of scheduler %s, %s, is not an executable file", name, path)
	}
	var raw []byte
	if file == "" {
		file = "scheduler " + name
		raw, err = simulate.SchedulerConfig("", []string{name})
	} else {
		raw, err = filesys.File(file, maxConfig)
	}
	if err != nil {
		return Scheduler{}, fmt.Errorf("the configuration of scheduler %s: %w", name, err)
	}
	config, err := readConfig(file, raw)
	if err != nil {
		return Scheduler{}, err
	}
	s := Scheduler{Name: name, Path: path, config: config}
	if !slices.Contains(s.Profiles(), name) {
		return Scheduler{}, fmt.Errorf("%s: no profile has the schedulerName %s; it has: %v", file, name, s.Profiles())
	}
	return s, nil
}

func readConfig(file string, raw []byte) (map[string]any, error) {
	var config map[string]any
	if err := yaml.Unmarshal(raw, &config); err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	if config["kind"] != "KubeSchedulerConfiguration" {
		return nil, fmt.Errorf("%s: want a KubeSchedulerConfiguration, and its kind is %v", file, config["kind"])
	}
	names := simulate.SchedulerNames(config)
	if len(names) == 0 {
		return nil, fmt.Errorf("%s: no profile has a schedulerName, by which pods ask for it", file)
	}
	if slices.Contains(names, corev1.DefaultSchedulerName) {
		return nil, fmt.Errorf("%s: a profile is for %s, whose pods the cluster's own scheduler places; give it another schedulerName", file, corev1.DefaultSchedulerName)
	}
	return config, nil
}

// Profiles are the names by which pods select the scheduler; none for one that Admits.
func (s Scheduler) Profiles() []string { return simulate.SchedulerNames(s.config) }

// complete is the configuration with the harness's own settings: the cluster's kubeconfig, and no
// leader election, since only one process runs.
func (s Scheduler) complete(kubeconfig string) ([]byte, error) {
	raw, err := simulate.SchedulerConfig(kubeconfig, nil)
	if err != nil {
		return nil, err
	}
	var set map[string]any
	if err := yaml.Unmarshal(raw, &set); err != nil {
		return nil, err
	}
	delete(set, "profiles")
	for key, value := range s.config {
		if key != "clientConnection" && key != "leaderElection" && key != "enableProfiling" {
			set[key] = value
		}
	}
	return yaml.Marshal(set)
}

// Twice returns an error for a name that two of these schedulers have, or that one of them has and
// is taken.
func Twice(all []Scheduler, taken []string) error {
	seen := slices.Clone(taken)
	for _, s := range all {
		for _, name := range s.Profiles() {
			if slices.Contains(seen, name) {
				return errors.New("two schedulers would place the pods of " + name + "; leave one out")
			}
			seen = append(seen, name)
		}
	}
	return nil
}
