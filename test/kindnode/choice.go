package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/remote/transport"
)

// imagesVariable says which images Kind's tests use: one of the three words.
const (
	imagesVariable = "KIND_IMAGES"

	useAuto      = "auto"      // the pinned ones where a Docker engine runs and their registries have them
	usePinned    = "pinned"    // those of .settings.yaml and of the manifests, from their registries, or an error
	useAssembled = "assembled" // those that this program makes
)

// patience is how long the registries have to answer, all together. A machine may reach none, and
// must not wait for long to learn that.
const patience = 5 * time.Second

// choice is what a run uses.
type choice struct {
	pinned []pinnedImage // the node image first; empty: the assembled images
	why    string
}

// pinnedImage is an image as the project names it, and the digest that its registry has for that
// name.
type pinnedImage struct{ name, digest string }

// tag is the name without a digest.
func (p pinnedImage) tag() string { tag, _, _ := strings.Cut(p.name, "@"); return tag }

func (p pinnedImage) byDigest() string { return p.tag() + "@" + p.digest }

func (c choice) String() string {
	if len(c.pinned) > 0 {
		return usePinned + ", because " + c.why
	}
	return useAssembled + ", because " + c.why
}

// chooser makes a choice.
type chooser struct {
	use      string                                  // a value of imagesVariable; empty is useAuto
	engine   func(context.Context) error             // an error if no Docker engine answers
	list     func(context.Context) ([]string, error) // the images of a Kind run, the node image first
	patience time.Duration
}

// choose asks only what it must know: no registry where the images are assembled in any case.
func (c chooser) choose(ctx context.Context) (choice, error) {
	switch c.use {
	case useAssembled:
		return choice{why: imagesVariable + "=" + useAssembled}, nil
	case "", useAuto:
		if err := c.engine(ctx); err != nil {
			return choice{why: "no Docker engine runs"}, ctx.Err()
		}
	case usePinned:
	default:
		return choice{}, fmt.Errorf("%s is %q: want %s, %s or %s", imagesVariable, c.use, useAuto, usePinned, useAssembled)
	}
	images, err := c.list(ctx)
	if err != nil {
		return choice{}, err
	}
	found, err := askRegistries(ctx, images, c.patience)
	switch {
	case ctx.Err() != nil:
		return choice{}, context.Cause(ctx)
	case err != nil && c.use == usePinned:
		return choice{}, fmt.Errorf("%s=%s: %w", imagesVariable, usePinned, err)
	case err != nil:
		return choice{why: err.Error()}, nil
	case c.use == usePinned:
		return choice{found, imagesVariable + "=" + usePinned}, nil
	}
	return choice{found, fmt.Sprintf("a Docker engine runs and the registries have all %d images", len(found))}, nil
}

// askRegistries asks for the manifest of every image at the same time, without downloading one. The
// error is that of the first image in the list.
func askRegistries(ctx context.Context, images []string, patience time.Duration) ([]pinnedImage, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	found, errs := make([]pinnedImage, len(images)), make([]error, len(images))
	var group sync.WaitGroup
	for i, image := range images {
		group.Go(func() { found[i], errs[i] = askRegistry(ctx, image, patience) })
	}
	group.Wait()
	for _, err := range errs {
		if err != nil {
			return nil, err
		}
	}
	return found, nil
}

func askRegistry(ctx context.Context, image string, patience time.Duration) (pinnedImage, error) {
	ref, err := name.ParseReference(image)
	if err != nil {
		return pinnedImage{}, err
	}
	registry := ref.Context().RegistryStr()
	manifest, err := remote.Head(ref, remote.WithContext(ctx))
	var answer *transport.Error
	switch {
	case err == nil:
		return pinnedImage{image, manifest.Digest.String()}, nil
	case errors.As(err, &answer) && answer.StatusCode == http.StatusNotFound:
		return pinnedImage{}, fmt.Errorf("%s does not have %s", registry, image)
	case errors.As(err, &answer):
		return pinnedImage{}, fmt.Errorf("%s answers %d when asked for %s", registry, answer.StatusCode, image)
	case ctx.Err() != nil:
		return pinnedImage{}, fmt.Errorf("%s has not answered within %s", registry, patience)
	}
	return pinnedImage{}, fmt.Errorf("%s does not answer: %s", registry, strings.Join(strings.Fields(err.Error()), " ")) // one line
}
