//go:build kind

package main

import (
	"context"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/v1/random"
	"github.com/google/go-containerregistry/pkg/v1/remote"
)

// A real engine pulls what the registry answered with, under its digest and its tag. An image that
// had the tag before, e.g. an assembled one, loses it.
func TestPull(t *testing.T) {
	address := need(t, "DOCKER_HOST")
	r := startRegistry(t)
	images, err := askRegistries(t.Context(), []string{r.pinned()}, patience)
	if err != nil {
		t.Fatal(err)
	}
	id := func(image string) string {
		t.Helper()
		out, err := docker(t.Context(), address, "image", "inspect", "--format", "{{.Id}}", image)
		if err != nil {
			t.Fatal(err)
		}
		return strings.TrimSpace(out)
	}
	t.Cleanup(func() {
		_, err := docker(context.WithoutCancel(t.Context()), address, "image", "rm", "--force", r.tagged(), images[0].byDigest())
		if err != nil {
			t.Error(err)
		}
	})
	other := need(t, "AICR_ACTION_KIND_NODE_IMAGE")
	if _, err := docker(t.Context(), address, "tag", other, r.tagged()); err != nil {
		t.Fatal(err)
	}
	// The registry's tag moves on after it was asked: what was decided about is pulled.
	moved, err := random.Image(64, 1)
	if err != nil {
		t.Fatal(err)
	}
	ref, err := name.ParseReference(r.tagged())
	if err != nil {
		t.Fatal(err)
	}
	if err := remote.Write(ref, moved, remote.WithContext(t.Context())); err != nil {
		t.Fatal(err)
	}
	for range 2 { // the second time, it is there
		if err := pull(t.Context(), address, images); err != nil {
			t.Fatal(err)
		}
		if got, want := id(r.tagged()), id(r.tagged()+"@"+r.digest); got != want || got == id(other) {
			t.Errorf("the tag is of %s, the digest of %s, the image before of %s", got, want, id(other))
		}
	}
}
