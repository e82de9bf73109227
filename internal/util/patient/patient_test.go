package patient

import (
	"bytes"
	"errors"
	"io"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// held is a reader that reads nothing until it is let go.
type held struct {
	bytes.Buffer
	let chan struct{}
}

func (h *held) Write(p []byte) (int, error) { <-h.let; return h.Buffer.Write(p) }

// A run goes on while nobody reads, loses nothing if somebody does later, and else ends after a
// minute.
func TestOutput_NobodyReads(t *testing.T) {
	text := strings.Repeat("0123456789abcde\n", 16<<10)
	for name, c := range map[string]struct {
		reads, want time.Duration
		all         bool
	}{
		"never":      {time.Hour, readsAtLast, false},
		"in the end": {30 * time.Second, 30 * time.Second, true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				start := time.Now()
				h := &held{let: make(chan struct{})}
				go func() { time.Sleep(c.reads); close(h.let) }()
				o := New(h)
				o.EndUnread()
				for range 10 {
					if n, err := io.WriteString(o, text); n != len(text) || err != nil {
						t.Fatalf("wrote %d bytes, %v", n, err)
					}
				}
				if d := time.Since(start); d != writesSoon {
					t.Errorf("ten writes took %s, want %s", d, writesSoon)
				}
				o.Finish()
				if d := time.Since(start); d != c.want {
					t.Errorf("it ended after %s, want %s", d, c.want)
				}
				if c.all && h.String() != strings.Repeat(text, 10) {
					t.Errorf("%d bytes arrived, want %d", h.Len(), 10*len(text))
				}
				if !c.all {
					time.Sleep(2 * time.Hour) // the rest is written, for the bubble's end
				}
			})
		})
	}
}

// Whoever writes learns at once that the reader has gone.
func TestOutput_ReaderGone(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = w.Close() }()
	o := New(w)
	if _, err := io.WriteString(o, "a"); err != nil {
		t.Fatal(err)
	}
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(o, "b"); err == nil || errors.Is(err, os.ErrClosed) {
		t.Errorf("got %v, want that the pipe is broken", err)
	}
	if f, ok := File(o); !ok || f != w {
		t.Errorf("got %v, want the file that is written to", f)
	}
}
