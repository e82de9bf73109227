package charts

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"helm.sh/helm/v3/pkg/chart"

	"github.com/nvidia/aicr-action/internal/charts/archive"
	"github.com/nvidia/aicr-action/internal/charts/catalog"
	"github.com/nvidia/aicr-action/internal/result/reason"
	"github.com/nvidia/aicr-action/internal/util/egress"
	"github.com/nvidia/aicr-action/internal/util/httpstatus"
)

// budget is the time that one chart's download may take, with all that is waited for between
// attempts.
const budget = 5 * time.Minute

// Fetcher downloads charts. It is safe for concurrent use, and reads each repository's index once.
type Fetcher struct {
	transport *egress.Transport
	guard     *egress.Guard
	logins    *logins
	now       func() time.Time
	sleep     func(context.Context, time.Duration) error

	mu      sync.Mutex
	indexes map[string]*indexOnce
}

// NewFetcher makes a fetcher with the user's logins and proxies (HTTP_PROXY, HTTPS_PROXY and
// NO_PROXY of getenv). A repository may be on this machine or in a private network if it is among the allowed
// hosts and networks, or if the user has a login for it.
func NewFetcher(getenv func(string) string, allowed []string) (*Fetcher, error) {
	l, err := readLogins()
	if err != nil {
		return nil, reason.Wrap(reason.Usage, err)
	}
	guard := &egress.Guard{Allow: allowed, Named: l.names}
	return &Fetcher{transport: egress.NewTransport(getenv, guard), guard: guard, logins: l, now: time.Now, sleep: sleep, indexes: map[string]*indexOnce{}}, nil
}

// Guard says which private hosts the fetcher dials.
func (f *Fetcher) Guard() *egress.Guard { return f.guard }

// Download is a chart that has just been downloaded.
type Download struct {
	Archive []byte
	Chart   *chart.Chart
	Digest  string
	// Hosts are all hosts that the download contacted, as host:port.
	Hosts []string
}

// Fetch downloads a chart. Without a version it is the newest one that is no pre-release. If want
// is not empty, an archive with another digest is a *changedError. Reasons: CHART_DOWNLOAD_FAILED,
// CHART_CHANGED.
func (f *Fetcher) Fetch(ctx context.Context, p Pin, want string) (*Download, error) {
	if err := p.check(); err != nil {
		return nil, err
	}
	whole := ctx
	ctx, cancel := context.WithTimeoutCause(ctx, budget, httpstatus.With(http.StatusGatewayTimeout, fmt.Errorf("the download did not end within %s", budget)))
	defer cancel()
	ctx, hosts := withHosts(ctx)
	var tgz []byte
	var indexHosts []string
	var err error
	if rest, ok := strings.CutPrefix(p.Repository, "oci://"); ok {
		tgz, err = f.fromRegistry(ctx, strings.TrimRight(rest, "/")+"/"+p.Name, p.Version, want)
	} else {
		tgz, indexHosts, err = f.fromRepository(ctx, p, want)
	}
	fail := func(err error) error {
		err = fmt.Errorf("download chart %s %s from %s (component %s): %w", p.Name, versionText(p.Version), p.Repository, p.Component, err)
		return reason.Wrap(reason.ChartDownloadFailed, err)
	}
	var changed *changedError
	switch {
	case err != nil && whole.Err() != nil: // it was ended from outside, e.g. by what another download met
		return nil, context.Cause(whole)
	case errors.As(err, &changed):
		return nil, changed.of(p)
	case err != nil && context.Cause(ctx) != nil && errors.Is(err, context.DeadlineExceeded):
		return nil, fail(context.Cause(ctx))
	case err != nil:
		return nil, fail(err)
	}
	digest := digestOf(tgz)
	if want != "" && digest != want {
		return nil, (&changedError{Want: want, Got: digest}).of(p)
	}
	ch, err := archive.Load(tgz)
	if err != nil && !archive.Broken(err) { // the chart's own fault: another download brings the same
		err = reason.Wrap(reason.BundleFailed, err)
	} else if err == nil {
		err = isChart(ch, p.Ref)
	}
	if err != nil {
		return nil, fail(fmt.Errorf("the archive cannot be used: %w", err))
	}
	all := slices.Concat(indexHosts, hosts.list())
	slices.Sort(all)
	return &Download{Archive: tgz, Chart: ch, Digest: digest, Hosts: slices.Compact(all)}, nil
}

// isChart: an archive may say of itself that it is something else.
func isChart(ch *chart.Chart, ref catalog.Ref) error {
	if ch.Metadata.Name != ref.Name || ref.Version != "" && !catalog.SameVersion(ch.Metadata.Version, ref.Version) {
		return fmt.Errorf("it is chart %q %q by its own Chart.yaml", ch.Metadata.Name, ch.Metadata.Version)
	}
	return nil
}

// changedError is a chart whose bytes are not those of the lock file.
type changedError struct {
	Want, Got string
	pin       Pin
	place     string // the entry's, e.g. "recipes/charts.lock:6: "; empty if it is not known
}

// of says whose chart it is.
func (e *changedError) of(p Pin) error {
	return &reason.Error{Reason: reason.ChartChanged, Err: &changedError{Want: e.Want, Got: e.Got, pin: p, place: e.place}}
}

// placed says of an entry whose chart has changed where the lock file has it; other errors stay as they are.
func (l *Lock) placed(e *Entry, err error) error {
	if changed := (*changedError)(nil); errors.As(err, &changed) {
		changed.place = fmt.Sprintf("%s:%d: ", l.File, e.line)
	}
	return err
}

func (e *changedError) Error() string {
	return e.place + fmt.Sprintf("chart %s %s of %s (component %s) is not the one that was locked: the lock has %s, and the repository has %s now. Its bytes have changed under the same version, so it was not used. "+
		"If that is meant, remove its entry from %s and run `%s`", e.pin.Name, versionText(e.pin.Version), e.pin.Repository, e.pin.Component, e.Want, e.Got, LockFile, lockCommand)
}

// statusError explains an HTTP status to the author of the recipe, and says what to do about it.
func statusError(u *url.URL, status int, oci bool) error {
	text := fmt.Sprintf("%s answers %d %s", u.Redacted(), status, http.StatusText(status))
	login := "`helm repo add NAME URL --username USER` stores it, with the repository's URL as the recipe has it"
	if oci {
		login = fmt.Sprintf("`helm registry login %s` or `docker login %s` stores it", u.Host, u.Host)
	}
	switch status {
	case http.StatusUnauthorized, http.StatusForbidden:
		text += fmt.Sprintf(": %s needs a login, or has another one: %s. Some registries answer so too if there is no such chart", u.Host, login)
	case http.StatusNotFound, http.StatusGone:
		text += ": there is no such chart; check source, chart and version in the recipe"
	case http.StatusProxyAuthRequired:
		text += ": the proxy needs a login (HTTPS_PROXY=http://USER:PASSWORD@HOST:PORT)"
	}
	return httpstatus.With(status, errors.New(text))
}
