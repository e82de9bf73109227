package release

import (
	"archive/tar"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
	"github.com/klauspost/compress/zstd"

	"github.com/nvidia/aicr-action/internal/infra/host"
)

// BaseImage has certificates and nothing that runs.
const BaseImage = "gcr.io/distroless/static-debian12:latest"

// imageCache is the cache directory in the image; every user may write there.
const imageCache = "var/cache/aicr-action"

// Image is a container image with the programs of a release and its compiled stack, for jobs that
// run in a container. ko would build the programs again; these are the files of the release.
type Image struct {
	Version string
	Dir     string // of the release's files
	Base    string // image below it
	Ref     string // name and tag to push to
	// Progress gets what is done; nil is nowhere.
	Progress io.Writer
}

// Push makes the image for each Linux platform and pushes them as one index; it returns its digest.
// The login is Docker's configuration. The same files and base make the same digest.
func (i Image) Push(ctx context.Context) (string, error) {
	ref, err := name.ParseReference(i.Ref)
	if err != nil {
		return "", fmt.Errorf("push the image: --ref: %w", err)
	}
	base, err := name.ParseReference(i.Base)
	if err != nil {
		return "", fmt.Errorf("push the image: --base: %w", err)
	}
	key, err := StackKey()
	if err != nil {
		return "", err
	}
	options := []remote.Option{remote.WithContext(ctx), remote.WithAuthFromKeychain(authn.DefaultKeychain)}
	index := mutate.IndexMediaType(empty.Index, types.OCIImageIndex)
	for _, p := range platforms() {
		if p.OS != "linux" {
			continue
		}
		on := v1.Platform{OS: p.OS, Architecture: p.Arch}
		below, err := remote.Image(base, append(options, remote.WithPlatform(on))...)
		if err != nil {
			return "", fmt.Errorf("push the image: its base %s for %s: %w", i.Base, p, err)
		}
		made, err := i.image(below, p, key)
		if err != nil {
			return "", fmt.Errorf("push the image for %s: %w", p, err)
		}
		index = mutate.AppendManifests(index, mutate.IndexAddendum{Add: made, Descriptor: v1.Descriptor{Platform: &on}})
		if i.Progress != nil {
			_, _ = fmt.Fprintf(i.Progress, "made the image for %s\n", p)
		}
	}
	if err := remote.WriteIndex(ref, index, options...); err != nil {
		return "", fmt.Errorf("push the image %s: %w", i.Ref, err)
	}
	digest, err := index.Digest()
	return digest.String(), err
}

// image puts the programs and the stack of one platform over a base.
func (i Image) image(base v1.Image, p Platform, key string) (v1.Image, error) {
	programs, err := tarball.LayerFromOpener(func() (io.ReadCloser, error) {
		return piped(func(w *tar.Writer) error { return i.programs(w, p) }), nil
	})
	if err != nil {
		return nil, err
	}
	archive := filepath.Join(i.Dir, StackArchive(key, p))
	compiled, err := tarball.LayerFromOpener(func() (io.ReadCloser, error) {
		return piped(func(w *tar.Writer) error { return stackFiles(w, archive) }), nil
	})
	if err != nil {
		return nil, err
	}
	made, err := mutate.Append(mutate.MediaType(base, types.OCIManifestSchema1), mutate.Addendum{Layer: compiled}, mutate.Addendum{Layer: programs})
	if err != nil {
		return nil, err
	}
	config, err := made.ConfigFile()
	if err != nil {
		return nil, err
	}
	config = config.DeepCopy()
	config.Created, config.OS, config.Architecture = v1.Time{Time: time.Unix(0, 0)}, p.OS, p.Arch
	config.Config.Entrypoint, config.Config.Cmd, config.Config.WorkingDir = []string{"/usr/local/bin/matrix"}, nil, "/work"
	config.Config.Env = append(config.Config.Env, host.CacheEnv+"=/"+imageCache)
	config.Config.Labels = map[string]string{
		"org.opencontainers.image.source": "https://github.com/nvidia/aicr-action", "org.opencontainers.image.version": i.Version, "org.opencontainers.image.licenses": "Apache-2.0",
	}
	return mutate.ConfigFile(made, config)
}

// programs are the layer of one platform's programs, and the directories that a run writes to.
func (i Image) programs(w *tar.Writer, p Platform) error {
	if err := addDir(w, "work/", 0o1777); err != nil {
		return err
	}
	for _, program := range [][2]string{{"aicr", aicrBinary(i.Version, p)}, {"matrix", Binary(i.Version, p)}} {
		if err := addFile(w, "usr/local/bin/"+program[0], filepath.Join(i.Dir, program[1]), 0o755); err != nil {
			return err
		}
	}
	return nil
}

// stackFiles copies an archive of the stack to where the programs look for it.
func stackFiles(w *tar.Writer, archive string) error {
	f, err := os.Open(archive)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }()
	unpacked, err := zstd.NewReader(f)
	if err != nil {
		return err
	}
	defer unpacked.Close()
	for _, dir := range []string{imageCache + "/", imageCache + "/stack/"} {
		if err := addDir(w, dir, 0o1777); err != nil {
			return err
		}
	}
	for from := tar.NewReader(unpacked); ; {
		header, err := from.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("read %s: %w", archive, err)
		}
		if !filepath.IsLocal(header.Name) || header.Typeflag != tar.TypeReg {
			return fmt.Errorf("%s has %q, which is no file of a stack", archive, header.Name)
		}
		header.Name = imageCache + "/stack/" + header.Name
		if err := w.WriteHeader(header); err != nil {
			return err
		}
		if _, err := io.Copy(w, from); err != nil {
			return err
		}
	}
}

func addDir(w *tar.Writer, name string, mode int64) error {
	return w.WriteHeader(&tar.Header{Typeflag: tar.TypeDir, Name: name, Mode: mode, ModTime: time.Unix(0, 0)})
}

// piped gives what a function writes to an archive.
func piped(write func(*tar.Writer) error) io.ReadCloser {
	r, w := io.Pipe()
	go func() {
		archive := tar.NewWriter(w)
		err := write(archive)
		if err == nil {
			err = archive.Close()
		}
		_ = w.CloseWithError(err)
	}()
	return r
}
