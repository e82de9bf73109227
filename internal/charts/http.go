package charts

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"

	"helm.sh/helm/v3/pkg/repo"
	"sigs.k8s.io/yaml"

	"github.com/nvidia/aicr-action/internal/charts/archive"
	"github.com/nvidia/aicr-action/internal/charts/catalog"
	"github.com/nvidia/aicr-action/internal/result/reason"
	"github.com/nvidia/aicr-action/internal/util/lists"
	"github.com/nvidia/aicr-action/internal/util/yamlx"
)

// indexOnce is a repository's index.yaml, read when it is first asked for.
type indexOnce struct {
	mu    sync.Mutex
	index *repo.IndexFile
	hosts []string
}

// fromRepository downloads a chart from a repository with an index.yaml, and says which hosts the
// index came from.
func (f *Fetcher) fromRepository(ctx context.Context, p Pin, want string) ([]byte, []string, error) {
	index, hosts, err := f.index(ctx, p.Repository)
	if err != nil {
		return nil, nil, err
	}
	found, err := inIndex(index, p.Ref)
	if err != nil {
		return nil, nil, err
	}
	if len(found.URLs) == 0 {
		return nil, nil, fmt.Errorf("the repository's index.yaml has no address of chart %s %s", found.Name, found.Version)
	}
	address, err := repo.ResolveReferenceURL(p.Repository, found.URLs[0])
	if err != nil {
		return nil, nil, fmt.Errorf("the repository's index.yaml: %w", err)
	}
	if ref, ok := strings.CutPrefix(address, "oci://"); ok { // an index may lead to a registry
		ref, tag := splitTag(ref)
		tgz, err := f.fromRegistry(ctx, ref, strings.ReplaceAll(tag, "_", "+"), want)
		return tgz, hosts, err
	}
	if strings.HasPrefix(p.Repository, "https://") && strings.HasPrefix(address, "http://") {
		return nil, nil, fmt.Errorf("the repository's index.yaml leads to %s, which is not encrypted", address)
	}
	tgz, err := f.get(ctx, p.Repository, address)
	if err != nil {
		return nil, nil, err
	}
	if told := strings.TrimPrefix(found.Digest, "sha256:"); want == "" && told != "" && "sha256:"+told != digestOf(tgz) {
		return nil, nil, fmt.Errorf("%s is not what the repository's index.yaml says: that has sha256:%s, and the archive is %s", address, told, digestOf(tgz))
	}
	return tgz, hosts, nil
}

func splitTag(ref string) (path, tag string) {
	if i := strings.LastIndex(ref, ":"); i > strings.LastIndex(ref, "/") {
		return ref[:i], ref[i+1:]
	}
	return ref, ""
}

// index reads the index of a repository, and keeps it. An attempt that failed is not kept: the next
// call reads again.
func (f *Fetcher) index(ctx context.Context, repository string) (*repo.IndexFile, []string, error) {
	f.mu.Lock()
	once := f.indexes[strings.TrimRight(repository, "/")]
	if once == nil {
		once = &indexOnce{}
		f.indexes[strings.TrimRight(repository, "/")] = once
	}
	f.mu.Unlock()
	once.mu.Lock()
	defer once.mu.Unlock()
	if once.index != nil {
		return once.index, once.hosts, nil
	}
	address, err := repo.ResolveReferenceURL(repository, "index.yaml")
	if err != nil {
		return nil, nil, err
	}
	ctx, hosts := withHosts(ctx)
	data, err := f.get(ctx, repository, address)
	if err != nil {
		return nil, nil, err
	}
	if err := yamlx.Check(data); err != nil {
		return nil, nil, fmt.Errorf("%s: %w", address, err)
	}
	index := &repo.IndexFile{}
	if err := yaml.Unmarshal(data, index); err != nil || index.Entries == nil {
		return nil, nil, fmt.Errorf("%s is not the index of a chart repository", address)
	}
	for name, versions := range index.Entries {
		index.Entries[name] = slices.DeleteFunc(versions, func(v *repo.ChartVersion) bool { return v == nil || v.Metadata == nil })
	}
	index.SortEntries()
	once.index, once.hosts = index, hosts.list()
	return once.index, once.hosts, nil
}

