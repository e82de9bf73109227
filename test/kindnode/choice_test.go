package main

import (
	"context"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	"github.com/google/go-containerregistry/pkg/v1/random"
	"github.com/google/go-containerregistry/pkg/v1/remote"
)

// testRegistry is a real registry with one image; it counts requests.
type testRegistry struct {
	address, digest string
	asked           atomic.Int32
}

// pinned and tagged name its image; unknown has a digest that the registry does not have.
func (r *testRegistry) pinned() string { return r.address + "/kindest/node:v1@" + r.digest }
func (r *testRegistry) tagged() string { return r.address + "/kindest/node:v1" }
func (r *testRegistry) unknown() string {
	return r.address + "/kindest/node:v1@sha256:" + strings.Repeat("0", 64)
}

func startRegistry(t *testing.T) *testRegistry {
	t.Helper()
	r := &testRegistry{}
	handler := registry.New(registry.Logger(log.New(io.Discard, "", 0)))
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
		r.asked.Add(1)
		handler.ServeHTTP(w, request)
	}))
	t.Cleanup(server.Close)
	r.address = server.Listener.Addr().String()
	image, err := random.Image(64, 1)
	if err != nil {
		t.Fatal(err)
	}
	ref, err := name.ParseReference(r.tagged())
	if err != nil {
		t.Fatal(err)
	}
	if err := remote.Write(ref, image, remote.WithContext(t.Context())); err != nil {
		t.Fatal(err)
	}
	digest, err := image.Digest()
	if err != nil {
		t.Fatal(err)
	}
	r.digest = digest.String()
	r.asked.Store(0)
	return r
}

// silent accepts connections and never answers.
func silent(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	return l.Addr().String()
}

// The pinned images are used where an engine runs and every registry has them, and the line says
// what was in the way of that.
func TestChoice(t *testing.T) {
	r := startRegistry(t)
	broken := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusForbidden) }))
	t.Cleanup(broken.Close)
	brokenAddress := broken.Listener.Addr().String()
	stopped := httptest.NewServer(http.NotFoundHandler())
	gone := stopped.Listener.Addr().String()
	stopped.Close()
	noEngine := errors.New("no Docker engine answers")
	for _, c := range []struct {
		name   string
		use    string
		engine error
		images []string
		want   string // of the line; where it begins with an exclamation mark, of the error
		asks   bool   // the registry that answers is asked
	}{
		{"all there", "", nil, []string{r.pinned(), r.tagged()}, "pinned, because a Docker engine runs and the registries have all 2 images", true},
		{"all there, auto", "auto", nil, []string{r.pinned()}, "pinned, because a Docker engine runs and the registries have all 1 images", true},
		{"no engine", "auto", noEngine, []string{r.pinned()}, "assembled, because no Docker engine runs", false},
		{"a registry does not answer", "auto", nil, []string{r.pinned(), gone + "/aa:1"}, "assembled, because " + gone + " does not answer: ", true},
		{"another digest", "auto", nil, []string{r.unknown()}, "assembled, because " + r.address + " does not have " + r.unknown(), true},
		{"no such tag", "auto", nil, []string{r.pinned(), r.address + "/kindest/node:v2"}, "assembled, because " + r.address + " does not have " + r.address + "/kindest/node:v2", true},
		{"a registry refuses", "auto", nil, []string{brokenAddress + "/aa:1"}, "assembled, because " + brokenAddress + " answers 403 when asked for " + brokenAddress + "/aa:1", false},
		{"assembled", "assembled", nil, []string{r.pinned()}, "assembled, because KIND_IMAGES=assembled", false},
		{"pinned", "pinned", nil, []string{r.pinned()}, "pinned, because KIND_IMAGES=pinned", true},
		{"pinned without an engine", "pinned", noEngine, []string{r.pinned()}, "pinned, because KIND_IMAGES=pinned", true},
		{"pinned, and the registry does not have it", "pinned", nil, []string{r.unknown()}, "!KIND_IMAGES=pinned: " + r.address + " does not have " + r.unknown(), true},
		{"pinned, and no registry", "pinned", nil, []string{gone + "/aa:1"}, "!KIND_IMAGES=pinned: " + gone + " does not answer: ", false},
		{"a typing error", "pinnd", nil, []string{r.pinned()}, `!KIND_IMAGES is "pinnd": want auto, pinned or assembled`, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			r.asked.Store(0)
			got, err := chooser{
				use: c.use, patience: 20 * time.Second,
				engine: func(context.Context) error { return c.engine },
				list:   func(context.Context) ([]string, error) { return c.images, nil },
			}.choose(t.Context())
			line := got.String()
			if err != nil {
				line = "!" + err.Error()
			}
			if !strings.HasPrefix(line, c.want) || strings.Contains(line, "\n") {
				t.Errorf("got  %s\nwant %s", line, c.want)
			}
			if asked := r.asked.Load() > 0; asked != c.asks {
				t.Errorf("the registry was asked: %v, want %v", asked, c.asks)
			}
			if strings.HasPrefix(c.want, usePinned) != (len(got.pinned) == len(c.images)) {
				t.Errorf("got the images %v of %v", got.pinned, c.images)
			}
			for _, i := range got.pinned {
				if want := r.tagged() + "@" + r.digest; i.byDigest() != want || i.tag() != r.tagged() {
					t.Errorf("%s is pulled as %s and tagged %s, want %s", i.name, i.byDigest(), i.tag(), want)
				}
			}
		})
	}
}

