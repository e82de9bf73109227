package pushed

import (
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/google/go-containerregistry/pkg/registry"
)

// mostPushed is how much may be pushed in one request, in bytes.
const mostPushed = 128 << 20

// Registry is an OCI registry on this machine for a program to push to, until stop is called. What is
// in it is lost then.
func Registry() (host string, port int, stop func(), err error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", 0, nil, fmt.Errorf("a registry for AICR's CLI to push to: %w", err)
	}
	quiet := log.New(io.Discard, "", 0)
	s := &http.Server{Handler: http.MaxBytesHandler(registry.New(registry.Logger(quiet)), mostPushed), ReadHeaderTimeout: 10 * time.Second, ErrorLog: quiet}
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
