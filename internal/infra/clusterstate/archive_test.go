package clusterstate

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"
)

func someSnapshot() *Snapshot {
	s := &Snapshot{
		Info: Info{
			Format: Format, About: About{Cluster: "aicr-1a2b-1", Kubernetes: "v1.36.2", Cell: "eks-training/helm", Verdict: "failed SCHEDULING_FAILED"},
			Harness: "v0.3.0", Taken: time.Date(2026, 7, 1, 12, 0, 0, 0, time.UTC), Revision: 4711, LeftOut: []string{"/registry/secrets/a/b"},
		},
		Records: []Record{
			{Key: "/registry/namespaces/default", Value: []byte("k8s\x00\x01\x02")},
			// A colon, and more than the 100 bytes that a plain tar has for a name.
			{Key: "/registry/clusterroles/system:controller:" + strings.Repeat("x", 150), Value: []byte{}},
			{Key: "/registry/example.com/widgets/default/w", Value: []byte(`{"kind":"Widget"}`)},
			{Key: "/registry/configmaps/default/large", Value: bytes.Repeat([]byte("0123456789"), 50_000)},
		},
	}
	s.Keys = len(s.Records)
	return s
}

func written(t *testing.T, s *Snapshot) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "x"+FileSuffix)
	if err := s.WriteFile(path); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestRoundTrip(t *testing.T) {
	want := someSnapshot()
	path := written(t, want)
	got, err := ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, want %+v", got.Info, want.Info)
	}
	if left, err := os.ReadDir(filepath.Dir(path)); err != nil || len(left) != 1 {
		t.Errorf("in the directory: %v, %v; want the file alone", left, err)
	}
}

// No cut goes unnoticed, and no flipped bit that changes anything: a few bits of a gzip file mean
// nothing.
func TestDamage(t *testing.T) {
	s := someSnapshot()
	s.Records[3].Value = []byte("small, so that every place can be tried")
	raw, err := os.ReadFile(written(t, s))
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "damaged")
	readBack := func(content []byte) (*Snapshot, error) {
		t.Helper()
		if err := os.WriteFile(path, content, 0o644); err != nil {
			t.Fatal(err)
		}
		got, err := ReadFile(path)
		if err != nil && (!errors.Is(err, ErrUnusable) || !strings.Contains(err.Error(), path)) {
			t.Fatalf("got %v, want ErrUnusable with the file's name", err)
		}
		return got, err
	}
	meaningless := 0
	for n := range raw {
		if got, err := readBack(raw[:n]); err == nil {
			t.Fatalf("cut after %d of %d bytes: got %+v", n, len(raw), got.Info)
		}
		flipped := bytes.Clone(raw)
		flipped[n] ^= 0x10
		got, err := readBack(flipped)
		if err != nil {
			continue
		}
		meaningless++
		if !reflect.DeepEqual(got, s) {
			t.Fatalf("byte %d flipped: got %+v with %d records", n, got.Info, len(got.Records))
		}
	}
	if meaningless > 12 { // most of gzip's head of ten bytes, and the padding of the last block
		t.Errorf("%d of %d flipped bits were not noticed", meaningless, len(raw))
	}
	for what, content := range map[string][]byte{"more behind it": append(bytes.Clone(raw), "more"...), "a web page": []byte("<html>Not Found</html>"), "nothing": nil} {
		if got, err := readBack(content); err == nil {
			t.Errorf("%s: got %+v", what, got.Info)
		}
	}
}

