package workflow

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

func TestPause(t *testing.T) {
	if err := (&Engine{Stdin: strings.NewReader("text\nmore")}).pause(t.Context()); err != nil {
		t.Error(err)
	}
	if err := (&Engine{Stdin: strings.NewReader("text")}).pause(t.Context()); err == nil || !strings.Contains(err.Error(), "standard input is closed") {
		t.Errorf("without Enter: got %v", err)
	}
	r, w := io.Pipe()
	t.Cleanup(func() { _ = w.Close() })
	ctx, cancel := context.WithCancelCause(t.Context())
	why := errors.New("why")
	cancel(why)
	if err := (&Engine{Stdin: r}).pause(ctx); !errors.Is(err, why) {
		t.Errorf("cancelled: got %v", err)
	}
}

// The error about a missing kind names the shipped controller that would install it, if one does.
func TestNoKind(t *testing.T) {
	for kind, want := range map[schema.GroupVersionKind]string{
		{Group: "trainer.kubeflow.org", Version: "v1alpha1", Kind: "TrainJob"}: "--apply FILE, or on a cluster of the run's own have its controller run, with --controller trainer",
		{Group: "scheduling.run.ai", Version: "v2", Kind: "Queue"}:             "the cluster has no kind Queue in scheduling.run.ai/v2: install its CRD first, e.g. with --apply FILE",
	} {
		if got := noKind(kind).Error(); !strings.HasSuffix(got, want) {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
