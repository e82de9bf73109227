package charts

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"golang.org/x/sync/errgroup"
	"helm.sh/helm/v3/pkg/chart"

	"github.com/nvidia/aicr-action/internal/charts/archive"
	"github.com/nvidia/aicr-action/internal/charts/catalog"
	"github.com/nvidia/aicr-action/internal/result/reason"
	"github.com/nvidia/aicr-action/internal/util/lists"
)

// The names of the chart sources that download.
const (
	// UpstreamName: charts are downloaded once, by the lock file.
	UpstreamName = "upstream"
	// DirectName: controllers pull charts from where the recipe says, and this program downloads
	// them as for UpstreamName, to render them.
	DirectName = "direct"
)

// Upstream is the chart source of the charts in a lock file: from the cache if that has them, else
// from their repositories. It is safe for concurrent use.
type Upstream struct {
	Lock  *Lock
	Cache Cache
	// Fetcher makes a fetcher when the first chart is not in the cache.
	Fetcher func() (*Fetcher, error)
	// Direct: the source is DirectName.
	Direct bool

	mu     sync.Mutex
	loaded map[string]*chart.Chart // by digest
	fetch  *Fetcher
}

var _ catalog.Source = (*Upstream)(nil)

// Name is UpstreamName or DirectName.
func (u *Upstream) Name() string {
	if u.Direct {
		return DirectName
	}
	return UpstreamName
}

// Load gives the chart that the lock has for a component. Reasons: USAGE for a lock that does not
// fit, CHART_DOWNLOAD_FAILED, CHART_CHANGED.
func (u *Upstream) Load(ctx context.Context, ref catalog.Ref) (*chart.Chart, string, error) {
	p := Pin{Ref: ref}
	e, err := u.Lock.Find(p)
	if err != nil {
		return nil, "", err
	}
	if e == nil {
		return nil, "", u.notFound(ref)
	}
	ch, err := u.load(ctx, e, p)
	if err != nil {
		return nil, "", err
	}
	from := fmt.Sprintf("%s: %s, %s", u.Name(), e.Repository, e.Digest)
	if e.Range != "" {
		from += fmt.Sprintf(" (%s is %s in the lock)", e.Range, e.Version)
	}
	return ch, from, nil
}

func (u *Upstream) notFound(ref catalog.Ref) error {
	e := &catalog.NotFoundError{Chart: ref.Name, Version: versionText(ref.Version), Source: u.Name() + " (" + u.Lock.File + ")"}
	for _, have := range u.Lock.Entries {
		e.Have = append(e.Have, have.Chart+" "+have.Version)
	}
	slices.Sort(e.Have)
	e.Have = slices.Compact(e.Have)
	return e
}

// load reads an entry's chart, once.
func (u *Upstream) load(ctx context.Context, e *Entry, p Pin) (*chart.Chart, error) {
	if e.Range != "" {
		p.Version = e.Version
	}
	u.mu.Lock()
	ch := u.loaded[e.Digest]
	u.mu.Unlock()
	if ch != nil {
		return ch, isChart(ch, p.Ref)
	}
	tgz, err := u.archive(ctx, e, p)
	if err != nil {
		return nil, err
	}
	if ch, err = archive.Load(tgz); err == nil {
		err = isChart(ch, p.Ref)
	}
	if err != nil {
		return nil, reason.New(reason.BundleFailed, "%s: chart %s %s of %s: %w", u.Lock.File, e.Chart, e.Version, e.Repository, err)
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.loaded == nil {
		u.loaded = map[string]*chart.Chart{}
	}
	if u.loaded[e.Digest] == nil {
		u.loaded[e.Digest] = ch
	}
	return u.loaded[e.Digest], nil
}

// archive is an entry's archive: from the cache, or else downloaded and kept there.
func (u *Upstream) archive(ctx context.Context, e *Entry, p Pin) ([]byte, error) {
	tgz, err := u.Cache.Get(e.Digest)
	if err != nil || tgz != nil {
		return tgz, err
	}
	fetcher, err := u.fetcher()
	if err != nil {
		return nil, err
	}
	p.Repository, p.Version = e.Repository, e.Version
	got, err := fetcher.Fetch(ctx, p, e.Digest)
	if err != nil {
		return nil, u.Lock.placed(e, err)
	}
	return got.Archive, u.Cache.Put(got.Archive)
}

func (u *Upstream) fetcher() (*Fetcher, error) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.fetch == nil {
		made, err := u.Fetcher()
		if err != nil {
			return nil, err
		}
		u.fetch = made
	}
	return u.fetch, nil
}

