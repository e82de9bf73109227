package charts

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/Masterminds/semver/v3"
	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/remote/transport"
	"helm.sh/helm/v3/pkg/registry"

	"github.com/nvidia/aicr-action/internal/charts/archive"
	"github.com/nvidia/aicr-action/internal/util/egress"
)

// fromRegistry downloads a chart from HOST/PATH of an OCI registry. Plain HTTP is spoken to this
// machine only.
func (f *Fetcher) fromRegistry(ctx context.Context, path, version, want string) ([]byte, error) {
	repository, err := repositoryOf(path)
	if err != nil {
		return nil, err
	}
	var tgz []byte
	err = patiently(ctx, f.sleep, func() error {
		tgz, err = f.pull(ctx, repository, version, want)
		return err
	})
	return tgz, f.registryError(repository, err)
}

// repositoryOf is HOST/PATH of a registry.
func repositoryOf(path string) (name.Repository, error) {
	host, _, _ := strings.Cut(path, "/")
	opts := []name.Option{name.StrictValidation}
	if egress.Loopback(host) {
		opts = append(opts, name.Insecure)
	}
	repository, err := name.NewRepository(path, opts...)
	if err != nil {
		return repository, fmt.Errorf("oci://%s: %w", path, err)
	}
	return repository, nil
}

// tags are those of HOST/PATH of a registry.
func (f *Fetcher) tags(ctx context.Context, path string) ([]string, error) {
	repository, err := repositoryOf(path)
	if err != nil {
		return nil, err
	}
	var tags []string
	err = patiently(ctx, f.sleep, func() error {
		tags, err = remote.List(repository, f.options(ctx)...)
		return err
	})
	return tags, f.registryError(repository, err)
}

func (f *Fetcher) options(ctx context.Context) []remote.Option {
	return []remote.Option{
		remote.WithContext(ctx), remote.WithAuthFromKeychain(f.logins.keychain), remote.WithUserAgent(userAgent),
		remote.WithTransport(&polite{base: &egress.Answers{Base: f.transport}, now: f.now}),
		// The library must not retry: patiently retries errors that may pass, and waits as long as
		// the registry requests.
		remote.WithRetryStatusCodes(), remote.WithRetryPredicate(func(error) bool { return false }),
	}
}

func (f *Fetcher) pull(ctx context.Context, repository name.Repository, version, want string) ([]byte, error) {
	if version == "" {
		tags, err := remote.List(repository, f.options(ctx)...)
		if err != nil {
			return nil, err
		}
		if version = newest(tags); version == "" {
			return nil, fmt.Errorf("the registry has no release of the chart; it has the tags %s", listed(tags))
		}
	}
	found, err := remote.Get(repository.Tag(strings.ReplaceAll(version, "+", "_")), f.options(ctx)...)
	if err != nil {
		return nil, err
	}
	if !found.MediaType.IsImage() {
		return nil, fmt.Errorf("%s:%s is no chart: its manifest is of the type %q", repository, version, found.MediaType)
	}
	img, err := found.Image()
	if err != nil {
		return nil, err
	}
	manifest, err := img.Manifest()
	if err != nil {
		return nil, err
	}
	at := slices.IndexFunc(manifest.Layers, func(l v1.Descriptor) bool {
		return l.MediaType == registry.ChartLayerMediaType || l.MediaType == registry.LegacyChartLayerMediaType
	})
	if at < 0 {
		return nil, fmt.Errorf("%s:%s is no chart: none of its layers is of the type %s", repository, version, registry.ChartLayerMediaType)
	}
	layer := manifest.Layers[at]
	if want != "" && layer.Digest.String() != want {
		return nil, &changedError{Want: want, Got: layer.Digest.String()}
	}
	if err := archive.CheckPacked(layer.Size); err != nil {
		return nil, err
	}
	blob, err := img.LayerByDigest(layer.Digest)
	if err != nil {
		return nil, err
	}
	content, err := blob.Compressed() // which also checks size and digest
	if err != nil {
		return nil, err
	}
	defer func() { _ = content.Close() }() // what matters is in the reads
	tgz, err := archive.ReadPacked(content)
	if err != nil {
		return nil, fmt.Errorf("the chart's layer %s: %w", layer.Digest, err)
	}
	return tgz, nil
}

// newest is the highest version among tags that is no pre-release.
func newest(tags []string) string {
	var best *semver.Version
	text := ""
	for _, tag := range tags {
		v, err := semver.NewVersion(strings.ReplaceAll(tag, "_", "+"))
		if err == nil && v.Prerelease() == "" && (best == nil || v.GreaterThan(best)) {
			best, text = v, strings.ReplaceAll(tag, "_", "+")
		}
	}
	return text
}

// registryError says what a registry's answer means.
func (f *Fetcher) registryError(repository name.Repository, err error) error {
	var answer *transport.Error
	if !errors.As(err, &answer) {
		return err
	}
	u := &url.URL{Scheme: "https", Host: repository.RegistryStr(), Path: "/v2/" + repository.RepositoryStr()}
	if answer.Request != nil && answer.Request.URL != nil {
		u = answer.Request.URL
	}
	if answer.StatusCode == http.StatusUnauthorized || answer.StatusCode == http.StatusForbidden {
		u = &url.URL{Scheme: u.Scheme, Host: repository.RegistryStr(), Path: u.Path} // a token may come from another host, and the login is the registry's
	}
	return statusError(u, answer.StatusCode, true)
}
