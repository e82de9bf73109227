package clusterstate

import (
	"archive/tar"
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"
)

// The file is a gzipped tar, so that it can be looked into without this program: the head, then an
// entry per key in the order of writing. The values of custom resources and CRDs are JSON; those of
// built-in kinds are protobuf, as in etcd.
const (
	// FileSuffix is how the names of snapshots end; before it stands the cluster's name.
	FileSuffix = "-etcd.tar.gz"

	headName = "snapshot.json"
	// prefix is where the API server keeps everything (--etcd-prefix).
	prefix = "/registry/"
	// mostBytes is all that ReadFile will unpack: a file of a few kilobytes may unpack to any size.
	mostBytes = 1 << 30
)

// WriteFile writes the snapshot. The file has its name only once it is whole.
func (s *Snapshot) WriteFile(path string) (err error) {
	f, err := os.Create(path + ".new")
	if err != nil {
		return fmt.Errorf("write the snapshot of cluster %s: %w", s.Cluster, err)
	}
	defer func() {
		if err != nil {
			err = fmt.Errorf("write the snapshot of cluster %s: %w", s.Cluster, errors.Join(err, os.Remove(path+".new")))
		}
	}()
	buffered := bufio.NewWriterSize(f, 1<<16)
	if err := errors.Join(s.write(buffered), buffered.Flush(), f.Close()); err != nil {
		return err
	}
	return os.Rename(path+".new", path)
}

func (s *Snapshot) write(w io.Writer) error {
	head, err := json.MarshalIndent(s.Info, "", "  ")
	if err != nil {
		return err
	}
	zipped := gzip.NewWriter(w)
	archive := tar.NewWriter(zipped)
	add := func(name string, content []byte) error {
		header := &tar.Header{Typeflag: tar.TypeReg, Name: name, Size: int64(len(content)), Mode: 0o644, ModTime: time.Unix(s.Taken.Unix(), 0)}
		if err := archive.WriteHeader(header); err != nil {
			return err
		}
		_, err := archive.Write(content)
		return err
	}
	if err := add(headName, append(head, '\n')); err != nil {
		return err
	}
	for _, r := range s.Records {
		if err := add(strings.TrimPrefix(r.Key, "/"), r.Value); err != nil {
			return fmt.Errorf("%s: %w", r.Key, err)
		}
	}
	return errors.Join(archive.Close(), zipped.Close())
}

// ReadFile reads a snapshot whole, before anything is done with it. A file that is cut off,
// damaged, of another format or no snapshot at all gives an error that wraps ErrUnusable.
func ReadFile(path string) (*Snapshot, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("read the snapshot: %w", err)
	}
	defer func() { _ = f.Close() }()
	s, err := read(bufio.NewReader(f), mostBytes)
	if err != nil {
		return nil, fmt.Errorf("read the snapshot %s: %w: %w", path, ErrUnusable, err)
	}
	return s, nil
}

func read(r io.Reader, most int64) (*Snapshot, error) {
	zipped, err := gzip.NewReader(r)
	if err != nil {
		return nil, cutOff(err)
	}
	limited := &io.LimitedReader{R: zipped, N: most}
	archive := tar.NewReader(limited)
	s := &Snapshot{}
	if err := s.readHead(archive); err != nil {
		return nil, tooBig(limited, most, err)
	}
	seen := map[string]bool{}
	for {
		header, err := archive.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, tooBig(limited, most, err)
		}
		key := "/" + header.Name
		if !strings.HasPrefix(key, prefix) || header.Typeflag != tar.TypeReg || seen[key] {
			return nil, fmt.Errorf("it has an entry %q, which is no key of the API server's or comes twice", header.Name)
		}
		seen[key] = true
		value, err := io.ReadAll(archive)
		if err != nil {
			return nil, tooBig(limited, most, err)
		}
		s.Records = append(s.Records, Record{Key: key, Value: value})
	}
	// The checksum is at the very end, behind the padding of the tar.
	if _, err := io.Copy(io.Discard, limited); err != nil {
		return nil, cutOff(err)
	}
	if len(s.Records) != s.Keys {
		return nil, fmt.Errorf("it has %d keys and says that it has %d", len(s.Records), s.Keys)
	}
	return s, nil
}

func (s *Snapshot) readHead(archive *tar.Reader) error {
	header, err := archive.Next()
	if err != nil {
		return err
	}
	if header.Name != headName {
		return fmt.Errorf("its first entry is %q, not %s", header.Name, headName)
	}
	raw, err := io.ReadAll(archive)
	if err != nil {
		return err
	}
	if err := json.NewDecoder(bytes.NewReader(raw)).Decode(&s.Info); err != nil {
		return fmt.Errorf("its head %s: %w", headName, err)
	}
	return s.check()
}

func tooBig(r *io.LimitedReader, most int64, err error) error {
	if r.N <= 0 {
		return fmt.Errorf("it unpacks to more than %d MiB", most>>20)
	}
	return cutOff(err)
}

// cutOff says what a reader's "unexpected EOF" means for a file that was downloaded.
func cutOff(err error) error {
	if errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) {
		return errors.New("it ends too early; download it again")
	}
	return err
}
