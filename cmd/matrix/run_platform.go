package main

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/distribution/reference"
	"github.com/spf13/cobra"

	"github.com/nvidia/aicr-action/internal/cli"
	"github.com/nvidia/aicr-action/internal/infra"
	"github.com/nvidia/aicr-action/internal/infra/embedded"
	"github.com/nvidia/aicr-action/internal/infra/kind"
	"github.com/nvidia/aicr-action/internal/infra/podrun"
	"github.com/nvidia/aicr-action/internal/infra/programs"
	"github.com/nvidia/aicr-action/internal/infra/simulate"
	"github.com/nvidia/aicr-action/internal/result/reason"
	"github.com/nvidia/aicr-action/internal/util/sandbox"
)

// platformFlags choose where cells run.
type platformFlags struct {
	cluster string
	images  string
	reuse   bool
	// programs are IMAGE=FILE each; table is what check makes of them.
	programs []string
	table    []infra.Program
	// operators says which operators run; mode is what check makes of it.
	operators string
	mode      programs.Mode
	// kubernetes is the minor version of the control plane; empty for the stack's own.
	kubernetes string
	on         platform // which cluster names; check finds it
}

const (
	platformFlag  = "platform"
	programFlag   = "program"
	operatorsFlag = "operators"
)

// The variables of Kind clusters; the flag goes before its variable.
const (
	nodeImageVariable = "AICR_ACTION_KIND_NODE_IMAGE"
	imagesVariable    = "AICR_ACTION_KIND_IMAGES"
)

func (f *platformFlags) register(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.cluster, platformFlag, defaultPlatform().name, "where cells run: "+clusterHelp())
	cli.OldName(cmd, "cluster", platformFlag)
	cmd.Flags().StringArrayVar(&f.programs, programFlag, nil, "`IMAGE[=FILE]`: run the executable FILE, or what the image itself has, for pods with this image, instead of simulating them; an image alone is pulled (repeatable; docs/how-it-works.md, Pods that run)")
	cmd.Flags().StringVar(&f.operators, operatorsFlag, string(programs.Simulated), "operators of the recipe: simulated; auto, which runs those that can as processes, compiled when they are not in the cache; real, where an operator that has a program but cannot run is an error (docs/how-it-works.md, Operators that run)")
	cmd.Flags().StringVar(&f.kubernetes, kubernetesFlag, "", "run the control plane of another `minor` version, e.g. 1.34, compiled at first use; floor is the lowest that each recipe's constraint allows, newest the highest that there is (default: the stack's)")
	f.registerImages(cmd)
	cmd.Flags().BoolVar(&f.reuse, "reuse-cluster", false, "with --platform kind: run all cells in the one cluster that KWOK_CLUSTER names, one after another. It is created if it does not exist, reset before each cell, and kept")
}

func (f *platformFlags) registerImages(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.images, "kind-images", "", "with --platform kind: `file` that matrix images save wrote; no image is pulled then ("+imagesVariable+")")
}

// rerun are the flags of a command that runs a cell again.
func (f *platformFlags) rerun() []string {
	var parts []string
	if f.cluster != "" && f.cluster != defaultPlatform().name {
		parts = append(parts, "--"+platformFlag, f.cluster)
	}
	for _, p := range f.programs {
		parts = append(parts, "--"+programFlag, p)
	}
	if f.mode != "" && f.mode != programs.Simulated {
		parts = append(parts, "--"+operatorsFlag, string(f.mode))
	}
	if f.kubernetes != "" {
		parts = append(parts, "--"+kubernetesFlag, f.kubernetes)
	}
	if f.images != "" {
		parts = append(parts, "--kind-images", f.images)
	}
	return parts
}

// platformParts are what every platform is made of.
type platformParts struct {
	stages    []byte
	operators []simulate.OperatorStage
	port      int
	exact     bool // the user asked for this port
}

// check finds the platform that the flags name, and refuses what it cannot do: what these flags ask
// for, and what others of the command do.
func (f *platformFlags) check(others ...wanted) error {
	var given []infra.Program
	for _, text := range f.programs {
		image, file, isFile := strings.Cut(text, "=") // an image has no such sign
		if isFile {
			given = append(given, infra.Program{Image: image, Path: file})
			continue
		}
		for _, named := range namesOf(image) {
			given = append(given, infra.Program{Image: named, Unpacked: &infra.Unpacked{}}) // pull fills it in
		}
	}
	var err error
	if f.table, err = podrun.CheckPrograms(given); err != nil {
		return cli.Usagef("--%s: %w", programFlag, err)
	}
	if f.mode, err = programs.ParseMode(f.operators); err != nil {
		return cli.Usagef("--%s %w", operatorsFlag, err)
	}
	if f.on, err = platformNamed(f.cluster); err != nil {
		return err
	}
	return f.on.refuse(f.reuse, append([]wanted{
		{len(f.programs) > 0, infra.Programs, "--" + programFlag},
		{f.mode != programs.Simulated, infra.Programs, "--" + operatorsFlag + " " + string(f.mode)},
		{f.kubernetes != "", infra.OtherKubernetes, "--" + kubernetesFlag},
		{f.images != "", infra.ImageArchive, "--kind-images"},
		{f.reuse, infra.ReusedCluster, "--reuse-cluster"},
	}, others...)...)
}

