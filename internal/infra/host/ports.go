package host

import (
	"fmt"
	"io"
	"net"
	"os"
	"strconv"
	"sync"

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
// A port belongs to the process that holds its lock (lockPort). The kernel drops the lock when the
// process exits, so that no lock becomes stale. This type exists because kwokctl's "random" ports
// race when several clusters start at once.
type Ports struct {
	dir string

	mu    sync.Mutex
	held  map[int]io.Closer
	start int
}

// NewPorts returns an allotter. Where locks are files they live in dir, which all runs of a user
// share.
func NewPorts(dir string) *Ports {
	return &Ports{dir: dir, held: map[int]io.Closer{}, start: firstPort + os.Getpid()*16%(lastPort-firstPort)}
}

// Take allots n different free ports.
func (p *Ports) Take(n int) ([]int, error) {
	var got []int
	err := p.next(func(port int) (bool, error) {
		l, err := p.listenLocked(port)
		if err != nil {
			return false, err
		}
		if l == nil {
			return false, nil
		}
		got = append(got, port)
		return len(got) == n, closeProbe(l, port)
	})
	if err == nil && len(got) < n {
		err = tooFew(n, len(got))
	}
	if err != nil {
		return nil, err
	}
	return got, nil
}

// TakeExact allots this very port, or fails with PORT_TAKEN.
func (p *Ports) TakeExact(port int) error {
	l, err := p.Listen(port)
	if err != nil {
		return err
	}
	return closeProbe(l, port)
}

// Listen allots this very port and listens on it, or fails with PORT_TAKEN. The port is never free
// in between: each run asks for the registry's port first, and where locks are files, a run of
// another user could take it with no more than a look.
func (p *Ports) Listen(port int) (net.Listener, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	l, err := p.listenLocked(port)
	if err != nil {
		return nil, err
	}
	if l == nil {
		return nil, reason.New(reason.PortTaken, "port %d on 127.0.0.1 is in use by another program or run; free it, or choose another", port)
	}
	return l, nil
}

// ListenNext allots a free port and listens on it.
func (p *Ports) ListenNext() (net.Listener, error) {
	var l net.Listener
	err := p.next(func(port int) (bool, error) {
		var err error
		l, err = p.listenLocked(port)
		return l != nil, err
	})
	if err != nil {
		return nil, err
	}
	if l == nil {
		return nil, tooFew(1, 0)
	}
	return l, nil
}

// next offers ports of the range in turn, until one is accepted. None accepted is no error.
func (p *Ports) next(accept func(port int) (bool, error)) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	for range lastPort - firstPort + 1 {
		port := p.start
		p.start++
		if p.start > lastPort {
			p.start = firstPort
		}
		if done, err := accept(port); done || err != nil {
			return err
		}
	}
	return nil
}

func tooFew(want, got int) error {
	return reason.New(reason.PortTaken, "find %d free ports on 127.0.0.1 between %d and %d: only %d are free", want, firstPort, lastPort, got)
}

func closeProbe(l net.Listener, port int) error {
	if err := l.Close(); err != nil {
		return fmt.Errorf("probe port %d: %w", port, err)
	}
	return nil
}

// listenLocked locks the port and listens on it. A nil listener: it is taken.
func (p *Ports) listenLocked(port int) (net.Listener, error) {
	if p.held[port] != nil {
		return nil, nil
	}
	lock, err := lockPort(p.dir, port)
	if err != nil {
		return nil, fmt.Errorf("lock port %d: %w", port, err)
	}
	if lock == nil {
		return nil, nil
	}
	// The lock excludes only other runs; listening detects all programs.
	l, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
	if err != nil {
		return nil, lock.Close()
	}
	p.held[port] = lock
	return l, nil
}

// Release gives ports back. Ports that are not held are ignored.
func (p *Ports) Release(ports ...int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, port := range ports {
		if lock := p.held[port]; lock != nil {
			_ = lock.Close() // the kernel drops it at exit in any case
			delete(p.held, port)
		}
	}
}
