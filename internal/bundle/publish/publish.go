// Package publish completes a bundle's directory (checksums, index, vendored charts) and pushes
// bundles and charts to an OCI registry or a Git repository.
package publish

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"sort"
	"strings"
	"time"

	"github.com/Masterminds/semver/v3"
	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/types"
	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/chart/loader"
	"helm.sh/helm/v3/pkg/chartutil"

	"github.com/nvidia/aicr-action/internal/bundle"
)

// Media types of a published chart. Helm and Flux select its layers by them.
const (
	chartLayerMediaType  = "application/vnd.cncf.helm.chart.content.v1.tar+gzip"
	chartConfigMediaType = "application/vnd.cncf.helm.config.v1+json"
)

// published is the time stamp in everything that is published: the same bundle must have the same
// digest tomorrow.
func published() time.Time { return time.Unix(0, 0).UTC() }

// Published is what was pushed: where it is, and what it is.
type Published struct {
	// URL is oci://HOST/PATH as the pusher reaches it, without the tag.
	URL string
	Tag string
	// Digest is the manifest's, e.g. sha256:0123….
	Digest string
}

// Target is what kind of registry is pushed to.
type Target struct {
	PlainHTTP bool
	// Open: it is the harness's own, which takes pushes without a login. The user's Docker config, and
	// the programs that it names for logins, are not asked.
	Open bool
}

// Own is a cell's registry.
func Own() Target { return Target{PlainHTTP: true, Open: true} }

func (t Target) keychain() authn.Keychain {
	if t.Open {
		return nobody{}
	}
	return authn.DefaultKeychain
}

// nobody logs in nowhere.
type nobody struct{}

func (nobody) Resolve(authn.Resource) (authn.Authenticator, error) { return authn.Anonymous, nil }

// PublishBundle pushes the bundle as an OCI artifact with one layer to ref (HOST/PATH:TAG, with or
// without oci://). The same bundle always has the same digest. Credentials are those of the Docker
// config, unless the registry is open.
func PublishBundle(ctx context.Context, b *bundle.Bundle, ref string, to Target) (Published, error) {
	ref = strings.TrimPrefix(ref, "oci://")
	repo, tag := ref, ""
	if i := strings.LastIndex(ref, ":"); i > strings.LastIndex(ref, "/") {
		repo, tag = ref[:i], ref[i+1:]
	}
	if tag == "" {
		return Published{}, fmt.Errorf("publishing the %s bundle: %s has no tag", b.Deployer, ref)
	}
	if bundle.ByFlux(b.Deployer) {
		return publishFlux(ctx, b, repo, tag, to)
	}
	tgz, err := archive("", b.Files)
	if err != nil {
		return Published{}, fmt.Errorf("packing the %s bundle: %w", b.Deployer, err)
	}
	img, err := newBundleImage(tgz, map[string]string{
		"org.opencontainers.image.created":  published().Format(time.RFC3339),
		"org.opencontainers.image.revision": tag,
		"org.opencontainers.image.source":   "oci://" + repo,
		"org.opencontainers.image.title":    path.Base(repo),
	})
	if err != nil {
		return Published{}, fmt.Errorf("packing the %s bundle: %w", b.Deployer, err)
	}
	return push(ctx, img, repo, tag, to)
}

// PushChart pushes a chart as `helm push CHART repo` does, to repo/NAME:VERSION with the + of a
// version written as _. The same chart always has the same digest.
func PushChart(ctx context.Context, ch *chart.Chart, repo string, to Target) (Published, error) {
	img, err := chartImage(ch)
	if err != nil {
		return Published{}, err
	}
	return push(ctx, img, strings.TrimSuffix(strings.TrimPrefix(repo, "oci://"), "/")+"/"+ch.Metadata.Name, chartTag(ch.Metadata.Version), to)
}

// chartDigest is the digest under which PushChart pushes a chart, e.g. sha256:0123….
func chartDigest(ch *chart.Chart) (string, error) {
	img, err := chartImage(ch)
	if err != nil {
		return "", err
	}
	digest, err := img.Digest()
	return digest.String(), err
}

// VersionInFlux is the version of a chart that Flux has from an OCIRepository, as its templates see it:
// helm-controller replaces the version's metadata by the start of the artifact's digest, so that
// a tag that was moved is noticed. The digest is that in the cell's registry.
func VersionInFlux(ch *chart.Chart) (string, error) {
	v, err := semver.NewVersion(ch.Metadata.Version)
	if err != nil {
		return "", err
	}
	digest, err := chartDigest(ch)
	if err != nil {
		return "", err
	}
	_, sum, _ := strings.Cut(digest, ":")
	seen, err := v.SetMetadata(sum[:12])
	return seen.String(), err
}

func chartImage(ch *chart.Chart) (v1.Image, error) {
	tgz, err := PackChart(ch)
	if err != nil {
		return nil, err
	}
	config, err := json.Marshal(ch.Metadata)
	if err != nil {
		return nil, fmt.Errorf("packing chart %s: %w", ch.Metadata.Name, err)
	}
	annotations := map[string]string{
		"org.opencontainers.image.created": published().Format(time.RFC3339),
		"org.opencontainers.image.title":   ch.Metadata.Name,
		"org.opencontainers.image.version": ch.Metadata.Version,
	}
	if ch.Metadata.Description != "" {
		annotations["org.opencontainers.image.description"] = ch.Metadata.Description
	}
	img, err := newImage(config, chartConfigMediaType, tgz, chartLayerMediaType, annotations)
	if err != nil {
		return nil, fmt.Errorf("packing chart %s: %w", ch.Metadata.Name, err)
	}
	return img, nil
}

