package stack

import (
	"archive/tar"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/klauspost/compress/zstd"

	"github.com/nvidia/aicr-action/internal/infra"
	"github.com/nvidia/aicr-action/internal/result/reason"
)

const (
	// mostUnpacked is all that an archive may unpack to, in bytes: four times what a stack takes. A
	// small file may unpack to any size.
	mostUnpacked = 4 << 30
	// mostWindow is the memory that unpacking may take, in bytes: what zstd itself takes at most
	// without being asked (zstd(1), --long).
	mostWindow = 128 << 20
)

// Install unpacks an archive that Archive made of the same stack, so that no program needs to be
// compiled. With a digest, the SHA-256 of the file in hexadecimal digits, it rejects a file with
// another one before it reads anything else of it. It does not change a complete stack.
//
// It waits for builds of the same stack, and they for it. A file appears under its name only after
// the whole archive was read and found complete. An archive that is damaged, of another stack or
// platform, or that has other files than a stack's is an error with the reason USAGE.
func (s *Stack) Install(ctx context.Context, progress infra.Progress, file, digest string) error {
	f, err := os.Open(file)
	if err != nil {
		return reason.New(reason.Usage, "open the stack's archive: %w", err)
	}
	defer func() { _ = f.Close() }()
	if digest != "" {
		if err := checkDigest(ctx, f, digest); err != nil {
			return err
		}
	}
	if err := os.MkdirAll(filepath.Join(s.Dir, "bin"), 0o755); err != nil {
		return reason.Wrap(infra.DiskReason(err, reason.StackBuildFailed), fmt.Errorf("make the stack's directory: %w", err))
	}
	unlock, err := s.lock(ctx, progress)
	if err != nil {
		return err
	}
	defer unlock()
	if s.Complete() {
		return nil
	}
	task := progress.Begin("Installing the stack from " + file)
	err = s.install(ctx, f, task)
	var local *fs.PathError
	switch {
	case err == nil:
	case ctx.Err() != nil:
		err = fmt.Errorf("install the stack: %w", context.Cause(ctx))
	case errors.As(err, &local):
		err = reason.Wrap(infra.DiskReason(err, reason.StackBuildFailed), fmt.Errorf("install the stack: %w", err))
	default:
		err = reason.New(reason.Usage, "install the stack from %s: %w", file, err)
	}
	task.End("", err)
	return err
}

// checkDigest reads the open file that is unpacked afterwards, so that another process cannot
// replace the file in between.
func checkDigest(ctx context.Context, f *os.File, digest string) error {
	sum := sha256.New()
	if _, err := io.Copy(sum, &interruptible{ctx, f}); err != nil {
		return fmt.Errorf("read the stack's archive: %w", err)
	}
	if got := hexOf(sum); !strings.EqualFold(got, digest) {
		return reason.New(reason.Usage, "the stack's archive %s has the SHA-256 %s, and not %s as it should; nothing was installed; download it again", f.Name(), got, digest)
	}
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return fmt.Errorf("read the stack's archive: %w", err)
	}
	return nil
}

func (s *Stack) install(ctx context.Context, r io.Reader, task infra.Task) error {
	tmp := filepath.Join(s.Dir, ".installing") // the lock is ours: what is there was left by a process that was killed
	if err := os.RemoveAll(tmp); err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(tmp) }() // files that are in place are no longer there
	unpacked := &Stack{Dir: tmp}
	for _, dir := range []string{tmp, filepath.Dir(unpacked.Bin("x"))} {
		if err := os.Mkdir(dir, 0o755); err != nil {
			return err
		}
	}
	if err := s.unpack(&interruptible{ctx, r}, tmp, mostUnpacked, task); err != nil {
		return err
	}
	if missing := unpacked.Missing(Groups()...); len(missing) > 0 {
		return fmt.Errorf("it lacks %s", missing[0].Name)
	}
	if !unpacked.Complete() {
		return errors.New("it lacks CRDs")
	}
	for _, g := range Groups() {
		for _, p := range g.Parts() {
			if err := os.Rename(unpacked.Bin(p.Name), s.compiled(p.Name)); err != nil {
				return err
			}
		}
		if len(crdSets(g)) == 0 {
			continue
		}
		if _, err := os.Stat(s.CRDs(g)); err == nil {
			continue // of an unfinished build; a group's directory is there only when it is whole
		}
		if err := errors.Join(os.MkdirAll(filepath.Dir(s.CRDs(g)), 0o755), os.Rename(unpacked.CRDs(g), s.CRDs(g))); err != nil {
			return err
		}
	}
	return nil
}

// unpack writes the archive's files below a directory, which it cannot leave: only names that a
// stack has are taken, only regular files, and the directory is opened as a root besides.
func (s *Stack) unpack(r io.Reader, dir string, most int64, task infra.Task) error {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer func() { _ = root.Close() }()
	packed, err := zstd.NewReader(r, zstd.WithDecoderMaxWindow(mostWindow))
	if err != nil {
		return err
	}
	defer packed.Close()
	limited := &io.LimitedReader{R: packed, N: most}
	archive := tar.NewReader(limited)
	seen := map[string]bool{}
	for {
		header, err := archive.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return damaged(limited, most, err)
		}
		name, mode, err := s.entry(header)
		if err != nil {
			return err
		}
		if seen[name] {
			return fmt.Errorf("it has %q twice", header.Name)
		}
		seen[name] = true
		task.Update(name)
		if err := writeEntry(root, name, mode, archive); err != nil {
			return damaged(limited, most, err)
		}
	}
	// The checksum is at the very end, behind the padding of the tar.
	if _, err := io.Copy(io.Discard, limited); err != nil {
		return damaged(limited, most, err)
	}
	return nil
}

// entry is the name of a file below the stack's directory.
func (s *Stack) entry(header *tar.Header) (string, fs.FileMode, error) {
	top, name, _ := strings.Cut(header.Name, "/")
	mode, known := archiveMode(name)
	switch {
	case known && top != s.Name() && header.Typeflag == tar.TypeReg:
		return "", 0, fmt.Errorf("it is the stack %.100q, and this program needs %s: take the archive of the same release and platform", top, s.Name())
	case !known || top != s.Name():
		return "", 0, fmt.Errorf("it has %.200q, which is no file of a stack", header.Name)
	case header.Typeflag != tar.TypeReg:
		return "", 0, fmt.Errorf("it has a link or a special file at %.200q, and a stack has only files", header.Name)
	}
	return name, mode, nil
}

func writeEntry(root *os.Root, name string, mode fs.FileMode, r io.Reader) error {
	if err := root.MkdirAll(path.Dir(name), 0o755); err != nil {
		return err
	}
	f, err := root.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, mode)
	if err != nil {
		return err
	}
	_, err = io.Copy(f, r)
	return errors.Join(err, f.Close())
}

// damaged says what a reader's error means for a file that was downloaded.
func damaged(limited *io.LimitedReader, most int64, err error) error {
	switch {
	case limited.N <= 0:
		return fmt.Errorf("it unpacks to more than %d MiB", most>>20)
	case errors.Is(err, io.ErrUnexpectedEOF):
		return errors.New("it ends too early; download it again")
	case errors.Is(err, zstd.ErrMagicMismatch):
		return fmt.Errorf("it is no archive of a stack: %w", err)
	}
	return err
}
