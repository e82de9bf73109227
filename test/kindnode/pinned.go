package main

import (
	"context"
	"errors"
	"os"
	"runtime"
	"strings"
)

// matrix is the project's own program, which knows the images of a Kind run. The node image is that
// of the settings, whatever an earlier run has left in the environment.
func (f *fixture) matrix(ctx context.Context, address string, args ...string) (string, error) {
	env := []string{"AICR_ACTION_KIND_NODE_IMAGE=", "AICR_ACTION_KIND_IMAGES="}
	if address != "" {
		env = append(env, "DOCKER_HOST="+address)
	}
	return program{dir: f.source, env: env}.run(ctx, "go", append([]string{"run", "github.com/nvidia/aicr-action/cmd/matrix"}, args...)...)
}

func (f *fixture) pinnedList(ctx context.Context) ([]string, error) {
	out, err := f.matrix(ctx, "", "images", "list")
	return strings.Fields(out), err
}

// choose decides which images this run uses.
func (f *fixture) choose(ctx context.Context) error {
	var err error
	f.choice, err = chooser{
		use: os.Getenv(imagesVariable), list: f.pinnedList, patience: patience,
		engine: func(ctx context.Context) error { _, err := f.engine().address(ctx); return err },
	}.choose(ctx)
	return err
}

// pinnedKey stands for these images on this platform.
func pinnedKey(images []pinnedImage) string {
	inputs := map[string][]byte{"platform": []byte(runtime.GOARCH)}
	for _, i := range images {
		inputs[i.name] = []byte(i.digest)
	}
	return keyOf(inputs)
}

// pull gives an engine the pinned images under the digests that the registries answered with, and
// under their tags, whatever had these before.
func pull(ctx context.Context, address string, images []pinnedImage) error {
	for _, i := range images {
		err := step("Pulling "+i.tag(), func() error {
			if _, err := docker(ctx, address, "image", "inspect", i.byDigest()); err != nil {
				if _, err := docker(ctx, address, "pull", "--quiet", i.byDigest()); err != nil {
					return err
				}
			}
			_, err := docker(ctx, address, "tag", i.byDigest(), i.tag())
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// getPinned has the pinned images in the engine, which must be up, and in the archive.
func (f *fixture) getPinned(ctx context.Context) error {
	address, err := f.engine().address(ctx)
	if err != nil {
		return err
	}
	if err := pull(ctx, address, f.choice.pinned); err != nil {
		return err
	}
	if f.built() {
		return f.prune()
	}
	if err := os.MkdirAll(f.dir(), 0o755); err != nil {
		return err
	}
	err = step("Writing "+f.imagesTar(), func() error {
		partial := f.imagesTar() + ".partial"
		if _, err := f.matrix(ctx, address, "images", "save", partial); err != nil {
			return errors.Join(err, os.RemoveAll(partial))
		}
		return os.Rename(partial, f.imagesTar())
	})
	if err != nil {
		return err
	}
	return f.prune()
}

// upPinned has an engine with the pinned images. started says that the engine is one that this call
// started.
func (f *fixture) upPinned(ctx context.Context) (started bool, err error) {
	e := f.engine()
	if _, err := e.address(ctx); err != nil { // the pinned images were asked for by name: a private engine pulls them
		if err := installMissing(ctx); err != nil {
			return false, err
		}
	}
	if started, err = e.up(ctx); err != nil {
		return started, err
	}
	return started, f.getPinned(ctx)
}

// buildPinned leaves no engine that did not run before.
func (f *fixture) buildPinned(ctx context.Context) error {
	started, err := f.upPinned(ctx)
	if started {
		err = errors.Join(err, f.engine().down(context.WithoutCancel(ctx)))
	}
	return err
}