// chartTag is the tag of a chart's version: a + cannot be in a tag, and Helm writes it as _.
func chartTag(version string) string { return strings.ReplaceAll(version, "+", "_") }

// Is reports whether this is what was pushed to the repository url under a chart's version or
// another tag.
func (p Published) Is(url, version string) bool {
	return p.URL == strings.TrimSuffix(url, "/") && p.Tag == chartTag(version)
}

func push(ctx context.Context, img v1.Image, repo, tag string, to Target) (Published, error) {
	ref := repo + ":" + tag
	var opts []name.Option
	if to.PlainHTTP {
		opts = append(opts, name.Insecure)
	}
	parsed, err := name.NewTag(ref, opts...)
	if err != nil {
		return Published{}, fmt.Errorf("publishing: %w", err)
	}
	if err := remote.Write(parsed, img, remote.WithContext(ctx), remote.WithAuthFromKeychain(to.keychain())); err != nil {
		return Published{}, fmt.Errorf("publishing %s: %w", ref, err)
	}
	digest, err := img.Digest()
	if err != nil {
		return Published{}, fmt.Errorf("publishing %s: %w", ref, err)
	}
	return Published{URL: "oci://" + repo, Tag: tag, Digest: digest.String()}, nil
}

// PackChart is `helm package` with the same bytes every time: the chart's files as they were
// loaded, sorted, with a fixed time. It copies every file unchanged.
func PackChart(ch *chart.Chart) ([]byte, error) {
	if ch == nil || ch.Metadata == nil {
		return nil, errors.New("packing a chart without metadata")
	}
	raw, err := rawFiles(ch)
	if err != nil {
		return nil, fmt.Errorf("packing chart %s: %w", ch.Metadata.Name, err)
	}
	files := make([]bundle.File, 0, len(raw))
	for _, f := range raw {
		files = append(files, bundle.File{Path: f.Name, Mode: 0o644, Content: f.Data})
	}
	tgz, err := archive(ch.Metadata.Name, files)
	if err != nil {
		return nil, fmt.Errorf("packing chart %s: %w", ch.Metadata.Name, err)
	}
	return tgz, nil
}

// rawFiles are a chart's original files. A chart that was made in memory has none, so it is written
// and read once.
func rawFiles(ch *chart.Chart) ([]*chart.File, error) {
	if len(ch.Raw) > 0 {
		return ch.Raw, nil
	}
	dir, err := os.MkdirTemp("", "chart-")
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.RemoveAll(dir) }() // a temporary directory; the artifact is what matters
	file, err := chartutil.Save(ch, dir)
	if err != nil {
		return nil, err
	}
	loaded, err := loader.LoadFile(file)
	if err != nil {
		return nil, err
	}
	return loaded.Raw, nil
}

// archive packs files, with their directories, below a directory ("" for none). A path that leads
// out is an error.
func archive(dir string, files []bundle.File) ([]byte, error) {
	files = slices.Clone(files)
	slices.SortFunc(files, func(a, b bundle.File) int { return strings.Compare(a.Path, b.Path) })
	for _, f := range files {
		if !fs.ValidPath(f.Path) || dir != "" && !fs.ValidPath(dir) {
			return nil, fmt.Errorf("%q leads out of the archive", path.Join(dir, f.Path))
		}
	}
	var b bytes.Buffer
	zw := gzip.NewWriter(&b) // without a name or time in its header
	tw := tar.NewWriter(zw)
	for _, d := range directories(dir, files) {
		if err := tw.WriteHeader(&tar.Header{Typeflag: tar.TypeDir, Name: d + "/", Mode: 0o755, ModTime: published(), Format: tar.FormatPAX}); err != nil {
			return nil, err
		}
	}
	for _, f := range files {
		h := &tar.Header{Typeflag: tar.TypeReg, Name: path.Join(dir, f.Path), Mode: int64(f.Mode), Size: int64(len(f.Content)), ModTime: published(), Format: tar.FormatPAX}
		if err := tw.WriteHeader(h); err != nil {
			return nil, err
		}
		if _, err := io.Copy(tw, bytes.NewReader(f.Content)); err != nil {
			return nil, err
		}
	}
	if err := tw.Close(); err != nil {
		return nil, err
	}
	if err := zw.Close(); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

func directories(root string, files []bundle.File) []string {
	seen := map[string]bool{}
	for _, f := range files {
		for d := path.Dir(path.Join(root, f.Path)); d != "."; d = path.Dir(d) {
			seen[d] = true
		}
	}
	dirs := make([]string, 0, len(seen))
	for d := range seen {
		dirs = append(dirs, d)
	}
	sort.Strings(dirs)
	return dirs
}

func newBundleImage(tgz []byte, annotations map[string]string) (v1.Image, error) {
	diffID, err := uncompressedDigest(tgz)
	if err != nil {
		return nil, err
	}
	config, err := json.Marshal(&v1.ConfigFile{
		Architecture: "amd64", OS: "linux", // required by the image specification; nothing here runs
		RootFS: v1.RootFS{Type: "layers", DiffIDs: []v1.Hash{diffID}},
	})
	if err != nil {
		return nil, err
	}
	return newImage(config, string(types.OCIConfigJSON), tgz, bundle.LayerMediaType, annotations)
}
