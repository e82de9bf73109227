package cli

// nonblocking.go writes to a stream that nobody may read. It must not know what is written.

import (
	"errors"
	"io"
	"os"
	"sync"
	"syscall"
	"time"

	"golang.org/x/term"
)

const (
	// writesSoon is how long a write may take before those who write go on without it.
	writesSoon = time.Second
	// readsAtLast is how long a run that has ended waits for a reader that reads nothing.
	readsAtLast = time.Minute
	// pieceSize is how much is written at once: less than a pipe takes, so that a slow reader is told
	// from none.
	pieceSize = 4 << 10
	// mostWaiting is how much output may wait for a reader, in bytes.
	mostWaiting = 64 << 20
)

// patientOutput is a stream of this process that nobody may read: a full pipe, or a terminal that is held
// (Ctrl-S). Who writes waits for the reader only for a moment, so that a run goes on, writes its
// results and ends.
//
// A reader that goes away, as head does, or a terminal that is closed, is no error of what writes: a
// command prints nothing more and ends with its own code, and a run with its results.
type patientOutput struct {
	to       io.Writer
	soon     time.Duration
	terminal bool

	mu       sync.Mutex
	waiting  []byte
	taken    int       // bytes that the writer took and has not written yet
	last     time.Time // of the last piece that was written, or that began to wait
	err      error
	changed  chan struct{} // closed at the next change
	patience time.Duration // at the end; 0: for ever
}

// newPatient returns an Output that writes to a stream of the process.
func newPatient(to io.Writer) *patientOutput {
	f, ok := to.(*os.File)
	return &patientOutput{to: to, soon: writesSoon, terminal: ok && term.IsTerminal(int(f.Fd())), changed: make(chan struct{})}
}

// gone reports whether nobody will ever read what is written. A closed terminal is an I/O error.
func (o *patientOutput) gone() bool {
	return errors.Is(o.err, syscall.EPIPE) || o.terminal && errors.Is(o.err, syscall.EIO)
}

// Write waits until the text is written, or until it is certain that the reader does not read now.
func (o *patientOutput) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.err != nil {
		return o.failed(p)
	}
	if len(o.waiting)+len(p) > mostWaiting {
		return len(p), nil // nobody reads it
	}
	if idle := len(o.waiting) == 0 && o.taken == 0; idle {
		o.last = time.Now()
		o.waiting = append(o.waiting, p...)
		go o.drain()
	} else {
		o.waiting = append(o.waiting, p...)
	}
	o.wait(o.soon)
	if o.err != nil {
		return o.failed(p)
	}
	return len(p), nil
}

// failed is what Write returns once a write has failed.
func (o *patientOutput) failed(p []byte) (int, error) {
	if o.gone() {
		return len(p), nil
	}
	return 0, o.err
}

// drain writes what waits, piece by piece, and ends when there is none.
func (o *patientOutput) drain() {
	o.mu.Lock()
	defer o.mu.Unlock()
	for len(o.waiting) > 0 && o.err == nil {
		piece := append([]byte(nil), o.waiting[:min(len(o.waiting), pieceSize)]...)
		o.waiting, o.taken = o.waiting[len(piece):], len(piece)
		o.mu.Unlock()
		_, err := o.to.Write(piece)
		o.mu.Lock()
		o.taken, o.err, o.last = 0, err, time.Now()
		close(o.changed)
		o.changed = make(chan struct{})
	}
	o.waiting = nil
}

// wait waits until all is written, or nothing was for so long; 0 stands for ever. It holds the lock
// when it begins and ends.
func (o *patientOutput) wait(patience time.Duration) {
	for (len(o.waiting) > 0 || o.taken > 0) && o.err == nil {
		var late <-chan time.Time
		if patience > 0 {
			left := patience - time.Since(o.last)
			if left <= 0 {
				return
			}
			late = time.After(left)
		}
		changed := o.changed
		o.mu.Unlock()
		select {
		case <-changed:
		case <-late:
		}
		o.mu.Lock()
	}
}

// Finish waits at the end of the program until all is written.
func (o *patientOutput) Finish() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.wait(o.patience)
}

// patientFile is the file, e.g. a terminal, that is written to.
func patientFile(w io.Writer) (*os.File, bool) {
	if o, ok := w.(*patientOutput); ok {
		w = o.to
	}
	f, ok := w.(*os.File)
	return f, ok
}

// EndUnread has Finish wait for no more than a minute for a reader that reads nothing.
func (o *patientOutput) EndUnread() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.patience = readsAtLast
}
