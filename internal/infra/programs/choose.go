package programs

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/infra"
	"github.com/nvidia/aicr-action/internal/infra/addons"
	"github.com/nvidia/aicr-action/internal/infra/podrun"
	"github.com/nvidia/aicr-action/internal/infra/stack"
	"github.com/nvidia/aicr-action/internal/result/reason"
	"github.com/nvidia/aicr-action/internal/util/lists"
	"github.com/nvidia/aicr-action/internal/util/reexec"
	"github.com/nvidia/aicr-action/internal/util/sandbox"
)

// Mode says which operators run.
type Mode string

// The modes: none; those that can; all that the table has a program for, and one that cannot is an
// error.
const (
	Simulated Mode = "simulated"
	Auto      Mode = "auto"
	Real      Mode = "real"
)

// ParseMode reads a mode; the empty text is Simulated.
func ParseMode(text string) (Mode, error) {
	if m := Mode(text); slices.Contains([]Mode{Simulated, Auto, Real}, m) {
		return m, nil
	}
	if text == "" {
		return Simulated, nil
	}
	return "", fmt.Errorf("%q: want %s, %s or %s", text, Real, Auto, Simulated)
}

// Set chooses the programs of cells.
type Set struct {
	Mode Mode
	// Given are the user's own programs (--program). They go before those of the table.
	Given []infra.Program
	// Stacks are what the programs of the table are compiled from.
	Stacks []*stack.Stack
	// Progress, if set, is told what is compiled.
	Progress infra.Progress
}

// Choice is what runs for a bundle.
type Choice struct {
	// Programs are for the images of pods, the given ones among them.
	Programs []infra.Program
	// Lines say for each operator of the bundle whether it runs, for people.
	Lines []string
	// Kinds are those whose stand-ins give way.
	Kinds []schema.GroupKind
	// Jobs are the controllers of users' jobs that run.
	Jobs []infra.JobController

	groups   []stack.Group
	roots    []root    // that processes have
	services []service // of pods that run
	// conditions are those that operators which run report of these kinds.
	conditions map[schema.GroupKind]string
	rejects    map[schema.GroupKind]rejecter // likewise, of the events
	without    []string                      // the operators that have no program
	unknown    []string                      // images of Deployments and StatefulSets that the table does not have
}

type service struct{ namespace, name string }

// root is the file system of a program that has its own.
type root struct {
	of   *stack.Stack
	part string // of the stack
	at   string // its path there
}

// pods is what a workload of a bundle makes pods of.
type pods struct {
	kind, namespace, name string
	template              corev1.PodTemplateSpec
}

func podsOf(o *unstructured.Unstructured) (pods, bool) {
	p := pods{kind: o.GetKind(), namespace: o.GetNamespace(), name: o.GetName()}
	switch p.kind {
	case "Deployment", "StatefulSet", "DaemonSet", "Job":
	default:
		return p, false
	}
	template, ok, err := unstructured.NestedMap(o.Object, "spec", "template")
	if err != nil || !ok {
		return p, false
	}
	err = runtime.DefaultUnstructuredConverter.FromUnstructured(template, &p.template)
	return p, err == nil // the API server says what is wrong with it
}

// Choose says what runs for a bundle with these objects. Reason USAGE: an operator is to run that
// the table has a program for, and it cannot. An operator without a program is simulated in every
// mode; Real says so first.
func (s *Set) Choose(objects []bundle.Object) (*Choice, error) {
	c := &Choice{Programs: slices.Clone(s.Given), conditions: map[schema.GroupKind]string{}, rejects: map[schema.GroupKind]rejecter{}}
	if s.Mode == Simulated || s.Mode == "" {
		return c, nil
	}
	var running []pods
	var missing []error
	for _, o := range objects {
		p, ok := podsOf(o.Object)
		if !ok || len(p.template.Spec.Containers) == 0 {
			continue
		}
		for i := range p.template.Spec.Containers {
			container := &p.template.Spec.Containers[i]
			row, version := rowOf(container)
			switch {
			case row == nil && !c.given(container) && stays(p.kind):
				c.unknown = append(c.unknown, shortName(container.Image))
			case row == nil, !row.runsAs(p.kind):
			default:
				runs, err := s.choose(c, row, version, container, p, objects)
				if runs && len(row.listens) > 0 {
					running = append(running, p)
				}
				missing = append(missing, err)
			}
		}
	}
	if err := errors.Join(missing...); err != nil {
		return nil, reason.New(reason.Usage, "--operators %s: %w", Real, err)
	}
	c.serve(running, objects)
	if s.Mode == Real {
		c.Lines = slices.Concat(c.summary(), c.Lines)
	}
	return c, nil
}

