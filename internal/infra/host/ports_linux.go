package host

import (
	"errors"
	"fmt"
	"io"
	"net"
	"syscall"
)

// lockPort takes the machine's lock of a port, or nil if somebody holds it. It is an abstract Unix
// socket (unix(7)): its names are a network namespace's, as ports are, so that it excludes runs of
// other users and of other cache directories, and nothing is left on a disk.
func lockPort(_ string, port int) (io.Closer, error) {
	l, err := net.Listen("unix", fmt.Sprintf("@aicr-action/port/%d", port))
	if errors.Is(err, syscall.EADDRINUSE) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return l, nil
}
