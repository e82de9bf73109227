package charts

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"golang.org/x/sync/errgroup"
	"helm.sh/helm/v3/pkg/chart"

	"github.com/nvidia/aicr-action/internal/charts/archive"
	"github.com/nvidia/aicr-action/internal/charts/catalog"
	"github.com/nvidia/aicr-action/internal/result/reason"
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

// eachPin calls do for some pins at a time.
func eachPin(ctx context.Context, pins []Pin, tell func(done, of int), do func(context.Context, Pin) error) error {
	group, gctx := errgroup.WithContext(ctx)
	group.SetLimit(atATime)
	var mu sync.Mutex
	done := 0
	for _, p := range pins {
		group.Go(func() error {
			if err := do(gctx, p); err != nil {
				return err
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
	err := group.Wait()
	if cause := context.Cause(ctx); cause != nil {
		return cause
	}
	return err
}

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
