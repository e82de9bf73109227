// Package docio reads and writes the documents of the aicr commands, wherever they are: files,
// standard input and output, https:// addresses and ConfigMaps (cm://NAMESPACE/NAME). Everything is
// bounded in size and time. It must not know what is in a document: that is its caller's to read.
package docio

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"k8s.io/client-go/kubernetes"

	"github.com/nvidia/aicr-action/internal/result/reason"
	"github.com/nvidia/aicr-action/internal/util/filesys"
	"github.com/nvidia/aicr-action/internal/util/httpstatus"
)

// most is the largest document that is read, in bytes.
const most = 10 << 20

// Places opens what addresses lead to.
type Places struct {
	Stdin  io.Reader
	Stdout io.Writer
	Getenv func(string) string
	// Warn gets warnings about a document that is read nevertheless; nil discards them.
	Warn func(string)
	// Client connects to the cluster of cm:// addresses; nil if there can be none. See NewClient.
	Client func() (kubernetes.Interface, error)
	// Timeout is what a download, or a call to a cluster, may take. Zero: 30 seconds.
	Timeout time.Duration
	// Log gets what was read and written; nil discards it.
	Log *slog.Logger
}

// Kind is what a document is, e.g. "recipe": it names the key in a ConfigMap, and the document in
// messages.
type Kind string

const stdStream = "-"

// standard reports whether an address is standard input or output: "-", or nothing.
func standard(address string) bool { return address == "" || address == stdStream }

// Read gives the document at an address, and what messages should call it. Reasons: USAGE,
// DOWNLOAD_FAILED, CLUSTER_ACCESS_FAILED.
func (p Places) Read(ctx context.Context, kind Kind, address string) (data []byte, called string, err error) {
	defer p.logged("read", kind, address, time.Now(), func() (int, error) { return len(data), err })
	switch {
	case standard(address):
		data, err = p.readStdin(kind)
		return data, "standard input", err
	case strings.HasPrefix(address, mapScheme):
		data, err = p.readMap(ctx, kind, address)
		return data, address, err
	case strings.Contains(address, "://"):
		data, called, err = p.download(ctx, kind, address)
		return data, called, err
	}
	data, err = readFile(kind, address)
	return data, filepath.ToSlash(filepath.Clean(address)), err
}

func (p Places) readStdin(kind Kind) ([]byte, error) {
	if p.Stdin == nil {
		return nil, reason.New(reason.Usage, "read the %s from standard input: there is none", kind)
	}
	data, err := io.ReadAll(io.LimitReader(p.Stdin, most+1))
	switch {
	case err != nil:
		return nil, reason.New(reason.Usage, "read the %s from standard input: %w", kind, err)
	case len(data) > most:
		return nil, reason.New(reason.Usage, "standard input has more than %d MiB, the limit for a %s", most>>20, kind)
	case len(data) == 0:
		return nil, reason.New(reason.Usage, "standard input is empty; pipe a %s into it", kind)
	}
	return data, nil
}

func readFile(kind Kind, file string) ([]byte, error) {
	info, err := os.Stat(file)
	var of *fs.PathError
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, reason.Wrap(reason.Usage, httpstatus.With(http.StatusNotFound, fmt.Errorf("%s file %s does not exist; check the name", kind, file)))
	case errors.As(err, &of):
		return nil, reason.New(reason.Usage, "read the %s file %s: %w", kind, file, of.Err)
	case err != nil:
		return nil, reason.New(reason.Usage, "read the %s file %s: %w", kind, file, err)
	case info.IsDir():
		return nil, reason.New(reason.Usage, "%s is a directory; name the %s file in it", file, kind)
	}
	data, err := filesys.File(file, most)
	if errors.As(err, &of) {
		err = fmt.Errorf("read the %s file %s: %w", kind, file, of.Err)
	}
	return data, reason.Wrap(reason.Usage, err)
}

// CheckOutput rejects an address that Write cannot write to. A command calls it before its work.
func CheckOutput(kind Kind, address string) error {
	switch {
	case standard(address):
		return nil
	case strings.HasPrefix(address, mapScheme):
		_, _, err := splitMap(address)
		return err
	case strings.Contains(address, "://"):
		return reason.New(reason.Usage, "a %s cannot be written to %s; write it to a file, to - (standard output) or to cm://NAMESPACE/NAME", kind, address)
	}
	if info, err := os.Stat(address); err == nil && info.IsDir() {
		return reason.New(reason.Usage, "%s is a directory; name the file to write the %s to", address, kind)
	}
	return nil
}

// Write puts a document at an address. A file that is there is replaced at once, never half. Format
// is the document's: yaml, json or table.
func (p Places) Write(ctx context.Context, kind Kind, address, format string, data []byte) (err error) {
	defer p.logged("wrote", kind, address, time.Now(), func() (int, error) { return len(data), err })
	if err := CheckOutput(kind, address); err != nil {
		return err
	}
	switch {
	case standard(address):
		_, err := p.Stdout.Write(data)
		return err
	case strings.HasPrefix(address, mapScheme):
		return p.writeMap(ctx, kind, address, format, data)
	}
	if err := writeFile(address, data); err != nil {
		return reason.New(reason.Usage, "write the %s to %s: %w", kind, address, err)
	}
	return nil
}

func (p Places) logged(did string, kind Kind, address string, began time.Time, outcome func() (bytes int, err error)) {
	if p.Log != nil {
		if u, err := url.Parse(address); err == nil && u.Scheme != "" {
			address = shown(u)
		}
		bytes, err := outcome()
		p.Log.Debug(did, "document", kind, "address", address, "bytes", bytes, "duration", time.Since(began), "err", err)
	}
}

func writeFile(file string, data []byte) error {
	if info, err := os.Stat(file); err == nil && !info.Mode().IsRegular() {
		return os.WriteFile(file, data, 0o644) // a device or a pipe is written to, and not replaced
	}
	if target, err := filepath.EvalSymlinks(file); err == nil {
		file = target // and so is what a link leads to
	}
	return plain(filesys.WriteFile(file, data, 0o644))
}

// plain leaves out a path that the message has already.
func plain(err error) error {
	var of *fs.PathError
	if errors.As(err, &of) {
		return of.Err
	}
	return err
}

func (p Places) timeout() time.Duration {
	if p.Timeout > 0 {
		return p.Timeout
	}
	return 30 * time.Second
}

func (p Places) warn(format string, args ...any) {
	if p.Warn != nil {
		p.Warn(fmt.Sprintf(format, args...))
	}
}