// summary says what a run that is to have real operators has not, in the first lines of its notes.
func (c *Choice) summary() []string {
	var all []string
	if without := lists.Unique(c.without); len(without) > 0 {
		all = append(all, fmt.Sprintf("--operators %s: %s SIMULATED, since there is no program for %s here (--program IMAGE, or IMAGE=FILE, gives one): nothing that only %s would decide is verified",
			Real, strings.Join(without, ", "), pronoun(without), pronoun(without)))
	}
	if unknown := lists.Unique(c.unknown); len(unknown) > 0 {
		all = append(all, fmt.Sprintf("--operators %s: not in the table of operators, so simulated: %s", Real, strings.Join(unknown, ", ")))
	}
	return all
}

func pronoun(of []string) string {
	if len(of) == 1 {
		return "it"
	}
	return "them"
}

// shortName is the last part of an image's repository.
func shortName(image string) string {
	image, _, _ = strings.Cut(image, "@")
	image = image[strings.LastIndex(image, "/")+1:]
	image, _, _ = strings.Cut(image, ":")
	return image
}

// stays reports whether a workload of a kind is to run for ever.
func stays(kind string) bool { return kind == "Deployment" || kind == "StatefulSet" }

// runsAs reports whether a program is one of a workload's kind: operators stay, what a Job runs ends.
// The image of an operator may have other programs, e.g. the validators of gpu-operator.
func (r *row) runsAs(kind string) bool {
	if r.job {
		return kind == "Job"
	}
	return stays(kind)
}

// given reports whether a container has a program already.
func (c *Choice) given(container *corev1.Container) bool {
	return slices.ContainsFunc(c.Programs, func(p infra.Program) bool { return p.Of(container) })
}

// programOf is the given program of a container, or else one that the table may have: what is asked here
// is whether a pod could run at all.
func (c *Choice) programOf(container *corev1.Container) (infra.Program, bool) {
	if i := slices.IndexFunc(c.Programs, func(p infra.Program) bool { return p.Of(container) }); i >= 0 {
		return c.Programs[i], true
	}
	return infra.Program{Image: container.Image}, true
}

// choose takes the program of a row for a container of these pods, if it can run.
func (s *Set) choose(c *Choice, row *row, version string, container *corev1.Container, p pods, objects []bundle.Object) (runs bool, err error) {
	what := fmt.Sprintf("operator %s (%s %s)", row.Name, p.kind, infra.NamespacedName(p.namespace, p.name))
	if row.job {
		what = fmt.Sprintf("%s (%s %s)", row.Name, p.kind, infra.NamespacedName(p.namespace, p.name))
	}
	image := container.Image
	given := slices.ContainsFunc(s.Given, func(g infra.Program) bool { return g.Image == image })
	why := row.why
	if c.given(container) {
		why = ""
	}
	if why == "" && row.at != "" && !c.given(container) {
		if err := sandbox.CanRoot(); err != nil {
			why = err.Error()
		}
	}
	if why == "" {
		why = podrun.Unsupported(&corev1.Pod{Spec: p.template.Spec}, func(of *corev1.Container) (infra.Program, bool) {
			if of.Image == image && row.at != "" && !c.given(container) {
				return infra.Program{Image: image, Unpacked: row.unpacked("")}, true
			}
			return c.programOf(of)
		})
	}
	if why == "" && row.cannot != nil {
		why = row.cannot(objects)
	}
	if why != "" && row.why != "" {
		c.without = append(c.without, row.Name)
	}
	if why != "" {
		if s.Mode == Real && row.hidden == "" && row.why == "" {
			return false, fmt.Errorf("%s cannot run for the image %s: %s", what, image, why)
		}
		c.Lines = append(c.Lines, what+": simulated, since it cannot run: "+why)
		return false, nil
	}
	switch {
	case given:
		for i := range c.Programs {
			if c.Programs[i].Image == image {
				c.Programs[i].Listens, c.Programs[i].Config, c.Programs[i].Off = row.listens, row.config, row.off
			}
		}
		c.Lines = append(c.Lines, what+": real, by --program")
	case row.hidden != "":
		if !c.given(container) {
			command, err := reexec.Process(row.hidden)
			if err != nil {
				return false, err
			}
			self, err := os.Executable() // another process than this one is to start it
			if err != nil {
				return false, err
			}
			c.Programs = append(c.Programs, infra.Program{Image: image, Command: row.command, Path: self, Args: command.Args[1:]})
		}
		c.Lines = append(c.Lines, what+": a stand-in does its work, as the pod's ServiceAccount")
	default:
		of := s.stackOf(row.group)
		if of == nil {
			return false, fmt.Errorf("%s: this program was made without it", what)
		}
		part := row.compiled()
		c.Lines = append(c.Lines, what+": real, "+versions(of.Version(part.Module), version))
		if !c.given(container) {
			program := infra.Program{Image: image, Command: row.command, Path: of.Bin(part.Name), Args: row.args, Listens: row.listens, Config: row.config, Off: row.off, Noise: row.noise}
			if row.at != "" {
				program.Path, program.Unpacked = "", row.unpacked(of.Root(part.Name))
				c.roots = append(c.roots, root{of, part.Name, row.at})
			}
			c.Programs = append(c.Programs, program)
			c.groups = append(c.groups, row.group)
		}
	}
	if row.controller != "" {
		if err := s.controls(c, row, given); err != nil {
			return false, err
		}
	}
	c.Kinds = append(c.Kinds, row.kinds...)
	for _, kind := range row.kinds {
		c.conditions[kind] = row.condition
	}
	for _, kind := range row.judges {
		c.rejects[kind] = rejecter{row.rejects, image}
	}
	return true, nil
}