// Missing are the entries for pins that the cache does not have. Pins without an entry are left
// out.
func (u *Upstream) Missing(pins []Pin) ([]Pin, error) {
	var missing []Pin
	seen := map[string]bool{}
	for _, p := range pins {
		e, err := u.Lock.Find(p)
		if err != nil {
			return nil, err
		}
		if e == nil || seen[e.Digest] {
			continue
		}
		seen[e.Digest] = true
		tgz, err := u.Cache.Get(e.Digest)
		if err != nil {
			return nil, err
		}
		if tgz == nil {
			missing = append(missing, p)
		}
	}
	return missing, nil
}

// atATime is how many charts are downloaded side by side.
const atATime = 4

// Pull downloads what the cache lacks of the charts for these pins, and says what it does through
// tell, which may be nil. Pins without an entry in the lock are left out.
func (u *Upstream) Pull(ctx context.Context, pins []Pin, tell func(done, of int)) error {
	missing, err := u.Missing(pins)
	if err != nil {
		return err
	}
	return eachPin(ctx, missing, tell, func(ctx context.Context, p Pin) error {
		e, err := u.Lock.Find(p)
		if err != nil {
			return err
		}
		_, err = u.load(ctx, e, p)
		return err
	})
}

// eachPin calls do for some pins at a time. One that fails does not stop the others: all failures are told at once
// (*SeveralError).
func eachPin(ctx context.Context, pins []Pin, tell func(done, of int), do func(context.Context, Pin) error) error {
	var group errgroup.Group
	group.SetLimit(atATime)
	var mu sync.Mutex
	done := 0
	failed := make([]error, len(pins))
	for i, p := range pins {
		group.Go(func() error {
			if ctx.Err() != nil {
				return nil
			}
			if failed[i] = do(ctx, p); failed[i] != nil {
				return nil
			}
			mu.Lock()
			defer mu.Unlock()
			done++
			if tell != nil {
				tell(done, len(pins))
			}
			return nil
		})
	}
	_ = group.Wait() // each pin's error is in failed
	if cause := context.Cause(ctx); cause != nil {
		return cause
	}
	several := &SeveralError{}
	for i, err := range failed {
		if err != nil {
			several.Add(pins[i].Ref, err)
		}
	}
	if len(several.Errs) == 0 {
		return nil
	}
	return &reason.Error{Reason: reason.Of(several.Errs[0]), Err: several}
}

// SeveralError is of charts that cannot be had.
type SeveralError struct {
	Refs []catalog.Ref // by the place in Errs
	Errs []error
}

// Add adds a chart.
func (e *SeveralError) Add(ref catalog.Ref, err error) {
	e.Refs, e.Errs = append(e.Refs, ref), append(e.Errs, err)
}

// Components are those that lack a chart.
func (e *SeveralError) Components() (names []string) {
	for _, ref := range e.Refs {
		names = append(names, ref.Component)
	}
	return names
}

// NotDownloaded gives the charts that an error is about, if each of them only could not be downloaded: what does not need
// them can be run. It is nil for any other error, e.g. one of a file that is wrong.
func NotDownloaded(err error) *SeveralError {
	var several *SeveralError
	if !errors.As(err, &several) {
		return nil
	}
	for _, one := range several.Errs {
		if reason.Of(one) != reason.ChartDownloadFailed {
			return nil
		}
	}
	return several
}

// mostFailed is how many charts a message names: they fit on a screen.
const mostFailed = 20

func (e *SeveralError) Error() string {
	if len(e.Errs) == 1 {
		return e.Errs[0].Error()
	}
	text := fmt.Sprintf("%d charts cannot be had:", len(e.Errs))
	for i, err := range e.Errs {
		if i == mostFailed {
			text += fmt.Sprintf("\n  and %d more: %s", len(e.Errs)-i, strings.Join(lists.AtMost(e.Components()[i:], mostFailed), ", "))
			break
		}
		text += "\n  " + strings.ReplaceAll(err.Error(), "\n", "\n  ")
	}
	return text
}

func (e *SeveralError) Unwrap() []error { return e.Errs }

// Hosts are the hosts that the downloads of a recipe's charts contacted according to the lock, as
// host:port. Reason: USAGE for a lock that does not fit.
func (u *Upstream) Hosts(pins []Pin) ([]string, error) {
	var hosts []string
	for _, p := range pins {
		e, err := u.Lock.Find(p)
		if err != nil {
			return nil, err
		}
		if e == nil {
			return nil, reason.Wrap(reason.Usage, u.notFound(p.Ref))
		}
		hosts = append(hosts, e.Hosts...)
	}
	slices.Sort(hosts)
	return slices.Compact(hosts), nil
}
