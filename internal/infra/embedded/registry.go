package embedded

import (
	"context"
	"errors"
	"fmt"
	"io"
	stdlog "log"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"time"

	ociregistry "github.com/google/go-containerregistry/pkg/registry"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/infra"
	"github.com/nvidia/aicr-action/internal/infra/gitserver"
	"github.com/nvidia/aicr-action/internal/infra/host"
	"github.com/nvidia/aicr-action/internal/result/reason"
)

// DefaultRegistryPort is the registry's port on the host (upstream's default of
// KWOK_REGISTRY_HOST_PORT).
const DefaultRegistryPort = 5500

// MemoryRegistry is an OCI registry in this process, in memory. On the same port it is a Git server.
type MemoryRegistry struct {
	port int
	log  string

	listener net.Listener // from the beginning to the first Start: a port that was free a minute ago need not be
	server   *http.Server
	file     *os.File
	store    http.Handler
	git      string // directory of the repositories
	ports    *host.Ports
	serve    chan struct{}
}

// RegistryOptions of NewMemoryRegistry.
type RegistryOptions struct {
	Ports *host.Ports
	// Port asked for. With Exact it must be free; otherwise, if it is not, another is allotted, so
	// that two runs do not disturb each other.
	Port  int
	Exact bool
	// Log gets one line per request.
	Log string
	// Git is the directory of the Git repositories. Empty: no Git is served.
	Git string
}

// NewMemoryRegistry allots the port and listens on it, so that no other program can take it. Start
// serves.
func NewMemoryRegistry(o RegistryOptions) (*MemoryRegistry, error) {
	l, err := o.Ports.Listen(o.Port)
	if err != nil && o.Exact {
		return nil, fmt.Errorf("start the registry on the port that KWOK_REGISTRY_HOST_PORT names: %w", err)
	}
	if err != nil {
		if l, err = o.Ports.ListenNext(); err != nil {
			return nil, err
		}
	}
	return &MemoryRegistry{port: l.Addr().(*net.TCPAddr).Port, log: o.Log, ports: o.Ports, git: o.Git, listener: l}, nil
}

func (r *MemoryRegistry) listen() (net.Listener, error) {
	l, err := net.Listen("tcp", r.PushHost())
	if err != nil {
		return nil, reason.New(reason.RegistryNotReady, "listen on %s for the registry: %w", r.PushHost(), err)
	}
	return l, nil
}

// PushHost is host:port as this process reaches the registry; PullHost as the controllers do. For
// host processes they are the same; on Kind they are not, so nothing may assume it.
func (r *MemoryRegistry) PushHost() string {
	return net.JoinHostPort("127.0.0.1", strconv.Itoa(r.port))
}

// PullHost is the registry's host:port from the controllers' side.
func (r *MemoryRegistry) PullHost() string { return r.PushHost() }

// GitHosts of an infra.Registry: one server is both.
func (r *MemoryRegistry) GitHosts() (push, pull string) { return r.PushHost(), r.PullHost() }

// Log is the file with one line per request.
func (r *MemoryRegistry) Log() string { return r.log }

// Start serves until Stop. It may be called again after Stop; what was pushed is still there.
func (r *MemoryRegistry) Start(ctx context.Context) error {
	if err := os.MkdirAll(filepath.Dir(r.log), 0o755); err != nil {
		return reason.Wrap(infra.DiskReason(err, reason.RegistryNotReady), err)
	}
	file, err := os.OpenFile(r.log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return reason.Wrap(infra.DiskReason(err, reason.RegistryNotReady), fmt.Errorf("open the registry's log: %w", err))
	}
	r.file = file
	if r.store == nil {
		r.store = r.withGit(ctx, ociregistry.New(ociregistry.Logger(stdlog.New(io.Discard, "", 0))))
	}
	listener := r.listener
	r.listener = nil
	if listener == nil { // it was stopped in between
		if listener, err = r.listen(); err != nil {
			return errors.Join(err, file.Close())
		}
	}
	logger := stdlog.New(file, "", stdlog.LstdFlags|stdlog.Lmicroseconds)
	r.server = &http.Server{Handler: logRequests(r.store, logger), ReadHeaderTimeout: 10 * time.Second, ErrorLog: logger}
	r.serve = make(chan struct{})
	go func(s *http.Server, done chan struct{}) {
		defer close(done)
		if err := s.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			logger.Printf("registry ended: %v", err)
		}
	}(r.server, r.serve)
	return reason.Wrap(reason.RegistryUnreachable, infra.WaitRegistry(ctx, r.PushHost()))
}

// withGit has the Git server answer what is addressed to a Git repository. A machine without git has
// none; what needs it was refused before (Platform.ServesGit).
func (r *MemoryRegistry) withGit(ctx context.Context, registry http.Handler) http.Handler {
	if r.git == "" {
		return registry
	}
	git, err := gitserver.New(ctx, r.git, bundle.GitBranch)
	if err != nil {
		return registry
	}
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		if gitserver.Serves(req) {
			git.ServeHTTP(w, req)
			return
		}
		registry.ServeHTTP(w, req)
	})
}

// Stop ends the server at once; connections are cut.
func (r *MemoryRegistry) Stop() {
	if r.server == nil {
		return
	}
	_ = r.server.Close()
	<-r.serve
	_ = r.file.Close()
	r.server = nil
}

// Close stops the server and gives the port back.
func (r *MemoryRegistry) Close() {
	r.Stop()
	if r.listener != nil {
		_ = r.listener.Close()
	}
	r.ports.Release(r.port)
}

func logRequests(next http.Handler, logger *stdlog.Logger) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		rec := &statusRecorder{ResponseWriter: w, status: http.StatusOK}
		next.ServeHTTP(rec, req)
		logger.Printf("%s %s %d %s", req.Method, req.URL.RequestURI(), rec.status, req.UserAgent())
	})
}

type statusRecorder struct {
	http.ResponseWriter
	status int
}

func (s *statusRecorder) WriteHeader(code int) {
	s.status = code
	s.ResponseWriter.WriteHeader(code)
}
