package cli

import (
	"bytes"
	"errors"
	"io"
	"os"
	"strings"
	"syscall"
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
				o := newPatient(h)
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

// A reader that has gone is no error: what writes goes on and ends as it would have ended.
func TestOutput_ReaderGone(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = w.Close() }()
	o := newPatient(w)
	if _, err := io.WriteString(o, "a"); err != nil {
		t.Fatal(err)
	}
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{"b", "cd"} { // the write that fails, and those after it
		if n, err := io.WriteString(o, text); err != nil || n != len(text) {
			t.Errorf("wrote %d bytes of %q, %v", n, text, err)
		}
	}
	o.Finish()
	if f, ok := patientFile(o); !ok || f != w {
		t.Errorf("got %v, want the file that is written to", f)
	}
}

// failing is a stream that cannot be written.
type failing struct{ err error }

func (f failing) Write([]byte) (int, error) { return 0, f.err }

// A full disk is an error, and so is an I/O error of a file, but not that of a terminal that was
// closed.
func TestOutput_Fails(t *testing.T) {
	for name, c := range map[string]struct {
		err      error
		terminal bool
		want     error
	}{
		"full disk":         {syscall.ENOSPC, false, syscall.ENOSPC},
		"broken disk":       {syscall.EIO, false, syscall.EIO},
		"terminal closed":   {syscall.EIO, true, nil},
		"reader gone":       {syscall.EPIPE, false, nil},
		"reader gone, path": {&os.PathError{Op: "write", Path: "/dev/stdout", Err: syscall.EPIPE}, false, nil},
	} {
		o := newPatient(failing{c.err})
		o.terminal = c.terminal
		for range 2 {
			if _, err := io.WriteString(o, "a"); !errors.Is(err, c.want) || (err == nil) != (c.want == nil) {
				t.Errorf("%s: got %v, want %v", name, err, c.want)
			}
		}
	}
}
