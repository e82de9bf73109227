package stack

// image.go asks a registry for an image of a platform, downloads those of its layers that are needed, and
// checks what comes: digests, sizes, and that a program is one that runs by itself on this machine.

import (
	"cmp"
	"context"
	"debug/buildinfo"
	"debug/elf"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/go-containerregistry/pkg/authn"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/remote/transport"

	"github.com/nvidia/aicr-action/internal/infra"
	"github.com/nvidia/aicr-action/internal/util/egress"
	"github.com/nvidia/aicr-action/internal/util/httpstatus"
	"github.com/nvidia/aicr-action/internal/util/lists"
)

const (
	// imageBudget is the time in which an image is pulled.
	imageBudget = 10 * time.Minute
	// mostImage is all that the layers of an image may have, compressed, in bytes.
	mostImage = 2 << 30
	// stallTime is how long nothing may come of a layer.
	stallTime = 30 * time.Second
	// mostPatience is how long a busy registry may make one image wait in all.
	mostPatience = 60 * time.Second
)

// remoteImage is an image of a registry for one platform.
type remoteImage struct {
	name     string // with the digest
	whole    string // the digest of what was asked for, which may be an index
	signedBy string // whose signature was verified; empty if none was
	platform string
	tree     *tree
	size     int64 // what was downloaded
	close    func()
}

// open asks for an image; its layers come into dir when they are needed.
func (o *Origin) open(ctx context.Context, ref, platform, dir string, task infra.Task) (*remoteImage, error) {
	at, err := o.reference(ref)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, imageBudget, fmt.Errorf("it was not pulled within %s", imageBudget))
	base := egress.NewTransport(os.Getenv, nil) // the lock or the user names it
	end := func() { cancel(); base.CloseIdleConnections() }
	options := []remote.Option{
		remote.WithContext(ctx), remote.WithAuthFromKeychain(authn.DefaultKeychain),
		remote.WithTransport(&egress.Answers{Base: &patient{base: base, left: mostPatience}}),
	}
	opened := &remoteImage{platform: platform, close: end}
	image, digest, err := choosePlatform(at.Context().Name(), platform, func() (*remote.Descriptor, error) {
		found, err := remote.Get(at, options...)
		if err == nil {
			opened.whole = found.Digest.String()
		}
		return found, err
	})
	if err != nil {
		err = explained(ctx, err)
		end()
		return nil, err
	}
	tag, _, _ := strings.Cut(ref, "@")
	opened.name = tag + "@" + digest
	layers, err := layersOf(image)
	if err == nil {
		opened.signedBy, err = o.verify(ctx, ref, opened, options)
	}
	if err != nil {
		err = explained(ctx, err)
		end()
		return nil, err
	}
	opened.tree = &tree{layers: make([]*layer, len(layers)), most: mostLayerBytes, get: func(_ context.Context, i int) (string, error) {
		file := filepath.Join(dir, "layer-"+strconv.Itoa(i))
		return file, explained(ctx, opened.download(cancel, layers[i], file, task))
	}}
	return opened, nil
}

// choosePlatform is the image for a platform, with its digest.
func choosePlatform(repository, want string, get func() (*remote.Descriptor, error)) (v1.Image, string, error) {
	found, err := get()
	if err != nil {
		return nil, "", err
	}
	image, digest, err := ofPlatform(found, want)
	if err != nil {
		return nil, "", err
	}
	config, err := image.ConfigFile()
	if err != nil {
		return nil, "", err
	}
	if have := config.OS + "/" + config.Architecture; have != want { // whatever an index says of it
		return nil, "", fmt.Errorf("%s is for %.100q, and not for %s", repository, have, want)
	}
	return image, digest, nil
}

func ofPlatform(found *remote.Descriptor, want string) (v1.Image, string, error) {
	if !found.MediaType.IsIndex() {
		image, err := found.Image()
		return image, found.Digest.String(), err
	}
	index, err := found.ImageIndex()
	if err != nil {
		return nil, "", err
	}
	manifest, err := index.IndexManifest()
	if err != nil {
		return nil, "", err
	}
	var have []string
	for _, m := range manifest.Manifests {
		if m.Platform == nil || !m.MediaType.IsImage() {
			continue
		}
		of := m.Platform.OS + "/" + m.Platform.Architecture
		if of == want {
			image, err := index.Image(m.Digest)
			return image, m.Digest.String(), err
		}
		have = append(have, fmt.Sprintf("%.100q", of))
	}
	slices.Sort(have)
	return nil, "", fmt.Errorf("it has no image for %s; it has %s", want, strings.Join(append(lists.AtMost(slices.Compact(have), 10), "nothing else"), ", "))
}

func layersOf(image v1.Image) ([]v1.Layer, error) {
	layers, err := image.Layers()
	if err != nil {
		return nil, err
	}
	if len(layers) > mostLayers {
		return nil, fmt.Errorf("it has %d layers, and %d are the most", len(layers), mostLayers)
	}
	sum := int64(0)
	for _, l := range layers {
		size, err := l.Size()
		if err != nil {
			return nil, err
		}
		if size < 0 || size > mostImage {
			return nil, fmt.Errorf("one of its layers has a size of %d bytes", size)
		}
		if sum += size; sum > mostImage {
			return nil, fmt.Errorf("its layers have more than %d MiB", mostImage>>20)
		}
	}
	return layers, nil
}

