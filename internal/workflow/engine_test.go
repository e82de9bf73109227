package workflow

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"
)

func TestPause(t *testing.T) {
	if err := (&Engine{Stdin: strings.NewReader("text\nmore")}).pause(t.Context()); err != nil {
		t.Error(err)
	}
	if err := (&Engine{Stdin: strings.NewReader("text")}).pause(t.Context()); err == nil || !strings.Contains(err.Error(), "standard input is closed") {
		t.Errorf("without Enter: got %v", err)
	}
	r, w := io.Pipe()
	defer w.Close()
	ctx, cancel := context.WithCancelCause(t.Context())
	why := errors.New("why")
	cancel(why)
	if err := (&Engine{Stdin: r}).pause(ctx); !errors.Is(err, why) {
		t.Errorf("cancelled: got %v", err)
	}
}
