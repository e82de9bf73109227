package clusters

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/command/cli"
	"github.com/nvidia/aicr-action/internal/command/platform"
	"github.com/nvidia/aicr-action/internal/infra/kind"
	"github.com/nvidia/aicr-action/internal/matrix"
)

// ImagesCommand is `matrix images`.
func ImagesCommand(shared *cli.App) *cobra.Command {
	a := &app{App: shared}
	cmd := &cobra.Command{
		Use: "images", Short: "List, save and load the container images of --platform kind",
		Long: `The container images that ` + "`matrix run --platform kind`" + ` needs: the node's, and those of the pods that the harness installs. They are
read from the manifests that are applied, so the list is complete. The images of a recipe are not among them: its pods are simulated.`,
		Example: `  matrix images list
  matrix images save kind-images.tar
  matrix run eks-training --platform kind --kind-images kind-images.tar`,
	}
	cmd.AddCommand(a.imagesListCommand(), a.imagesSaveCommand(), a.imagesLoadCommand())
	return cmd
}

// imagesFor are the images of these deployers' cells.
func (a *app) imagesFor(names []string) (*kind.Platform, []string, error) {
	deployers, err := bundle.ByName(cli.SplitList(names))
	if err != nil {
		return nil, nil, cli.Usagef("--deployer: %w", err)
	}
	p, err := platform.Kind(a.App, "")
	if err != nil {
		return nil, nil, err
	}
	p.Archive = "" // that of a run
	var plans []matrix.Plan
	for _, d := range deployers {
		plans = append(plans, matrix.Plan{Deployer: d})
	}
	images, err := p.Images(matrix.ControllersFor(plans)...)
	return p, images, err
}

func deployersFlag(cmd *cobra.Command, names *[]string) {
	cmd.Flags().StringSliceVarP(names, "deployer", "d", []string{"all"}, "only what these deployers need: all, or a list of "+strings.Join(bundle.Names(), ", "))
}

func (a *app) imagesListCommand() *cobra.Command {
	var deployers []string
	cmd := &cobra.Command{
		Use: "list", Short: "Print the names of the images, one a line, the node image first", Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			_, images, err := a.imagesFor(deployers)
			if err != nil {
				return err
			}
			_, err = fmt.Fprintln(a.Stdout, strings.Join(images, "\n"))
			return err
		},
	}
	deployersFlag(cmd, &deployers)
	return cmd
}

func (a *app) imagesSaveCommand() *cobra.Command {
	var deployers []string
	cmd := &cobra.Command{
		Use: "save FILE", Short: "Pull what is missing, and write all images to a file", Args: cobra.ExactArgs(1),
		Long: `Pull the images that Docker does not have, and write all of them to one file, which ` + "`matrix images load`" + `, ` + "`docker load`" + ` and
--kind-images take. Cache it by the output of ` + "`matrix images list`" + `.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.withImages(cmd.Context(), deployers, func(ctx context.Context, p *kind.Platform, images []string) error {
				if err := p.Engine.EnsureImages(ctx, a.Progress, "", images); err != nil {
					return err
				}
				return p.Engine.SaveImages(ctx, a.Progress, args[0], images)
			})
		},
	}
	deployersFlag(cmd, &deployers)
	return cmd
}

func (a *app) imagesLoadCommand() *cobra.Command {
	var deployers []string
	cmd := &cobra.Command{
		Use: "load FILE", Short: "Load the images from a file into Docker", Args: cobra.ExactArgs(1),
		Long: `Load the images of a file that ` + "`matrix images save`" + ` wrote into Docker. A file that lacks one of them is rejected, and nothing is loaded.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.withImages(cmd.Context(), deployers, func(ctx context.Context, p *kind.Platform, images []string) error {
				return p.Engine.LoadImages(ctx, a.Progress, args[0], images)
			})
		},
	}
	deployersFlag(cmd, &deployers)
	return cmd
}

// withImages calls do with an engine that answers.
func (a *app) withImages(ctx context.Context, deployers []string, do func(context.Context, *kind.Platform, []string) error) error {
	p, images, err := a.imagesFor(deployers)
	if err != nil {
		return err
	}
	if err := p.Engine.Check(ctx); err != nil {
		return err
	}
	return do(ctx, p, images)
}
