package workflows

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/nvidia/aicr-action/internal/command/cli"
	"github.com/nvidia/aicr-action/internal/workflow"
)

func (a *app) workflowManifestCommand() *cobra.Command {
	var image, namespace, name string
	var stages bool
	cmd := &cobra.Command{
		Use:   "manifest [FILE|DIR]...",
		Short: "Print the ServiceAccount, binding and Job that run workflows inside a cluster",
		Long: `Print what runs workflows inside a cluster: a ServiceAccount, its binding to cluster-admin, a ConfigMap with the workflows and their
templates, and a Job. The workflows are checked first. The image must have matrix as its entrypoint.

With --stages, and without files: print the KWOK stages that workflows rely on, for a cluster in which KWOK reads its stages from objects.`,
		Example: `  matrix workflow manifest --image registry.example.com/matrix:v1 jobs.yaml | kubectl apply -f -
  matrix workflow manifest --stages | kubectl apply -f -`,
		RunE: func(_ *cobra.Command, args []string) error {
			if stages {
				if len(args) > 0 || image != "" {
					return cli.Usagef("--stages prints KWOK stages alone; leave out files and --image")
				}
				raw, err := workflow.Stages(workflow.StageNames())
				if err != nil {
					return err
				}
				_, err = a.Stdout.Write(raw)
				return err
			}
			if len(args) == 0 || image == "" {
				return cli.Usagef("give the workflows to run, and --image with an image that has matrix as its entrypoint")
			}
			plan, err := checkWorkflows(args)
			if err != nil {
				return err
			}
			text, err := plan.Manifest(workflow.Manifest{Image: image, Namespace: namespace, Name: name})
			if err != nil {
				return cli.WrapUsage(err)
			}
			_, err = fmt.Fprint(a.Stdout, text)
			return err
		},
	}
	cmd.Flags().StringVar(&image, "image", "", "container `image` of the Job, with matrix as its entrypoint")
	cmd.Flags().StringVar(&namespace, "namespace", "default", "`namespace` of the ServiceAccount, the ConfigMap and the Job")
	cmd.Flags().StringVar(&name, "job-name", "matrix-workflow", "`name` of all of these objects")
	cmd.Flags().BoolVar(&stages, "stages", false, "print the KWOK stages instead")
	return cmd
}