// download writes a layer as it comes into a file, whose digest is then the one that the manifest
// names. Nothing is read of it before.
func (r *remoteImage) download(stop func(), l v1.Layer, file string, task infra.Task) error {
	size, err := l.Size()
	if err != nil {
		return err
	}
	content, err := l.Compressed()
	if err != nil {
		return err
	}
	defer func() { _ = content.Close() }() // what matters is in the reads
	f, err := os.OpenFile(file, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	var stalled atomic.Bool
	timer := time.AfterFunc(stallTime, func() { stalled.Store(true); stop() })
	before := r.size
	n, err := io.Copy(f, &counted{Reader: io.LimitReader(content, size+1), tell: func(n int) {
		timer.Reset(stallTime)
		r.size += int64(n)
		task.Update(fmt.Sprintf("%d MiB", r.size>>20))
	}})
	timer.Stop()
	switch {
	case stalled.Load():
		err = fmt.Errorf("nothing came for %s, after %d MiB", stallTime, (r.size-before)>>20)
	case err == nil && n != size:
		err = fmt.Errorf("a layer has %d bytes, and %d are named", n, size)
	}
	return errors.Join(err, f.Close())
}

type counted struct {
	io.Reader
	tell func(n int)
}

func (c *counted) Read(p []byte) (int, error) {
	n, err := c.Reader.Read(p)
	c.tell(n)
	return n, err
}

// extract writes a program of the image to a file, and rejects one that would not run here.
func (r *remoteImage) extract(ctx context.Context, p *published, file string) error {
	l, m, err := r.tree.find(ctx, p.path)
	if errors.Is(err, errNoSuchFile) {
		return fmt.Errorf("%s has no %s; it has %s", r.name, p.path, r.tree.programs(ctx, p.path))
	}
	if err != nil {
		return err
	}
	f, err := os.OpenFile(file, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o755)
	if err != nil {
		return err
	}
	if err := errors.Join(l.copyTo(ctx, m, f), f.Close()); err != nil {
		return err
	}
	if err := checkProgram(file, r.platform, p); err != nil {
		return fmt.Errorf("%s of %s %w", p.path, r.name, err)
	}
	return nil
}

// machines are the processors of platforms.
func machines() map[string]elf.Machine {
	return map[string]elf.Machine{"linux/amd64": elf.EM_X86_64, "linux/arm64": elf.EM_AARCH64}
}

// checkProgram rejects what is no program for a platform, needs libraries of the image, or is, as Go's
// linker has written into it, another program.
func checkProgram(file, platform string, p *published) error {
	f, err := elf.Open(file)
	if err != nil {
		return fmt.Errorf("is no program for Linux: %w", err)
	}
	defer func() { _ = f.Close() }()
	if f.Machine != machines()[platform] {
		return fmt.Errorf("is for another processor (%s) than %s", f.Machine, platform)
	}
	for _, part := range f.Progs {
		if part.Type != elf.PT_INTERP {
			continue
		}
		loader, err := io.ReadAll(io.LimitReader(part.Open(), 200))
		if err != nil {
			return err
		}
		libraries, err := f.ImportedLibraries()
		if err != nil {
			return err
		}
		needs := append([]string{strings.TrimRight(string(loader), "\x00")}, libraries...)
		return fmt.Errorf("is dynamically linked: it needs %s, which this machine may lack or have in another version", strings.Join(needs, ", "))
	}
	info, err := buildinfo.ReadFile(file)
	if err != nil || p.shared != "" || info.Main.Path == "" { // it says nothing, or its version is another maker's choice
		return nil
	}
	if own := "github.com/nvidia/aicr-action/"; info.Main.Path != p.part.Module && info.Path != p.part.Package && !strings.HasPrefix(info.Main.Path, own) {
		return fmt.Errorf("is the program %s of %s, and not %s", info.Path, info.Main.Path, p.part.Package)
	}
	return nil
}

// patient asks again when a registry is busy (429), as soon as it says, for as long as there is left.
type patient struct {
	base http.RoundTripper

	mu   sync.Mutex
	left time.Duration
}

func (t *patient) RoundTrip(r *http.Request) (*http.Response, error) {
	for {
		answer, err := t.base.RoundTrip(r)
		if err != nil || answer.StatusCode != http.StatusTooManyRequests || r.Body != nil && r.Body != http.NoBody {
			return answer, err
		}
		pause := max(time.Second, httpstatus.RetryAfter(answer.Header.Get("Retry-After"), time.Now()))
		t.mu.Lock()
		enough := pause <= t.left
		t.left -= pause
		t.mu.Unlock()
		if !enough {
			return answer, nil
		}
		_ = answer.Body.Close()
		select {
		case <-time.After(pause):
		case <-r.Context().Done():
			return nil, context.Cause(r.Context())
		}
	}
}

// explained says in plain words what a registry's error means.
func explained(ctx context.Context, err error) error {
	var answer *transport.Error
	switch {
	case err == nil:
		return nil
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return cmp.Or(context.Cause(ctx), err)
	case errors.As(err, &answer) && answer.StatusCode == http.StatusTooManyRequests:
		return fmt.Errorf("the registry is busy, and asks to wait longer than %s: %w", mostPatience, err)
	case errors.As(err, &answer) && (answer.StatusCode == http.StatusUnauthorized || answer.StatusCode == http.StatusForbidden):
		return fmt.Errorf("the registry does not let it be pulled; if it needs a login, use `docker login`: %w", err)
	case errors.As(err, &answer):
		return err
	case strings.Contains(err.Error(), "does not match requested digest"), strings.Contains(err.Error(), "does not match expected size"), strings.Contains(err.Error(), "error verifying"):
		return fmt.Errorf("what the registry sent does not fit its digest, so that nothing of it is used: %w", err)
	}
	return err
}
