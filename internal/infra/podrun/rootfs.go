package podrun

// rootfs.go gets images onto this machine: it pulls one by its digest from its registry, and
// unpacks it into a directory of the cache, which a process can have as its root. It must not know
// pods, or what the programs in an image are for.

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/remote/transport"

	"github.com/nvidia/aicr-action/internal/infra"
	"github.com/nvidia/aicr-action/internal/util/egress"
	"github.com/nvidia/aicr-action/internal/util/filesys"
	"github.com/nvidia/aicr-action/internal/util/lists"
)

// Limits of an image. The largest operator of the recipes has a tenth of them.
const (
	mostPacked   = 1 << 30 // of all layers, compressed
	mostUnpacked = 4 << 30
	mostFiles    = 400_000
	mostConfig   = 4 << 20
)

// budget is the time in which an image is pulled and unpacked.
const budget = 10 * time.Minute

// system is the one whose programs a cell's machine runs as processes.
const system = "linux"

// RootFSStore has unpacked images.
type RootFSStore struct {
	// Dir is where they are kept, a directory each.
	Dir string
	// Progress, if set, is told what is pulled.
	Progress infra.Progress
	// Architecture is the machine's, in Go's words; empty: this one's.
	Architecture string
}

// description is the file beside an image's root.
const description = "image.json"

// Get is an image for this machine. One that is named by a digest, and is there, needs no network;
// one that is named by a tag is asked for again, since the tag may have moved.
func (s *RootFSStore) Get(ctx context.Context, image string) (*infra.Unpacked, error) {
	ref, err := name.ParseReference(image, name.WeakValidation)
	if err != nil {
		return nil, fmt.Errorf("the image %q: %w", image, err)
	}
	if digest, ok := ref.(name.Digest); ok {
		if have, err := s.have(digest.DigestStr()); have != nil || err != nil {
			return have, err
		}
	}
	whole := ctx
	ctx, cancel := context.WithTimeout(ctx, budget)
	defer cancel()
	got, err := s.pull(ctx, ref)
	switch {
	case err == nil:
		return got, nil
	case whole.Err() != nil: // ended from outside
		return nil, context.Cause(whole)
	case ctx.Err() != nil:
		err = fmt.Errorf("it was not pulled and unpacked within %s", budget)
	}
	return nil, fmt.Errorf("pull the image %s: %w", image, explained(err))
}

func (s *RootFSStore) architecture() string {
	if s.Architecture != "" {
		return s.Architecture
	}
	return runtime.GOARCH
}

// place is the directory of an image with a digest.
func (s *RootFSStore) place(digest string) string {
	return filepath.Join(s.Dir, strings.ReplaceAll(digest, ":", "-")+"-"+s.architecture())
}

// have is an image that is in the cache; nil if it is not.
func (s *RootFSStore) have(digest string) (*infra.Unpacked, error) {
	dir := s.place(digest)
	raw, err := os.ReadFile(filepath.Join(dir, description))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	var u infra.Unpacked
	if err == nil {
		err = json.Unmarshal(raw, &u)
	}
	if err != nil {
		return nil, fmt.Errorf("read the unpacked image %s: %w; remove that directory", dir, err)
	}
	u.Root = filepath.Join(dir, "root")
	return &u, nil
}

func (s *RootFSStore) pull(ctx context.Context, ref name.Reference) (*infra.Unpacked, error) {
	transport := egress.NewTransport(os.Getenv, nil) // the user names the image
	defer transport.CloseIdleConnections()
	options := []remote.Option{remote.WithContext(ctx), remote.WithAuthFromKeychain(authn.DefaultKeychain), remote.WithTransport(&egress.Answers{Base: transport})}
	found, err := remote.Get(ref, options...)
	if err != nil {
		return nil, err
	}
	digest := found.Digest.String()
	if have, err := s.have(digest); have != nil || err != nil {
		return have, err
	}
	img, err := s.forMachine(found)
	if err != nil {
		return nil, err
	}
	manifest, err := img.Manifest()
	if err != nil {
		return nil, err
	}
	packed := int64(0)
	for _, l := range manifest.Layers {
		if l.Size < 0 {
			return nil, fmt.Errorf("its layer %s has a size of %d bytes", l.Digest, l.Size)
		}
		packed = min(packed, mostPacked) + min(l.Size, mostPacked+1)
	}
	if packed > mostPacked {
		return nil, fmt.Errorf("its layers have more than %d MiB, which are the most that is pulled", mostPacked>>20)
	}
	if s.Progress != nil {
		task := s.Progress.Begin(fmt.Sprintf("Pulling the image %s (%d MiB)", ref, packed>>20))
		got, err := s.keep(ctx, img, digest)
		task.End("", err)
		return got, err
	}
	return s.keep(ctx, img, digest)
}

