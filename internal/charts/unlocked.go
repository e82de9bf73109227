package charts

import (
	"context"
	"fmt"
	"sync"

	"helm.sh/helm/v3/pkg/chart"

	"github.com/nvidia/aicr-action/internal/charts/catalog"
	"github.com/nvidia/aicr-action/internal/recipe"
)

// UnlockedName is the chart source of charts as their repositories have them today.
const UnlockedName = "unlocked"

// Unlocked is the chart source of charts that no lock file pins: each is downloaded once in a run.
// A range stands for its highest version in the repository. It is safe for concurrent use.
type Unlocked struct {
	// Fetcher makes a fetcher when the first chart is needed.
	Fetcher func() (*Fetcher, error)

	mu    sync.Mutex
	fetch *Fetcher
	made  map[catalog.Ref]*unlocked
}

// unlocked is a chart that is downloaded once.
type unlocked struct {
	once  sync.Once
	chart *chart.Chart
	from  string
	err   error
}

var _ catalog.Source = (*Unlocked)(nil)

// Name is UnlockedName.
func (u *Unlocked) Name() string { return UnlockedName }

// Load downloads the chart. Reasons: CHART_DOWNLOAD_FAILED, USAGE for what cannot be a chart's address.
func (u *Unlocked) Load(ctx context.Context, ref catalog.Ref) (*chart.Chart, string, error) {
	u.mu.Lock()
	if u.made == nil {
		u.made = map[catalog.Ref]*unlocked{}
	}
	one := u.made[ref]
	if one == nil {
		one = &unlocked{}
		u.made[ref] = one
	}
	u.mu.Unlock()
	one.once.Do(func() { one.chart, one.from, one.err = u.load(ctx, ref) })
	return one.chart, one.from, one.err
}

func (u *Unlocked) load(ctx context.Context, ref catalog.Ref) (*chart.Chart, string, error) {
	u.mu.Lock()
	if u.fetch == nil {
		made, err := u.Fetcher()
		if err != nil {
			u.mu.Unlock()
			return nil, "", err
		}
		u.fetch = made
	}
	u.mu.Unlock()
	p := Pin{Ref: ref}
	version, err := u.fetch.Resolve(ctx, p)
	if err != nil {
		return nil, "", err
	}
	p.Version = version
	got, err := u.fetch.Fetch(ctx, p, "")
	if err != nil {
		return nil, "", err
	}
	from := fmt.Sprintf("%s: %s, %s", UnlockedName, ref.Repository, got.Digest)
	if version != ref.Version {
		from += fmt.Sprintf(" (%s is %s today)", versionText(ref.Version), got.Chart.Metadata.Version)
	}
	return got.Chart, from, nil
}

// pull downloads charts side by side. An error names the place that needs the chart.
func (u *Unlocked) pull(ctx context.Context, pins []Pin, tell func(done, of int)) error {
	return eachPin(ctx, pins, tell, func(ctx context.Context, p Pin) error {
		_, _, err := u.Load(ctx, p.Ref)
		if err != nil && p.Declared.File != "" {
			err = &recipe.FileError{File: p.Declared.File, Line: p.Declared.Line, Err: err}
		}
		return err
	})
}
