package checkout

import (
	"io/fs"
	"path"
	"time"
)

// Reader is the repository as a kustomization's files. It has one file more if Written is not nil.
type Reader struct {
	*Repository
	Name    string
	Written []byte
}

// Read gives the content of a file.
func (r Reader) Read(name string) ([]byte, error) {
	if r.Written != nil && name == r.Name {
		return r.Written, nil
	}
	return r.Repository.Read(name)
}

// Stat describes a file, without following a link.
func (r Reader) Stat(name string) (fs.FileInfo, error) {
	if r.Written != nil && name == r.Name {
		return writtenFile{path.Base(name), int64(len(r.Written))}, nil
	}
	return fs.Lstat(r.FSys, name)
}

// writtenFile is a file that exists in memory only.
type writtenFile struct {
	name string
	size int64
}

func (f writtenFile) Name() string     { return f.name }
func (f writtenFile) Size() int64      { return f.size }
func (writtenFile) Mode() fs.FileMode  { return 0o444 }
func (writtenFile) ModTime() time.Time { return time.Time{} }
func (writtenFile) IsDir() bool        { return false }
func (writtenFile) Sys() any           { return nil }
