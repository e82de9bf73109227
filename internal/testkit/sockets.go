package testkit

import (
	"fmt"
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// ShutListener shuts the listening socket of this process on a TCP port of 127.0.0.1: its server's
// next Accept fails, as when a program loses its socket.
func ShutListener(port int) error { return shutSockets(port, true) }

// ShutConnections shuts every connection that this process has accepted on a TCP port of 127.0.0.1,
// in the middle of a request, as a network does.
func ShutConnections(port int) error { return shutSockets(port, false) }

// shutSockets needs no help from the program under test: it goes through this process's
// descriptors.
func shutSockets(port int, listening bool) error {
	files, err := os.ReadDir("/dev/fd")
	if err != nil {
		return err
	}
	shut := 0
	for _, f := range files {
		fd, err := strconv.Atoi(f.Name())
		if err != nil {
			return err
		}
		name, err := unix.Getsockname(fd)
		if err != nil {
			continue // no socket, or closed since the list was read
		}
		if address, ok := name.(*unix.SockaddrInet4); !ok || address.Port != port {
			continue
		}
		accepting, err := unix.GetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_ACCEPTCONN)
		if err != nil || accepting == 1 != listening {
			continue
		}
		if err := unix.Shutdown(fd, unix.SHUT_RDWR); err == nil {
			shut++
		}
	}
	if shut == 0 {
		return fmt.Errorf("this process has no socket on port %d (listening: %v)", port, listening)
	}
	return nil
}
