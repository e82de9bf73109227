package kind

import (
	"context"
	"errors"
	"io"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"sigs.k8s.io/kind/pkg/cluster/nodes"
	kindexec "sigs.k8s.io/kind/pkg/exec"

	"github.com/nvidia/aicr-action/internal/infra"
	"github.com/nvidia/aicr-action/internal/result/reason"
)

// importingNode is a node whose programs read all that they are given, and then end with err.
type importingNode struct {
	fakeNode
	err error
}

func (n importingNode) Command(name string, args ...string) kindexec.Cmd {
	return &importCmd{name: name, err: n.err}
}

type importCmd struct {
	kindexec.Cmd
	name string
	err  error
	in   io.Reader
	out  io.Writer
}

func (c *importCmd) SetStdin(r io.Reader) kindexec.Cmd  { c.in = r; return c }
func (c *importCmd) SetStdout(w io.Writer) kindexec.Cmd { c.out = w; return c }
func (c *importCmd) Run() error {
	if c.name == "containerd" { // config dump
		_, err := io.WriteString(c.out, "version = 2\n[plugins.\"io.containerd.grpc.v1.cri\".containerd]\nsnapshotter = \"overlayfs\"\n")
		return err
	}
	if _, err := io.Copy(io.Discard, c.in); err != nil {
		return err
	}
	return c.err
}

// saves are the calls of docker save, by their images.
type saves struct {
	mu  sync.Mutex
	all []string
}

func (s *saves) stream(_ context.Context, _ io.Writer, args ...string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.all = append(s.all, strings.Join(args, " "))
	return nil
}

func (s *saves) list() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.all)
}

// earlyCluster is one for a cell with Argo CD, whose node imports images.
func earlyCluster(t *testing.T, imports error, create func(*saves) error) (*cluster, *saves) {
	t.Helper()
	s := &saves{}
	p := &fakeProvider{create: func() error { return create(s) }, nodes: []nodes.Node{importingNode{fakeNode{name: "test-1-control-plane"}, imports}}}
	c := testCluster(t, &fakeEngine{}, p)
	c.platform.Engine.Stream = s.stream
	c.spec.Controllers = []infra.ControllerKind{infra.ArgoCDControllers, infra.ApplicationSetControllers}
	t.Cleanup(func() { go c.stopCopies() }) // a copy that does not end is the test's to see
	return c, s
}

// The images of a cell are on their way into the node before kind has made the cluster, each once:
// those of every cell first. Others are copied when they are asked for.
func TestCopyEarly(t *testing.T) {
	failed := errors.New("kubeadm failed")
	c, s := earlyCluster(t, nil, func(s *saves) error {
		for end := time.Now().Add(time.Minute); len(s.list()) < 2; time.Sleep(5 * time.Millisecond) {
			if time.Now().After(end) {
				t.Error("nothing was copied while kind made the cluster")
				break
			}
		}
		return failed // so that no request is sent to an API server
	})
	if err := c.create(t.Context()); !errors.Is(err, failed) {
		t.Fatalf("got %v", err)
	}
	c.node = c.provider.(*fakeProvider).nodes[0]
	base, err := baseObjects(c.platform.RegistryImage, c.platform.Stages)
	argocd, err2 := controllerObjects(infra.ArgoCDControllers)
	flux, err3 := controllerObjects(infra.FluxControllers)
	if err := errors.Join(err, err2, err3); err != nil {
		t.Fatal(err)
	}
	for _, images := range [][]string{imagesOf(base), imagesOf(argocd), imagesOf(flux), imagesOf(argocd)} {
		if err := c.loadImages(t.Context(), images); err != nil {
			t.Fatal(err)
		}
	}
	want := []string{"save " + strings.Join(withTags(imagesOf(base)), " "), "save " + strings.Join(withTags(imagesOf(argocd)), " "), "save " + strings.Join(withTags(imagesOf(flux)), " ")}
	if got := s.list(); !slices.Equal(got, want) {
		t.Errorf("copied\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// A copy that failed fails what needs the images, with the reason that it would have there. One
// that nothing needs any more is ended with the cluster.
func TestCopyEarly_Error(t *testing.T) {
	for text, want := range map[string]reason.Reason{"write blob: no space left on device": reason.NoSpace, "content digest: not found": reason.ImageMissing} {
		c, _ := earlyCluster(t, errors.New(text), func(*saves) error { return errors.New("kubeadm failed") })
		if err := c.create(t.Context()); err == nil {
			t.Fatal("it was made")
		}
		base, err := baseObjects(c.platform.RegistryImage, c.platform.Stages)
		if err != nil {
			t.Fatal(err)
		}
		if err := c.loadImages(t.Context(), imagesOf(base)); reason.Of(err) != want || !strings.Contains(err.Error(), text) {
			t.Errorf("got %s, %v, want %s", reason.Of(err), err, want)
		}
	}
	release := make(chan struct{})
	c, _ := earlyCluster(t, nil, func(*saves) error { return errors.New("kubeadm failed") })
	c.platform.Engine.Stream = func(ctx context.Context, _ io.Writer, _ ...string) error {
		close(release)
		<-ctx.Done() // as a docker save that hangs
		return context.Cause(ctx)
	}
	if err := c.create(t.Context()); err == nil {
		t.Fatal("it was made")
	}
	<-release
	ended := make(chan struct{})
	go func() { c.stopCopies(); close(ended) }()
	select {
	case <-ended:
	case <-time.After(time.Minute):
		t.Error("the copy goes on")
	}
}