// A machine that reaches no registry learns that once, not once for each image.
func TestChoiceDoesNotWaitLong(t *testing.T) {
	images := []string{silent(t) + "/aa:1", silent(t) + "/bb:1", silent(t) + "/cc:1"}
	for _, use := range []string{useAuto, usePinned} {
		start := time.Now()
		got, err := chooser{
			use: use, patience: 2 * time.Second,
			engine: func(context.Context) error { return nil },
			list:   func(context.Context) ([]string, error) { return images, nil },
		}.choose(t.Context())
		if took := time.Since(start); took > 4*time.Second {
			t.Errorf("%s: decided after %s, want 2 s", use, took)
		}
		if text := got.why + errorText(err); !strings.Contains(text, strings.TrimSuffix(images[0], "/aa:1")+" has not answered within 2s") || (err != nil) != (use == usePinned) {
			t.Errorf("%s: %s", use, text)
		}
	}
	if patience > 10*time.Second {
		t.Errorf("registries have %s: a machine that reaches none waits for that", patience)
	}
}

// All are asked at the same time: a registry that answers none before it was asked for all.
func TestRegistriesAreAskedTogether(t *testing.T) {
	r := startRegistry(t)
	images := []string{r.tagged(), r.pinned(), r.tagged()}
	var together sync.WaitGroup
	together.Add(len(images))
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
		if strings.Contains(request.URL.Path, "/manifests/") {
			together.Done()
			together.Wait()
		}
		http.Redirect(w, request, "http://"+r.address+request.URL.Path, http.StatusTemporaryRedirect)
	}))
	t.Cleanup(server.CloseClientConnections)
	for i := range images {
		images[i] = strings.Replace(images[i], r.address, server.Listener.Addr().String(), 1)
	}
	if found, err := askRegistries(t.Context(), images, 20*time.Second); err != nil || len(found) != len(images) {
		t.Errorf("got %v, %v", found, err)
	}
}

func errorText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// What an interrupt ends is no decision.
func TestChoiceInterrupted(t *testing.T) {
	reason := errors.New("interrupted")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(reason)
	for _, engine := range []error{nil, errors.New("no Docker engine answers")} {
		got, err := chooser{
			patience: time.Minute,
			engine:   func(context.Context) error { return engine },
			list:     func(context.Context) ([]string, error) { return []string{silent(t) + "/aa:1"}, nil },
		}.choose(ctx)
		if !errors.Is(err, reason) && !errors.Is(err, context.Canceled) {
			t.Errorf("got %v, %v", got, err)
		}
	}
}

// An archive is kept for the images that it has, and for no others.
func TestPinnedKey(t *testing.T) {
	key := pinnedKey([]pinnedImage{{"aa:1", "sha256:1"}, {"b:1", "sha256:2"}})
	for what, images := range map[string][]pinnedImage{
		"another digest of a tag": {{"aa:1", "sha256:1"}, {"b:1", "sha256:3"}},
		"one image less":          {{"aa:1", "sha256:1"}},
		"another name":            {{"a:2", "sha256:1"}, {"b:1", "sha256:2"}},
	} {
		if pinnedKey(images) == key {
			t.Errorf("%s: the same key", what)
		}
	}
}
