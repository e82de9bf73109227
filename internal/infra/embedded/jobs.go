package embedded

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"

	"github.com/nvidia/aicr-action/internal/infra"
	"github.com/nvidia/aicr-action/internal/infra/addons"
	"github.com/nvidia/aicr-action/internal/result/reason"
)

// StartJobControllers of an infra.Cluster.
func (c *cluster) StartJobControllers(ctx context.Context, namespace string, names []string) (*infra.JobControllers, error) {
	var programs []addons.Scheduler
	for _, name := range names {
		i := slices.IndexFunc(c.platform.JobControllers, func(s addons.Scheduler) bool { return s.Name == name })
		if i < 0 {
			return nil, reason.New(reason.Internal, "the platform %s was made without the controller %s", c.platform.Kind(), name)
		}
		programs = append(programs, c.platform.JobControllers[i])
	}
	webhooks, err := c.platform.Ports.Take(len(programs))
	if err != nil {
		return nil, err
	}
	c.control.released = append(c.control.released, webhooks...)
	kubeconfig, err := c.control.startAdmitting(ctx, webhooks)
	if err != nil {
		return nil, err
	}
	clients, err := infra.NewClients(kubeconfig)
	if err != nil {
		return nil, reason.Wrap(reason.ClusterFailed, err)
	}
	c.jobs = &addons.Runner{Clients: clients, Kubeconfig: kubeconfig, Dir: filepath.Join(c.control.dir, "jobs"), Ports: c.platform.Ports, Sup: c.sup, Only: namespace, Webhooks: webhooks}
	for _, s := range programs {
		if err := c.jobs.Start(ctx, s); err != nil {
			return nil, err
		}
	}
	return &infra.JobControllers{Clients: clients, Installed: c.jobs.Installed()}, nil
}

// endJobs ends the controllers of jobs, and the API server that calls their webhooks.
func (c *cluster) endJobs() {
	if c.jobs != nil {
		c.jobs.Stop()
		c.jobs = nil
	}
	c.control.stopAdmitting()
}

// jobLogs are the logs of the controllers of jobs.
func (c *cluster) jobLogs() []string {
	files, err := filepath.Glob(filepath.Join(c.control.dir, "jobs", "*.log"))
	if err != nil {
		panic(fmt.Sprintf("a pattern that is no pattern: %v", err))
	}
	return files
}
