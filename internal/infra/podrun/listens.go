package podrun

import (
	"errors"
	"fmt"
	"maps"
	"net"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/nvidia/aicr-action/internal/infra"
	"github.com/nvidia/aicr-action/internal/infra/host"
)

// listens are the ports of this machine that a pod's process has in place of those that its
// arguments name. They stay the same when the process starts again.
type listens struct {
	mu sync.Mutex
	of map[int]int // by the port that the container means
}

// at is the port of this machine for one that the container means: the same, unless the program has
// a flag for it.
func (l *listens) at(port int) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	if on, ok := l.of[port]; ok {
		return on
	}
	return port
}

// own is the port of this machine for one that the container means, if the program has a flag for
// it.
func (l *listens) own(port int) (int, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	on, ok := l.of[port]
	return on, ok
}

// all are the ports of this machine, sorted.
func (l *listens) all() []int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Sorted(maps.Values(l.of))
}

func (l *listens) release(ports *host.Ports) {
	if all := l.all(); len(all) > 0 {
		ports.Release(all...)
	}
}

// take is the port of this machine for one that the container means; it takes one at the first call.
func (l *listens) take(ports *host.Ports, port int) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if on, ok := l.of[port]; ok {
		return on, nil
	}
	free, err := ports.Take(1)
	if err != nil {
		return 0, err
	}
	l.of[port] = free[0]
	return free[0], nil
}

// place gives a program free ports: it puts them into the arguments that name an address, and adds
// the arguments for addresses that the program has by default. What was an address of every
// interface becomes one of this machine only. Settings of its configuration file are those of
// configure, unless an argument goes before them.
func (l *listens) place(ports *host.Ports, flags []infra.Listen, args []string) ([]string, error) {
	args = slices.Clone(args)
	for _, f := range flags {
		at, value := flagIn(args, f.Flag)
		switch {
		case at < 0 && f.Setting != "":
			continue
		case at < 0:
			value = f.Default
		}
		text, _, err := l.free(ports, value)
		if err != nil {
			return nil, fmt.Errorf("the argument --%s=%s: %w", f.Flag, value, err)
		}
		if text == "" {
			continue
		}
		switch {
		case at < 0:
			args = append(args, "--"+f.Flag+"="+text)
		case strings.Contains(args[at], "="):
			args[at] = "--" + f.Flag + "=" + text
		default:
			args[at+1] = text
		}
	}
	return args, nil
}

// free is a free port, or an address with one, in place of that of a value; empty if the program
// does not listen there.
func (l *listens) free(ports *host.Ports, value string) (text string, port int, err error) {
	address, means, err := addressOf(value)
	if err != nil || means == 0 {
		return "", 0, err
	}
	on, err := l.take(ports, means)
	if err != nil {
		return "", 0, err
	}
	text = strconv.Itoa(on)
	if address {
		text = net.JoinHostPort("127.0.0.1", text)
	}
	return text, on, nil
}

// flagIn is where the last argument with a flag is, which is the one that counts, and its value; -1
// without one.
func flagIn(args []string, flag string) (at int, value string) {
	at = -1
	if flag == "" {
		return at, ""
	}
	for i, arg := range args {
		name, dashes := strings.CutPrefix(arg, "-")
		name = strings.TrimPrefix(name, "-")
		switch {
		case !dashes:
		case name == flag && i+1 < len(args):
			at, value = i, args[i+1]
		default:
			if v, ok := strings.CutPrefix(name, flag+"="); ok {
				at, value = i, v
			}
		}
	}
	return at, value
}

// addressOf is the port in a flag's value, which is a port or an address; 0 for no value.
func addressOf(value string) (address bool, port int, err error) {
	if value == "" {
		return false, 0, nil
	}
	if i := strings.LastIndex(value, ":"); i >= 0 {
		address, value = true, value[i+1:]
	}
	port, err = strconv.Atoi(value)
	if err != nil || port < 0 || port > 65535 {
		return false, 0, errors.New("want a port, or an address with one")
	}
	return address, port, nil
}