// pack makes a file that may be anything but what WriteFile would write.
func pack(t *testing.T, entries ...*tar.Header) io.Reader {
	t.Helper()
	var out bytes.Buffer
	zipped := gzip.NewWriter(&out)
	archive := tar.NewWriter(zipped)
	for _, h := range entries {
		content := h.PAXRecords["content"]
		h.PAXRecords, h.Size, h.Mode = nil, int64(len(content)), 0o644
		if err := archive.WriteHeader(h); err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(archive, content); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(archive.Close(), zipped.Close()); err != nil {
		t.Fatal(err)
	}
	return &out
}

func entry(name, content string) *tar.Header {
	return &tar.Header{Name: name, PAXRecords: map[string]string{"content": content}}
}

const (
	goodHead = `{"format":1,"cluster":"c","kubernetes":"v1.36.2","keys":1}`
	twoHead  = `{"format":1,"cluster":"c","kubernetes":"v1.36.2","keys":2}`
)

// A snapshot is untrusted: it comes from a CI run.
func TestReadFile_Untrusted(t *testing.T) {
	key := entry("registry/a/b", "x")
	for name, test := range map[string]struct {
		entries []*tar.Header
		want    string
	}{
		"no entry":                     {nil, "ends too early"},
		"no head":                      {[]*tar.Header{entry("registry/a/b", "x")}, "first entry"},
		"head is no JSON":              {[]*tar.Header{entry(headName, "x")}, "its head"},
		"a format to come":             {[]*tar.Header{entry(headName, `{"format":2,"cluster":"c"}`)}, "format is 2; this program reads format 1"},
		"a cluster that is a path":     {[]*tar.Header{entry(headName, `{"format":1,"cluster":"../../x"}`)}, `named "../../x"`},
		"a verdict for the terminal":   {[]*tar.Header{entry(headName, `{"format":1,"cluster":"c","verdict":"\u001b[2J"}`)}, "cannot be printed"},
		"a key of etcd's own":          {[]*tar.Header{entry(headName, goodHead), entry("auth/users", "x")}, "no key of the API server"},
		"a key twice":                  {[]*tar.Header{entry(headName, twoHead), entry("registry/a/b", "x"), entry("registry/a/b", "y")}, "comes twice"},
		"fewer keys than it says":      {[]*tar.Header{entry(headName, twoHead), key}, "1 keys and says that it has 2"},
		"a file that unpacks too much": {[]*tar.Header{entry(headName, goodHead), entry("registry/a/b", strings.Repeat("0", 3<<20))}, "more than 2 MiB"},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := read(pack(t, test.entries...), 2<<20)
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v, %v; want %q", got, err, test.want)
			}
		})
	}
	if _, err := read(pack(t, entry(headName, goodHead), entry("registry/a/b", "x")), 2<<20); err != nil {
		t.Errorf("a good one: %v", err)
	}
}

func TestReadFile_Missing(t *testing.T) {
	_, err := ReadFile(filepath.Join(t.TempDir(), "x"))
	if !errors.Is(err, os.ErrNotExist) || errors.Is(err, ErrUnusable) {
		t.Errorf("got %v", err)
	}
}

func TestWriteFile_Error(t *testing.T) {
	dir := t.TempDir()
	s := someSnapshot()
	s.Records[0].Key = "/registry/\x00" // tar refuses it
	if err := s.WriteFile(filepath.Join(dir, "x")); err == nil || !strings.Contains(err.Error(), "aicr-1a2b-1") {
		t.Errorf("got %v, want an error that names the cluster", err)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("left: %v, %v", left, err)
	}
}

func TestCheckKubernetes(t *testing.T) {
	for theirs, want := range map[string]struct{ warning, err string }{
		"v1.36.2": {}, "v1.36.9": {warning: "of Kubernetes v1.36.9, replayed with v1.36.2"},
		"v1.35.2": {err: "of Kubernetes v1.35.2 and this program has v1.36.2; replay it with the version of matrix that took it (v0.3.0)"},
		"v2.36.2": {err: "this program has"}, "": {err: "it says that it is of Kubernetes"},
	} {
		info := Info{About: About{Kubernetes: theirs}, Harness: "v0.3.0"}
		warning, err := info.CheckKubernetes("v1.36.2")
		if !strings.Contains(warning, want.warning) || (want.warning == "") != (warning == "") || (want.err == "") != (err == nil) ||
			err != nil && !strings.Contains(err.Error(), want.err) {
			t.Errorf("%q: got %q, %v; want %+v", theirs, warning, err, want)
		}
	}
}
