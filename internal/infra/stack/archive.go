package stack

import (
	"archive/tar"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/klauspost/compress/zstd"

	"github.com/nvidia/aicr-action/internal/infra"
	"github.com/nvidia/aicr-action/internal/result/reason"
)

// ArchiveSuffix is the suffix of the names of stack archives. They are zstd because every job
// without a stack waits until one is unpacked: gzip makes a larger file and takes several times as
// long. `tar --zstd -tf` lists the content of one.
const ArchiveSuffix = ".tar.zst"

// Name is the name of the stack's directory: the key of its content and the platform, e.g.
// 9419da6ded5d2620-linux-amd64.
func (s *Stack) Name() string { return filepath.Base(s.Dir) }

// Complete tells whether everything of the stack was compiled or installed: Build has nothing to do.
func (s *Stack) Complete() bool { return (&Stack{Dir: s.Dir, groups: s.groups}).complete(Groups()) }

// Archive writes the stack into a file that Install takes, and returns the SHA-256 of the file.
// Entries are in the order of their names and have neither time nor owner, so that one stack always
// makes the same file. It has its name only once it is whole.
func (s *Stack) Archive(ctx context.Context, progress infra.Progress, file string) (digest string, err error) {
	names, err := s.files()
	if err != nil {
		return "", err
	}
	task := progress.Begin("Packing the stack into " + file)
	defer func() { task.End("", err) }()
	partial := file + ".partial"
	f, err := os.OpenFile(partial, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o644)
	if err != nil {
		return "", reason.New(reason.Usage, "write the stack's archive: %w", err)
	}
	defer func() {
		if err != nil {
			_ = f.Close()
			err = errors.Join(err, os.Remove(partial))
		}
	}()
	sum := sha256.New()
	if err := s.pack(ctx, io.MultiWriter(f, sum), names, task); err != nil {
		if ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		return "", reason.Wrap(infra.DiskReason(err, reason.StackBuildFailed), fmt.Errorf("write the stack's archive %s: %w", file, err))
	}
	if err := f.Close(); err != nil {
		return "", reason.Wrap(infra.DiskReason(err, reason.StackBuildFailed), fmt.Errorf("write the stack's archive: %w", err))
	}
	if err := os.Rename(partial, file); err != nil {
		return "", reason.Wrap(reason.StackBuildFailed, fmt.Errorf("write the stack's archive: %w", err))
	}
	return hexOf(sum), nil
}

// files lists the files of an archive, relative to the stack's directory. It fails if the stack is
// incomplete, since jobs that install such an archive would compile for minutes.
func (s *Stack) files() ([]string, error) {
	if !s.Complete() {
		return nil, reason.New(reason.Usage, "archive the stack: %s is not complete; run `matrix stack build` first", s.Dir)
	}
	var names []string
	for _, g := range Groups() {
		for _, p := range g.Parts() {
			names = append(names, "bin/"+p.Name)
		}
		if len(crdSets(g)) == 0 {
			continue
		}
		crds, err := os.ReadDir(s.CRDs(g))
		if err != nil {
			return nil, reason.Wrap(reason.StackBuildFailed, fmt.Errorf("archive the stack: %w", err))
		}
		for _, f := range crds {
			names = append(names, path.Join("crds", string(g), f.Name()))
		}
	}
	slices.Sort(names)
	return names, nil
}

func (s *Stack) pack(ctx context.Context, w io.Writer, names []string, task infra.Task) error {
	packed, err := zstd.NewWriter(w) // the next level takes three times as long, for a file that is 5 % smaller
	if err != nil {
		return err
	}
	archive := tar.NewWriter(packed)
	for _, name := range names {
		task.Update(name)
		if err := s.packFile(ctx, archive, name); err != nil {
			_ = packed.Close() // it has goroutines; the file is thrown away
			return err
		}
	}
	return errors.Join(archive.Close(), packed.Close())
}

func (s *Stack) packFile(ctx context.Context, archive *tar.Writer, name string) error {
	mode, ok := archiveMode(name)
	if !ok {
		return fmt.Errorf("%s is no part of a stack; remove it", filepath.Join(s.Dir, filepath.FromSlash(name)))
	}
	f, err := os.Open(filepath.Join(s.Dir, filepath.FromSlash(name)))
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	header := &tar.Header{Typeflag: tar.TypeReg, Name: s.Name() + "/" + name, Size: info.Size(), Mode: int64(mode), ModTime: time.Unix(0, 0)}
	if err := archive.WriteHeader(header); err != nil {
		return err
	}
	_, err = io.Copy(archive, &interruptible{ctx, f})
	return err
}

// archiveMode is the mode of a file of the stack, or false for a name that no stack has. No other
// file is packed or unpacked.
func archiveMode(name string) (fs.FileMode, bool) {
	dir, base := path.Split(name)
	for _, g := range Groups() {
		if dir == "bin/" && slices.ContainsFunc(g.Parts(), func(p Part) bool { return p.Name == base }) {
			return 0o755, true
		}
		if dir == "crds/"+string(g)+"/" && g.HasCRDs() && strings.HasSuffix(base, ".yaml") && !strings.HasPrefix(base, ".") {
			return 0o644, true
		}
	}
	return 0, false
}

// interruptible ends a copy of hundreds of megabytes when its context ends.
type interruptible struct {
	ctx context.Context
	r   io.Reader
}

func (r *interruptible) Read(p []byte) (int, error) {
	if r.ctx.Err() != nil {
		return 0, context.Cause(r.ctx)
	}
	return r.r.Read(p)
}

func hexOf(sum hash.Hash) string { return hex.EncodeToString(sum.Sum(nil)) }