// forMachine is the image of an index that is for this machine, or the one that there is.
func (s *RootFSStore) forMachine(found *remote.Descriptor) (v1.Image, error) {
	want := system + "/" + s.architecture()
	img, err := s.choose(found, want)
	if err != nil {
		return nil, err
	}
	manifest, err := img.Manifest()
	if err != nil {
		return nil, err
	}
	if size := manifest.Config.Size; size < 0 || size > mostConfig {
		return nil, fmt.Errorf("its configuration has a size of %d bytes, and %d MiB are the most that is read", size, mostConfig>>20)
	}
	config, err := img.ConfigFile()
	if err != nil {
		return nil, err
	}
	if have := config.OS + "/" + config.Architecture; have != want { // whatever an index says of it
		return nil, fmt.Errorf("it is for %.100q, and this machine runs %s", have, want)
	}
	return img, nil
}

// platformsNamed are those of an index that an error lists.
const platformsNamed = 10

// choose is the image that an index has for a platform. It is not found in an index within the index.
func (s *RootFSStore) choose(found *remote.Descriptor, want string) (v1.Image, error) {
	if !found.MediaType.IsIndex() {
		return found.Image()
	}
	index, err := found.ImageIndex()
	if err != nil {
		return nil, err
	}
	manifest, err := index.IndexManifest()
	if err != nil {
		return nil, err
	}
	var have []string
	for _, m := range manifest.Manifests {
		if m.Platform == nil || !m.MediaType.IsImage() {
			continue
		}
		platform := m.Platform.OS + "/" + m.Platform.Architecture
		if platform == want {
			return index.Image(m.Digest)
		}
		have = append(have, fmt.Sprintf("%.100q", platform))
	}
	if len(have) == 0 {
		return nil, fmt.Errorf("it is an index without an image for any platform, and this machine runs %s", want)
	}
	slices.Sort(have)
	return nil, fmt.Errorf("it is for %s, and this machine runs %s", strings.Join(lists.AtMost(slices.Compact(have), platformsNamed), ", "), want)
}

// unpacking begins the name of the directory of an image that is not whole yet.
const unpacking = ".unpacking-"

// removeLeft removes what runs have left that were killed while they unpacked an image. What is in the
// way then is no reason not to go on.
func (s *RootFSStore) removeLeft() {
	all, err := filepath.Glob(filepath.Join(s.Dir, unpacking+"*"))
	if err != nil {
		return
	}
	for _, dir := range all {
		if info, err := os.Lstat(dir); err == nil && time.Since(info.ModTime()) > 2*budget {
			_ = filesys.RemoveTree(dir)
		}
	}
}

// keep unpacks an image beside the others, and puts it in its place once it is whole. Another
// process may do the same at the same time: the first one's stays.
func (s *RootFSStore) keep(ctx context.Context, img v1.Image, digest string) (*infra.Unpacked, error) {
	config, err := img.ConfigFile()
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(s.Dir, 0o755); err != nil {
		return nil, err
	}
	s.removeLeft()
	tmp, err := os.MkdirTemp(s.Dir, unpacking)
	if err != nil {
		return nil, err
	}
	defer func() { _ = filesys.RemoveTree(tmp) }() // it is in its place, or of no use
	if err := unpackRootFS(ctx, img, filepath.Join(tmp, "root")); err != nil {
		return nil, err
	}
	c := config.Config
	raw, err := json.MarshalIndent(infra.Unpacked{Digest: digest, Entrypoint: c.Entrypoint, Cmd: c.Cmd, Env: c.Env, WorkDir: c.WorkingDir, User: c.User}, "", "  ")
	if err != nil {
		return nil, err
	}
	if err := os.WriteFile(filepath.Join(tmp, description), raw, 0o644); err != nil {
		return nil, err
	}
	if err := os.Rename(tmp, s.place(digest)); err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, err
	}
	have, err := s.have(digest)
	if err == nil && have == nil {
		err = fmt.Errorf("it is not in %s", s.place(digest))
	}
	return have, err
}

// explained adds to a registry's error what to do.
func explained(err error) error {
	var answer *transport.Error
	switch {
	case errors.As(err, &answer) && answer.StatusCode == http.StatusUnauthorized, errors.As(err, &answer) && answer.StatusCode == http.StatusForbidden:
		return fmt.Errorf("%w; log in with `docker login`, or give the program as a file: IMAGE=FILE", err)
	case errors.As(err, &answer):
		return err
	case strings.Contains(err.Error(), "does not match requested digest"), strings.Contains(err.Error(), "error verifying"):
		return fmt.Errorf("what the registry sent does not fit its digest, so that nothing of it is used: %w", err)
	}
	return err
}