// controls says that the controller of a row makes the pods of users' jobs.
func (s *Set) controls(c *Choice, row *row, given bool) error {
	of := s.stackOf(row.group)
	if of == nil {
		return nil // the user's own program runs
	}
	controller, err := addons.NewController(row.controller, of)
	if err != nil {
		return err
	}
	job := controller.Job()
	if given {
		job.Version = "of --program"
	}
	c.Jobs = append(c.Jobs, job)
	return nil
}

// versions says which version runs, and which one the image names if that is another.
func versions(have, want string) string {
	if want == "" || strings.TrimPrefix(have, "v") == strings.TrimPrefix(want, "v") {
		return have
	}
	return fmt.Sprintf("%s; its image is %s, and this program has only that version", have, want)
}

func (s *Set) stackOf(group stack.Group) *stack.Stack {
	i := slices.IndexFunc(s.Stacks, func(of *stack.Stack) bool { return of.Has(group) })
	if i < 0 {
		return nil
	}
	return s.Stacks[i]
}

// Build compiles what a choice needs and is not there yet. Reasons: STACK_BUILD_FAILED,
// TOOLCHAIN_MISSING, NO_SPACE.
func (s *Set) Build(ctx context.Context, c *Choice) error {
	for _, g := range c.groups {
		if err := s.stackOf(g).Build(ctx, s.Progress, g); err != nil {
			return err
		}
	}
	for _, r := range c.roots {
		if err := r.of.MakeRoot(r.part, r.at); err != nil {
			return reason.Wrap(infra.DiskReason(err, reason.StackBuildFailed), err)
		}
	}
	return nil
}

// unpacked is what stands for the image of a program with a root of its own, in a directory. Such
// images run their program as a user of their own (distroless' nonroot).
func (r *row) unpacked(dir string) *infra.Unpacked {
	return &infra.Unpacked{Root: dir, Entrypoint: []string{r.at}, User: "65532:65532"}
}

// serve finds the Services of the pods that run.
func (c *Choice) serve(running []pods, objects []bundle.Object) {
	for _, o := range objects {
		if o.Object.GetKind() != "Service" {
			continue
		}
		selector, _, err := unstructured.NestedStringMap(o.Object.Object, "spec", "selector")
		if err != nil || len(selector) == 0 {
			continue
		}
		s := labels.SelectorFromSet(selector)
		if slices.ContainsFunc(running, func(p pods) bool {
			return p.namespace == o.Object.GetNamespace() && s.Matches(labels.Set(p.template.Labels))
		}) {
			c.services = append(c.services, service{o.Object.GetNamespace(), o.Object.GetName()})
		}
	}
}