// inIndex finds a version by its name, which no range is. The newest version is as Helm chooses it.
func inIndex(index *repo.IndexFile, ref catalog.Ref) (*repo.ChartVersion, error) {
	versions := index.Entries[ref.Name]
	if len(versions) == 0 {
		var names []string
		for name := range index.Entries {
			names = append(names, name)
		}
		slices.Sort(names)
		return nil, fmt.Errorf("the repository's index.yaml has no chart %s; it has %s", ref.Name, listed(names))
	}
	if ref.Version == "" {
		newest, err := index.Get(ref.Name, "")
		if err != nil {
			return nil, fmt.Errorf("the repository has only pre-releases of chart %s; write the version into the recipe", ref.Name)
		}
		return newest, nil
	}
	for _, same := range []func(a, b string) bool{func(a, b string) bool { return a == b }, catalog.SameVersion} {
		for _, v := range versions {
			if same(v.Version, ref.Version) {
				return v, nil
			}
		}
	}
	var have []string
	for _, v := range versions {
		have = append(have, v.Version)
	}
	return nil, fmt.Errorf("the repository's index.yaml has no version %s of chart %s; it has %s", ref.Version, ref.Name, listed(have))
}

// Resolve gives the version that a range stands for today: the highest one in it that the repository
// has. Any other version it gives back. Reason: CHART_DOWNLOAD_FAILED.
func (f *Fetcher) Resolve(ctx context.Context, p Pin) (string, error) {
	if !catalog.IsRange(p.Version) {
		return p.Version, nil
	}
	ctx, cancel := context.WithTimeout(ctx, budget)
	defer cancel()
	have, err := f.versions(ctx, p)
	if err != nil {
		return "", reason.Wrap(reason.ChartDownloadFailed, fmt.Errorf("find the versions of chart %s in %s (component %s): %w", p.Name, p.Repository, p.Component, err))
	}
	best := ""
	for _, v := range have {
		if catalog.InRange(p.Version, v) && (best == "" || catalog.Newer(v, best)) {
			best = v
		}
	}
	if best == "" {
		return "", p.at("no version of chart %s in %s is in the range %q; there are %s", p.Name, p.Repository, p.Version, listed(have))
	}
	return best, nil
}

// versions are those of a chart that a repository has.
func (f *Fetcher) versions(ctx context.Context, p Pin) ([]string, error) {
	if err := errors.Join(checkName(p.Name), checkRepository(p.Repository)); err != nil {
		return nil, err
	}
	var have []string
	if rest, ok := strings.CutPrefix(p.Repository, "oci://"); ok {
		tags, err := f.tags(ctx, strings.TrimRight(rest, "/")+"/"+p.Name)
		for _, tag := range tags {
			have = append(have, strings.ReplaceAll(tag, "_", "+"))
		}
		return have, err
	}
	index, _, err := f.index(ctx, p.Repository)
	if err != nil {
		return nil, err
	}
	for _, v := range index.Entries[p.Name] {
		have = append(have, v.Version)
	}
	if len(have) == 0 {
		_, err = inIndex(index, p.Ref)
	}
	return have, err
}

// listed keeps a message readable.
func listed(names []string) string {
	if len(names) == 0 {
		return "none"
	}
	return strings.Join(lists.AtMost(names, 8), ", ")
}

// get downloads a file of a repository.
func (f *Fetcher) get(ctx context.Context, repository, address string) ([]byte, error) {
	entry := f.logins.of(repository)
	base, err := withTLS(f.transport, entry)
	if err != nil {
		return nil, err
	}
	client := &http.Client{Transport: &basic{next: &polite{base: base, now: f.now}, entry: entry}}
	var data []byte
	err = patiently(ctx, f.sleep, func() error {
		data, err = getOnce(ctx, client, address)
		return err
	})
	return data, err
}

func getOnce(ctx context.Context, client *http.Client, address string) ([]byte, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return nil, err
	}
	if r.URL.Scheme != "http" && r.URL.Scheme != "https" {
		return nil, fmt.Errorf("%s is an address of a kind that charts cannot be downloaded from", r.URL.Redacted())
	}
	r.Header.Set("User-Agent", userAgent)
	resp, err := client.Do(r)
	if err != nil {
		return nil, plain(err)
	}
	defer func() { _ = resp.Body.Close() }() // what matters is in the reads
	if resp.StatusCode != http.StatusOK {
		return nil, statusError(resp.Request.URL, resp.StatusCode, false)
	}
	if err := archive.CheckPacked(resp.ContentLength); err != nil {
		return nil, fmt.Errorf("%s: %w", address, err)
	}
	data, err := archive.ReadPacked(resp.Body)
	if errors.Is(err, io.ErrUnexpectedEOF) {
		return nil, fmt.Errorf("%s ended too early: the server announced %d bytes, and closed the connection before that: %w", address, resp.ContentLength, err)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", address, err)
	}
	return data, nil
}

// userAgent is how repositories see this program.
const userAgent = "aicr-action"

// plain is an error of net/http with the address as it may be printed.
func plain(err error) error {
	var of *url.Error
	if errors.As(err, &of) {
		return fmt.Errorf("%s: %w", of.URL, of.Err)
	}
	return err
}
