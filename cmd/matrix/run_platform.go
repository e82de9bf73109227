package main

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/nvidia/aicr-action/internal/charts"
	"github.com/nvidia/aicr-action/internal/cli"
	"github.com/nvidia/aicr-action/internal/infra"
	"github.com/nvidia/aicr-action/internal/infra/embedded"
	"github.com/nvidia/aicr-action/internal/infra/kind"
	"github.com/nvidia/aicr-action/internal/infra/podrun"
	"github.com/nvidia/aicr-action/internal/infra/simulate"
	"github.com/nvidia/aicr-action/internal/result/reason"
)

// platformFlags choose where cells run.
type platformFlags struct {
	cluster string
	images  string
	reuse   bool
	// programs are IMAGE=FILE each; table is what check makes of them.
	programs []string
	table    []infra.Program
}

// The values of --cluster.
const (
	onEmbedded = "embedded"
	onKind     = "kind"
)

const programFlag = "program"

// The variables of Kind clusters; the flag goes before its variable.
const (
	nodeImageVariable = "AICR_ACTION_KIND_NODE_IMAGE"
	imagesVariable    = "AICR_ACTION_KIND_IMAGES"
)

func (f *platformFlags) register(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.cluster, "cluster", onEmbedded, "where cells run: embedded (processes of this machine) or kind (containers in Docker)")
	cmd.Flags().StringArrayVar(&f.programs, programFlag, nil, "`IMAGE=FILE`: run the executable FILE for pods with this image, instead of simulating them (repeatable; docs/how-it-works.md, Pods that run)")
	f.registerImages(cmd)
	cmd.Flags().BoolVar(&f.reuse, "reuse-cluster", false, "with --cluster kind: run all cells in the one cluster that KWOK_CLUSTER names, one after another. It is made where it does not exist, put back to its first state before each cell, and stays")
}

func (f *platformFlags) registerImages(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.images, "kind-images", "", "with --cluster kind: `file` that matrix images save wrote; no image is pulled then ("+imagesVariable+")")
}

func (f *platformFlags) kind() bool { return f.cluster == onKind }

// rerun are the flags of a command that runs a cell again.
func (f *platformFlags) rerun() []string {
	if !f.kind() {
		var parts []string
		for _, p := range f.programs {
			parts = append(parts, "--"+programFlag, p)
		}
		return parts
	}
	parts := []string{"--cluster", onKind}
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

// check refuses flags that do not go together.
func (f *platformFlags) check(chartValues []string) error {
	var programs []infra.Program
	for _, text := range f.programs {
		image, file, _ := strings.Cut(text, "=") // an image has no such sign
		programs = append(programs, infra.Program{Image: image, Path: file})
	}
	var err error
	if f.table, err = podrun.CheckPrograms(programs); err != nil {
		return cli.Usagef("--%s: %w", programFlag, err)
	}
	switch {
	case !slices.Contains([]string{"", onEmbedded, onKind}, f.cluster): // empty: a command without the flag
		return cli.Usagef("--cluster %q: want %s or %s", f.cluster, onEmbedded, onKind)
	case f.kind() && len(f.programs) > 0:
		return cli.Usagef("--%s does not work with --cluster %s: there, pods on nodes of the cluster run in containers", programFlag, onKind)
	case !f.kind() && f.images != "":
		return cli.Usagef("--kind-images needs --cluster %s", onKind)
	case !f.kind() && f.reuse:
		return cli.Usagef("--reuse-cluster needs --cluster %s: a cluster of processes is as quickly made as reset", onKind)
	case f.kind() && slices.Contains(chartValues, charts.DirectName):
		return cli.Usagef("--charts %s does not work with --cluster %s: pods do not reach repositories on this machine; use --charts upstream", charts.DirectName, onKind)
	}
	return nil
}

// platform makes the platform that the flags name.
func (a *app) platform(f runFlags, parts platformParts) (infra.Platform, error) {
	if !f.platform.kind() {
		return &embedded.Platform{
			Paths: a.Paths, Stack: a.Stack, Ports: a.Ports, Stages: parts.stages, Operators: parts.operators,
			Registry: embedded.RegistryPort{Port: parts.port, Exact: parts.exact}, Progress: a.Progress, PlainControllers: f.plain,
			Programs: f.platform.table, JobControllers: f.jobs,
		}, nil
	}
	p, err := a.kindPlatform(f.platform.images)
	if err != nil {
		return nil, err
	}
	p.Stages, p.Operators, p.Port, p.Exact = parts.stages, parts.operators, parts.port, parts.exact
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
