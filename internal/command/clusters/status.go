package clusters

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/nvidia/aicr-action/internal/command/cli"
	"github.com/nvidia/aicr-action/internal/command/platform"
	"github.com/nvidia/aicr-action/internal/infra/embedded"
	"github.com/nvidia/aicr-action/internal/infra/kind"
)

// statusRow is a cluster in the output of `matrix cluster status`.
type statusRow struct {
	Name string `json:"name"`
	// Platform is a value of --platform; Running are processes or containers.
	Platform   string    `json:"platform"`
	Purpose    string    `json:"purpose,omitempty"`
	State      string    `json:"state"`
	Created    time.Time `json:"created"`
	Running    []string  `json:"running"`
	Kubeconfig string    `json:"kubeconfig"`
}

func (a *app) clusterStatus(ctx context.Context, output string) error {
	rows := []statusRow{}
	for _, p := range platform.All() {
		more, err := platform.For(p, a.embeddedRows, a.kindRows)(ctx)
		if err != nil {
			return err
		}
		for _, r := range more {
			r.Platform = p.Name
			rows = append(rows, r)
		}
	}
	switch output {
	case "json":
		return cli.PrintJSON(a.Stdout, rows)
	case "name":
		for _, r := range rows {
			if _, err := fmt.Fprintln(a.Stdout, r.Name); err != nil {
				return err
			}
		}
		return nil
	case "table":
		table := [][]string{{"NAME", "CLUSTER", "FOR", "AGE", "RUNNING", "STATE"}}
		for _, r := range rows {
			table = append(table, []string{r.Name, r.Platform, cli.FirstOf(r.Purpose, "-"), time.Since(r.Created).Round(time.Second).String(), fmt.Sprint(len(r.Running)), r.State})
		}
		if len(rows) == 0 {
			_, err := io.WriteString(a.Stdout, "no clusters; `matrix cluster up` makes one\n")
			return err
		}
		_, err := io.WriteString(a.Stdout, cli.Table(table))
		return err
	}
	return cli.Usagef("--output %q: want table, json or name", output)
}

func (a *app) embeddedRows(context.Context) ([]statusRow, error) {
	all, err := embedded.Clusters(a.Paths)
	if err != nil {
		return nil, err
	}
	var rows []statusRow
	for _, s := range all {
		r := statusRow{Name: s.Name, Purpose: s.Purpose, Created: s.Created, Running: s.Running(), Kubeconfig: s.Kubeconfig(), State: "up"}
		switch {
		case s.Stale():
			r.State = "stale: its run is gone; `matrix cluster down --name " + s.Name + "` removes it"
		case s.Owner != 0:
			r.State = fmt.Sprintf("in use by run %d", s.Owner)
		case len(r.Running) < len(s.Processes):
			r.State = fmt.Sprintf("%d of %d processes run", len(r.Running), len(s.Processes))
		}
		rows = append(rows, r)
	}
	return rows, nil
}

func (a *app) kindRows(ctx context.Context) ([]statusRow, error) {
	if len(kind.Clusters(a.Paths)) == 0 { // Docker need not be asked
		return nil, nil
	}
	p, err := platform.Kind(a.App, "")
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	var rows []statusRow
	for _, k := range p.Kept(ctx) {
		r := statusRow{Name: k.Name, Purpose: "left by --keep", Created: k.Created, Running: append([]string{}, k.Containers...), Kubeconfig: k.Kubeconfig, State: "up"}
		if k.Reused {
			r.Purpose = "--reuse-cluster"
		}
		switch {
		case k.Err != nil:
			r.State = "unknown: " + k.Err.Error()
		case k.InUse:
			r.State = "in use by a run"
		case len(k.Containers) == 0:
			r.State = "its container does not run; `matrix cluster down --name " + k.Name + "` removes what is left"
		}
		rows = append(rows, r)
	}
	return rows, nil
}