// namesOf are the texts by which pods may name an image that is given with tag and digest: with both,
// and with the tag alone.
func namesOf(image string) []string {
	before, _, pinned := strings.Cut(image, "@")
	if pinned && strings.Contains(before[strings.LastIndex(before, "/")+1:], ":") {
		return []string{image, before}
	}
	return []string{image}
}

// pull gets the images that are to run by themselves. Reasons: USAGE, IMAGE_MISSING.
func (f *platformFlags) pull(ctx context.Context, a *app) error {
	store := &podrun.RootFSStore{Dir: a.Paths.Images(), Progress: a.Progress}
	for _, text := range f.programs {
		image, _, file := strings.Cut(text, "=")
		if _, err := reference.ParseNormalizedNamed(image); err != nil { // as a kubelet reads it
			return cli.Usagef("--%s %q: this is no name of an image: %w", programFlag, image, err)
		}
		if file {
			continue
		}
		if err := sandbox.CanRoot(); err != nil {
			return cli.Usagef("--%s %s: %w; give the program as a file: --%s %s=FILE", programFlag, text, err, programFlag, text)
		}
		got, err := store.Get(ctx, text)
		if err != nil {
			return reason.New(reason.ImageMissing, "--%s: %w", programFlag, err)
		}
		for i := range f.table {
			if slices.Contains(namesOf(text), f.table[i].Image) && f.table[i].Unpacked != nil {
				f.table[i].Unpacked = got
			}
		}
	}
	return nil
}

// embeddedPlatform is the platform embedded, for a run.
func (a *app) embeddedPlatform(f runFlags, parts platformParts) (infra.Platform, error) {
	p := &embedded.Platform{
		Paths: a.Paths, Stack: a.Stack, Helmfile: a.Helmfile, Ports: a.Ports, Stages: parts.stages, Operators: parts.operators,
		Registry: embedded.RegistryPort{Port: parts.port, Exact: parts.exact}, Progress: a.Progress, PlainControllers: f.plain,
		Programs: f.platform.table, JobControllers: f.jobs,
	}
	if f.platform.mode != programs.Simulated {
		p.Real = &programs.Set{Mode: f.platform.mode, Given: p.Programs, Stacks: a.Operators, Progress: a.Progress}
	}
	return p, nil
}

// kindPlatformFor is the platform kind, for a run.
func (a *app) kindPlatformFor(f runFlags, parts platformParts) (infra.Platform, error) {
	p, err := a.kindPlatform(f.platform.images)
	if err != nil {
		return nil, err
	}
	p.Stages, p.Operators, p.Port, p.Exact = parts.stages, parts.operators, parts.port, parts.exact
	if p.GitPort, err = a.GitPort(); err != nil {
		return nil, err
	}
	if f.platform.reuse {
		if p.Reuse, err = a.ClusterName(""); err != nil {
			return nil, err
		}
	}
	return p, nil
}

// kindPlatform is the platform kind, without what only a run needs. Nothing is started.
func (a *app) kindPlatform(archive string) (*kind.Platform, error) {
	p := &kind.Platform{
		Paths: a.Paths, Ports: a.Ports, Engine: kind.NewEngine(a.Getenv), Version: a.Stack.KubeVersion(), Progress: a.Progress,
		NodeImage: cli.FirstOf(a.Getenv(nodeImageVariable), a.Settings.Kind.NodeImage), RegistryImage: a.Settings.Kind.RegistryImage,
		Archive: cli.FirstOf(archive, a.Getenv(imagesVariable)),
	}
	for field, value := range map[string]string{"kind.nodeImage": p.NodeImage, "kind.registryImage": p.RegistryImage} {
		if value == "" || strings.HasPrefix(value, "-") || strings.ContainsAny(value, " \t\n") { // it becomes an argument of docker
			return nil, reason.New(reason.SettingsInvalid, "the settings' field %s is %q: want the name of an image", field, value)
		}
	}
	if p.Archive != "" {
		if _, err := os.Stat(p.Archive); err != nil {
			return nil, cli.Usagef("--kind-images: %w", err)
		}
	}
	return p, nil
}

// kindClusterDown removes a Kind cluster that a run with --keep left.
func (a *app) kindClusterDown(ctx context.Context, name string) error {
	p, err := a.kindPlatform("")
	if err != nil {
		return err
	}
	if err := p.Engine.Usable(ctx); err != nil {
		return err
	}
	if err := p.Remove(ctx, name); err != nil {
		return reason.Wrap(reason.ClusterFailed, err)
	}
	_, err = fmt.Fprintf(a.Stdout, "cluster %s is removed\n", name)
	return err
}
