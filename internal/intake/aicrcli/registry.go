package aicrcli

import (
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/google/go-containerregistry/pkg/registry"
)

// mostPushed is how much may be pushed in one request, and mostInAll in all of them, in bytes: the
// registry is in this program's memory.
const (
	mostPushed = 128 << 20
	mostInAll  = 512 << 20
)

// measured hands requests on until their bodies have had so many bytes.
type measured struct {
	next http.Handler
	left atomic.Int64
}

func (m *measured) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	r.Body = &measuredBody{r.Body, m}
	m.next.ServeHTTP(w, r)
}

type measuredBody struct {
	io.ReadCloser
	of *measured
}

func (b *measuredBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if b.of.left.Add(int64(-n)) < 0 {
		return 0, errors.New("more was pushed than this registry takes")
	}
	return n, err
}

// PushRegistry is an OCI registry on this machine for a program to push to, until stop is called. What is
// in it is lost then.
func PushRegistry() (host string, port int, stop func(), err error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", 0, nil, fmt.Errorf("a registry for AICR's CLI to push to: %w", err)
	}
	return serve(l, mostInAll)
}

func serve(l net.Listener, most int64) (host string, port int, stop func(), err error) {
	quiet := log.New(io.Discard, "", 0)
	m := &measured{next: http.MaxBytesHandler(registry.New(registry.Logger(quiet)), mostPushed)}
	m.left.Store(most)
	s := &http.Server{Handler: m, ReadHeaderTimeout: 10 * time.Second, ErrorLog: quiet}
	go func() { _ = s.Serve(l) }() // ends with Close
	return l.Addr().String(), l.Addr().(*net.TCPAddr).Port, func() { _ = s.Close() }, nil
}

// LeftIn is the directory in dir where a program left its copy of what it pushed: want, or the only
// one that it made, since the name is the program's. Empty if there is none. others are directories
// that are no such copy.
func LeftIn(dir, want string, others ...string) string {
	if _, err := os.Lstat(want); err == nil {
		return want
	}
	entries, _ := os.ReadDir(dir) // an unreadable one has none
	var made []string
	for _, entry := range entries {
		if entry.IsDir() && !slices.Contains(others, entry.Name()) && !strings.HasPrefix(entry.Name(), ".") {
			made = append(made, filepath.Join(dir, entry.Name()))
		}
	}
	if len(made) == 1 {
		return made[0]
	}
	return ""
}
