package inspect

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"

	"github.com/spf13/cobra"

	"github.com/nvidia/aicr-action/internal/command/cli"
	"github.com/nvidia/aicr-action/internal/infra"
	"github.com/nvidia/aicr-action/internal/infra/embedded"
	"github.com/nvidia/aicr-action/internal/matrix/why"
	"github.com/nvidia/aicr-action/internal/result/reason"
)

// WhyCommand is `matrix why`.
func WhyCommand(shared *cli.App) *cobra.Command {
	a := &app{App: shared}
	var f struct{ kubeconfig, cluster, output string }
	cmd := &cobra.Command{
		Use:   "why NAMESPACE/POD | NAMESPACE/KIND/NAME",
		Short: "Explain why a pod of a kept cluster has no node, and which edit fixes that",
		Long: `Explain why a pod has no node: what each group of nodes rejects (selector, affinity, taint, resource, volume, topology),
which value path, file and line set that, and the edit that fixes it, if a single one does. An edit is named only if a
node would then admit the pod. For a pod that has a node it says which nodes fit it and why the others do not. Instead of a
pod, a workload can be named: Deployment, StatefulSet, DaemonSet, Job or CronJob.

Value paths, files and lines are known for the clusters of matrix run --keep. Elsewhere the rest of the answer is the same.`,
		Example: `  matrix run eks-training --deployer helm --keep
  matrix why cert-manager/deployment/cert-manager
  matrix why cert-manager/cert-manager-6556f5b9-5f47b -o json`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			kubeconfig, err := a.whyCluster(f.kubeconfig, f.cluster)
			if err != nil {
				return err
			}
			return a.why(cmd.Context(), kubeconfig, args[0], f.output)
		},
	}
	cmd.Flags().StringVar(&f.kubeconfig, "kubeconfig", "", "kubeconfig `file` of any cluster")
	cli.OldName(cmd, "cluster", "name")
	cmd.Flags().StringVar(&f.cluster, "name", "", "`name` of a cluster of this machine (default: the only one)")
	cli.OutputFlag(cmd, &f.output)
	return cmd
}

// whyCluster is the kubeconfig of the cluster that was asked for, or of the only one that there is.
func (a *app) whyCluster(kubeconfig, name string) (string, error) {
	if kubeconfig != "" && name != "" {
		return "", cli.Usagef("--kubeconfig and --name both name a cluster; give one of them")
	}
	if kubeconfig != "" {
		return kubeconfig, nil
	}
	if name != "" {
		state, err := embedded.FindCluster(a.Paths, name)
		if err != nil {
			return "", reason.Wrap(reason.Usage, err)
		}
		return state.Kubeconfig(), nil
	}
	all, err := embedded.Clusters(a.Paths)
	if err != nil {
		return "", err
	}
	var names []string
	file := ""
	for _, s := range all {
		if !s.Stale() && !inUse(s) {
			names, file = append(names, s.Name), s.Kubeconfig()
		}
	}
	switch len(names) {
	case 0:
		return "", cli.Usagef("there is no cluster to ask; `matrix run RECIPE --keep` leaves one, --kubeconfig names another")
	case 1:
		return file, nil
	}
	return "", cli.Usagef("there are several clusters; say which one with --name: %s", strings.Join(names, ", "))
}

// inUse reports whether a cluster belongs to a run, with which it goes away.
func inUse(s *embedded.State) bool { return s.Owner != 0 }

// whyAnswer is the form of -o json.
type whyAnswer struct {
	// Cell is the recipe and deployer of the run that made the cluster, if that is known; value
	// paths are known only then.
	Cell         string            `json:"cell,omitempty"`
	Note         string            `json:"note,omitempty"`
	Explanations []why.Explanation `json:"explanations"`
}

func (a *app) why(ctx context.Context, kubeconfig, name, output string) error {
	clients, err := infra.NewClients(kubeconfig)
	if err != nil {
		return reason.Wrap(reason.Usage, err)
	}
	var answer whyAnswer
	var known why.Provenance
	raw, err := embedded.Attachment(kubeconfig, why.ProvenanceFile)
	if err == nil {
		known, err = why.ReadProvenance(raw)
	}
	switch {
	case errors.Is(err, fs.ErrNotExist):
		answer.Note = "value paths, files and lines are unavailable: this cluster was not created by `matrix run --keep`"
	case err != nil:
		return err
	default:
		answer.Cell = known.Cell.String()
	}
	if answer.Explanations, err = why.Why(ctx, clients, &known, name); err != nil {
		return err
	}
	if output == "json" {
		return cli.PrintJSON(a.Stdout, answer)
	}
	_, err = io.WriteString(a.Stdout, cli.Inert(whyText(answer)))
	return err
}

func whyText(answer whyAnswer) string {
	var b strings.Builder
	pending := len(answer.Explanations) > 0 && len(answer.Explanations[0].On) == 0
	for i := range answer.Explanations {
		e := &answer.Explanations[i]
		if pending && len(e.On) > 0 { // a workload was asked for, and these of its pods are not the trouble
			b.WriteString(headline(e))
			continue
		}
		if i > 0 {
			b.WriteString("\n")
		}
		writeExplanation(&b, e)
	}
	if answer.Note != "" {
		b.WriteString("note: " + answer.Note + "\n")
	}
	return b.String()
}

func headline(e *why.Explanation) string {
	state := "no node admits the template"
	switch {
	case len(e.On) > 0:
		state = e.Phase + " on " + strings.Join(e.On, ", ")
	case len(e.Pods) > 0:
		state = e.Phase + ", without a node"
	}
	return fmt.Sprintf("%s: %s\n", e.Subject(), state)
}

func writeExplanation(b *strings.Builder, e *why.Explanation) {
	b.WriteString(headline(e))
	if e.Scheduler != "" {
		b.WriteString("scheduler: " + e.Scheduler + "\n")
	}
	for _, n := range e.Notes {
		b.WriteString("note: " + n + "\n")
	}
	rows := [][]string{{"NODES", "ANSWER"}}
	for _, g := range e.Groups {
		first := g.Name
		if len(g.Refusals) == 0 {
			rows = append(rows, []string{first, "fits"})
		}
		for _, r := range g.Refusals {
			rows = append(rows, []string{first, "refuses: " + r.Text})
			first = ""
		}
	}
	b.WriteString(cli.Table(rows))
	for _, s := range e.Sources {
		b.WriteString(s + "\n")
	}
	for i, text := range e.Edits {
		head := "edit: "
		if i > 0 {
			head = "  or: "
		}
		b.WriteString(head + text + "\n")
	}
	if len(e.On) == 0 && len(e.Edits) == 0 && e.Refused() {
		b.WriteString("edit: no single edit fixes this\n")
	}
}
