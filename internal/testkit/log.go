package testkit

import (
	"strings"
	"sync"
)

// Log is a writer whose text can be read while others write to it, e.g. the output of a process.
// The zero Log is empty.
type Log struct {
	mu   sync.Mutex
	text strings.Builder
}

// Write appends to the text.
func (l *Log) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

// String is what has been written so far.
func (l *Log) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}
