// Package catalog is where a chart is looked up: the reference that a recipe's component makes,
// what a source of charts must do, and the source over a directory of charts. It must not know
// downloads, rendering or bundles.
package catalog

import (
	"context"
	"fmt"
	"path"
	"strings"

	"helm.sh/helm/v3/pkg/chart"

	"github.com/nvidia/aicr-action/internal/recipe"
)

// Ref is a chart as a component names it. Version is empty if the recipe pins none.
type Ref struct{ Component, Repository, Name, Version string }

// RefOf is the chart of a component that has one.
func RefOf(c *recipe.Component) Ref {
	return Ref{Component: c.Name, Repository: c.Source, Name: path.Base(c.Chart), Version: c.Version} // "repo/chart" in the registry
}

// Source loads the charts that the recipe's components name.
type Source interface {
	// Name is printed in every result: "simulated" or "dir:PATH".
	Name() string
	// Load returns the chart with exactly that name and version, and where it was found, for
	// people. *NotFoundError names what the source has instead.
	Load(ctx context.Context, ref Ref) (ch *chart.Chart, from string, err error)
}

// NotFoundError is a chart that a component names and its chart source does not have.
type NotFoundError struct {
	Chart, Version string
	Source         string
	// Have lists what the source has: the versions of that chart if there are any, otherwise the
	// names of all charts.
	Have []string
	// Unreadable are files of the source that look like charts and could not be read; the chart may
	// be among them.
	Unreadable []error
}

func (e *NotFoundError) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "chart %s %s is not in chart source %s", e.Chart, e.Version, e.Source)
	switch {
	case len(e.Have) == 0:
		b.WriteString(", which has no charts")
	default:
		fmt.Fprintf(&b, ", which has %s", strings.Join(e.Have, ", "))
	}
	for _, err := range e.Unreadable {
		fmt.Fprintf(&b, "; %v", err)
	}
	fmt.Fprintf(&b, ": add the chart (helm pull, or a directory %s/ with a Chart.yaml) or name another version", e.Chart)
	return b.String()
}

// Unwrap gives the causes of unreadable files.
func (e *NotFoundError) Unwrap() []error { return e.Unreadable }
