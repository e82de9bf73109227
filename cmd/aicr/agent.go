package main

import (
	"context"
	"time"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/nvidia/aicr-action/internal/bundle/adjust"
	"github.com/nvidia/aicr-action/internal/command/cli"
	"github.com/nvidia/aicr-action/internal/verify/snapshot"
	"github.com/nvidia/aicr-action/internal/verify/snapshot/collect"
	"github.com/nvidia/aicr-action/internal/verify/validate"
	"github.com/nvidia/aicr-action/internal/verify/validate/agent"
)

// agentFlags are those of commands that can run as a Job in the cluster.
type agentFlags struct {
	on                   bool
	image, namespace     string
	results              string // a ConfigMap for results
	pullSecrets          []string
	selector, toleration []string
	timeout              time.Duration
	nodeSelector         map[string]string
	tolerations          []corev1.Toleration
	forNodes             bool // there is a flag for the node selector
	forResults           bool // there is a flag for the results
}

// needAgent are the flags that mean nothing without --agent.
var needAgent = []string{"image", "namespace", "image-pull-secret", "node-selector", "toleration", "agent-timeout", "result-configmap"}

// register adds the flags; what says what runs.
func (f *agentFlags) register(cmd *cobra.Command, what string) {
	flags := cmd.Flags()
	flags.BoolVar(&f.on, "agent", false, what)
	flags.StringVar(&f.image, "image", "", "with --agent: `image` that contains aicr (required)")
	flags.StringVar(&f.namespace, "namespace", "gpu-operator", "with --agent: `namespace` of the Job; it must exist")
	flags.StringArrayVar(&f.pullSecrets, "image-pull-secret", nil, "with --agent: `name` of a Secret of the namespace, for the image's registry (repeatable)")
	if f.forNodes {
		flags.StringArrayVar(&f.selector, "node-selector", nil, "with --agent: `KEY=VALUE` of a label of the node (repeatable; default: "+agent.GPUPresentLabel+"=true)")
	}
	flags.StringArrayVar(&f.toleration, "toleration", nil, "with --agent: `KEY=VALUE:EFFECT` of a taint that the Job tolerates (repeatable)")
	if f.forResults {
		flags.StringVar(&f.results, "result-configmap", "aicr-validation-result", "with --agent: `name` of the ConfigMap that keeps the results of the Jobs; empty keeps none")
	}
	flags.DurationVar(&f.timeout, "agent-timeout", 5*time.Minute, "with --agent: time for each Job")
}

// check refuses flags that do not go together.
func (f *agentFlags) check(cmd *cobra.Command) error {
	if !f.on {
		for _, name := range needAgent {
			if cmd.Flags().Changed(name) {
				return cli.Usagef("--%s needs --agent", name)
			}
		}
		return nil
	}
	if f.image == "" {
		return cli.Usagef("--agent needs --image: an image that contains aicr")
	}
	if f.timeout <= 0 {
		return cli.Usagef("--agent-timeout %s: want more than 0", f.timeout)
	}
	var err error
	if f.nodeSelector, err = adjust.ParseSelector(f.selector...); err != nil {
		return cli.Usagef("--node-selector: %w", err)
	}
	if f.tolerations, err = adjust.ParseTolerations(f.toleration...); err != nil {
		return cli.Usagef("--toleration: %w", err)
	}
	return nil
}

// snapshotInCluster takes the snapshot with a Job.
func (a *app) snapshotInCluster(ctx context.Context, f snapshotFlags) (*snapshot.Snapshot, error) {
	client, err := a.client(f.kubeconfig)
	if err != nil {
		return nil, err
	}
	c := agent.SnapshotConfig{
		Namespace: f.agent.namespace, Image: f.agent.image, ImagePullSecrets: f.agent.pullSecrets, Tolerations: f.agent.tolerations, Rules: collect.Rules(),
		Timeout: f.agent.timeout, Args: []string{"--timeout", f.timeout.String()},
	}
	if len(f.agent.nodeSelector) > 0 {
		c.NodeSelector = f.agent.nodeSelector
	}
	for _, kind := range f.only {
		c.Args = append(c.Args, "--only", kind)
	}
	data, err := agent.Snapshot(ctx, client, c)
	if err != nil {
		return nil, err
	}
	return snapshot.Read("the snapshot of the Job", data)
}

// validateInCluster runs the checks of each phase in a Job.
func (a *app) validateInCluster(f validateFlags, client kubernetes.Interface, in validate.Inputs, recipe []byte, called string) (*agent.Jobs, error) {
	documents := agent.Documents{Recipe: recipe}
	if in.Snapshot != nil {
		var err error
		if documents.Snapshot, err = cli.DocumentYAML(in.Snapshot); err != nil {
			return nil, err
		}
	}
	return agent.NewJobs(client, agent.Config{
		Namespace: f.agent.namespace, JobName: "aicr-validation", Image: f.agent.image, ImagePullSecrets: f.agent.pullSecrets, ServiceAccountName: "aicr-validator",
		Tolerations: f.agent.tolerations, SnapshotConfigMap: "aicr-validation-snapshot", RecipeConfigMap: "aicr-validation-recipe", ResultConfigMap: f.agent.results,
		RecipeName: called, Timeout: f.agent.timeout, Cleanup: true,
	}, documents), nil
}

// executor is what runs the checks; the second result is to be called at the end.
func (a *app) executor(f validateFlags, in validate.Inputs, recipe []byte, called string) (validate.Executor, func(context.Context) error, error) {
	if !f.agent.on || in.Kube == nil { // no check needs a cluster
		return validate.Direct{}, func(context.Context) error { return nil }, nil
	}
	jobs, err := a.validateInCluster(f, in.Kube, in, recipe, called)
	if err != nil {
		return nil, nil, err
	}
	return jobs, jobs.Close, nil
}
