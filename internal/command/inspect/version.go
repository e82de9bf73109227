package inspect

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/nvidia/aicr-action/internal/command/cli"
	"github.com/nvidia/aicr-action/internal/infra/stack"
	"github.com/nvidia/aicr-action/kwok"
)

// controlPlane is a version that --kubernetes chooses.
type controlPlane struct {
	Minor   string `json:"minor"`
	Version string `json:"version"`
	Built   bool   `json:"built"`
}

// controlPlanes lists them, the lowest first.
func (a *app) controlPlanes() ([]controlPlane, error) {
	minors, err := a.Stack.Minors(kwok.Kubernetes)
	if err != nil {
		return nil, err
	}
	var all []controlPlane
	for _, minor := range minors {
		s, err := a.Stack.WithKubernetes(a.Paths, kwok.Kubernetes, minor)
		if err != nil {
			return nil, err
		}
		all = append(all, controlPlane{minor, s.KubeVersion(), len(s.Missing(stack.GroupKubernetes)) == 0})
	}
	return all, nil
}

// VersionCommand is `matrix version`.
func VersionCommand(shared *cli.App) *cobra.Command {
	a := &app{App: shared}
	var output string
	cmd := &cobra.Command{
		Use: "version", Short: "Print all pinned versions", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return a.version(cmd.Context(), output) },
	}
	cli.OutputFlag(cmd, &output)
	return cmd
}

// howBuilt says where a program is from, or where it would come from.
func howBuilt(p stack.PartVersion) string {
	switch {
	case p.Pulled != nil && p.Pulled.Pinned:
		return fmt.Sprintf("built, from %s in %.1fs", p.Pulled.Image, p.Pulled.Seconds)
	case p.Pulled != nil:
		return fmt.Sprintf("built, from %s in %.1fs, which nothing pins", p.Pulled.Image, p.Pulled.Seconds)
	case p.Built:
		return "built"
	}
	return "not built yet; " + p.From
}

func (a *app) version(_ context.Context, output string) error {
	others, err := a.controlPlanes()
	if err != nil {
		return err
	}
	v := struct {
		cli.Build
		Stack []stack.PartVersion `json:"stack"`
		Path  string              `json:"stackPath"`
		// Kubernetes are the control planes that --kubernetes chooses from.
		Kubernetes []controlPlane `json:"kubernetes"`
	}{Build: cli.BuildOf(a.Released), Kubernetes: others, Stack: slices.Concat(a.Stack.Versions(), a.Schedulers.Versions(), a.Helmfile.Versions(), a.Karpenter.Versions()), Path: a.Stack.Dir}
	if output == cli.AsJSON {
		return cli.PrintJSON(a.Stdout, v)
	}
	rows := [][]string{{"matrix", v.Version, v.Revision}, {"go", v.Go, v.Platform}}
	for _, p := range v.Stack {
		rows = append(rows, []string{p.Name, p.Version, howBuilt(p)})
	}
	var minors []string
	for _, k := range v.Kubernetes {
		minors = append(minors, k.Minor+" ("+k.Version+")")
	}
	_, err = io.WriteString(a.Stdout, cli.Table(rows)+"stack: "+v.Path+"\nmatrix run --kubernetes: "+strings.Join(minors, ", ")+"\n")
	return err
}
