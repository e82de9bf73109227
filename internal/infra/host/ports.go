package host

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"sync"

	"github.com/gofrs/flock"

	"github.com/nvidia/aicr-action/internal/result/reason"
)

// The range that ports are allotted from: below the range from which Linux (32768) and macOS
// (49152) pick the source ports of outgoing connections, so that no client can sit on a port
// between its allotment and its use.
const (
	firstPort = 21000
	lastPort  = 30999
)

// Ports allots TCP ports on 127.0.0.1 to any number of runs on one machine without races.
//
// A port belongs to the process that holds the lock of its file. The kernel drops the lock when the
// process exits, so that no lock becomes stale. This type exists because kwokctl's "random" ports
// race when several clusters start at once.
type Ports struct {
	dir string

	mu    sync.Mutex
	held  map[int]*flock.Flock
	start int
}

// NewPorts returns an allotter whose locks live in dir, which all runs of a user share.
func NewPorts(dir string) *Ports {
	return &Ports{dir: dir, held: map[int]*flock.Flock{}, start: firstPort + os.Getpid()*16%(lastPort-firstPort)}
}

// Take allots n different free ports.
func (p *Ports) Take(n int) ([]int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if err := os.MkdirAll(p.dir, 0o755); err != nil {
		return nil, fmt.Errorf("make the port lock directory: %w", err)
	}
	var got []int
	for range lastPort - firstPort + 1 {
		if len(got) == n {
			return got, nil
		}
		port := p.start
		p.start++
		if p.start > lastPort {
			p.start = firstPort
		}
		ok, err := p.tryLocked(port)
		if err != nil {
			return nil, err
		}
		if ok {
			got = append(got, port)
		}
	}
	if len(got) == n {
		return got, nil
	}
	return nil, reason.New(reason.PortTaken, "find %d free ports on 127.0.0.1 between %d and %d: only %d are free", n, firstPort, lastPort, len(got))
}

// TakeExact allots this very port, or fails with PORT_TAKEN.
func (p *Ports) TakeExact(port int) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if err := os.MkdirAll(p.dir, 0o755); err != nil {
		return fmt.Errorf("make the port lock directory: %w", err)
	}
	ok, err := p.tryLocked(port)
	if err != nil {
		return err
	}
	if !ok {
		return reason.New(reason.PortTaken, "port %d on 127.0.0.1 is in use by another program or run; free it, or choose another", port)
	}
	return nil
}

func (p *Ports) tryLocked(port int) (bool, error) {
	if p.held[port] != nil {
		return false, nil
	}
	lock := flock.New(filepath.Join(p.dir, strconv.Itoa(port)+".lock"))
	ok, err := lock.TryLock()
	if err != nil {
		return false, fmt.Errorf("lock port %d: %w", port, err)
	}
	if !ok {
		return false, nil
	}
	// The lock excludes only other runs of this program; the bind detects all programs.
	l, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
	if err != nil {
		return false, lock.Unlock()
	}
	if err := l.Close(); err != nil {
		return false, fmt.Errorf("probe port %d: %w", port, err)
	}
	p.held[port] = lock
	return true, nil
}

// Release gives ports back. Ports that are not held are ignored.
func (p *Ports) Release(ports ...int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, port := range ports {
		if lock := p.held[port]; lock != nil {
			_ = lock.Unlock() // the kernel drops it at exit in any case
			delete(p.held, port)
		}
	}
}
