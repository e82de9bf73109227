package stack

import (
	"archive/tar"
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/klauspost/compress/zstd"

	"github.com/nvidia/aicr-action/internal/infra/host"
	"github.com/nvidia/aicr-action/internal/result/reason"
)

// smallStack is a stack with every file of a real one, each of a few bytes, since packing and
// installing check only names.
func smallStack(t *testing.T) *Stack {
	t.Helper()
	s := newStack(t, host.Paths{Root: t.TempDir()})
	for _, e := range entriesOf(s) {
		file := filepath.Join(filepath.Dir(s.Dir), e.name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(e.content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return s
}

// entry of an archive: a regular file, or a link.
type entry struct {
	name, content string
	kind          byte
}

func entriesOf(s *Stack) []entry {
	var all []entry
	for _, g := range Groups() {
		for _, p := range g.Parts() {
			all = append(all, entry{s.Name() + "/bin/" + p.Name, "program " + p.Name, tar.TypeReg})
		}
		if len(crdSets(g)) > 0 {
			all = append(all, entry{s.Name() + "/crds/" + string(g) + "/things.yaml", "kind: " + string(g), tar.TypeReg})
		}
	}
	return all
}

// craft makes an archive of any entries.
func craft(t *testing.T, entries []entry) []byte {
	t.Helper()
	var out bytes.Buffer
	packed, err := zstd.NewWriter(&out)
	if err != nil {
		t.Fatal(err)
	}
	archive := tar.NewWriter(packed)
	for _, e := range entries {
		header := &tar.Header{Typeflag: e.kind, Name: e.name, Mode: 0o777}
		if e.kind == tar.TypeReg {
			header.Size = int64(len(e.content))
		} else {
			header.Linkname = e.content
		}
		if err := archive.WriteHeader(header); err != nil {
			t.Fatal(err)
		}
		if e.kind == tar.TypeReg {
			if _, err := io.WriteString(archive, e.content); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := errors.Join(archive.Close(), packed.Close()); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func TestArchiveAndInstall(t *testing.T) {
	from := smallStack(t)
	file := filepath.Join(t.TempDir(), "stack"+ArchiveSuffix)
	digest, err := from.Archive(t.Context(), &recorded{}, file)
	if err != nil {
		t.Fatal(err)
	}
	again := smallStack(t) // made later, elsewhere, by the same name
	second, err := again.Archive(t.Context(), &recorded{}, file+"2")
	if err != nil || second != digest {
		t.Errorf("the same stack made archives %s and %s (%v)", digest, second, err)
	}
	t.Setenv("PATH", t.TempDir()) // nothing can be compiled
	to := newStack(t, host.Paths{Root: t.TempDir()})
	if err := os.MkdirAll(filepath.Join(to.Dir, ".installing", "bin"), 0o755); err != nil { // of a process that was killed
		t.Fatal(err)
	}
	if err := to.Install(t.Context(), &recorded{}, file, strings.ToUpper(digest)); err != nil {
		t.Fatal(err)
	}
	if err := to.Build(t.Context(), &recorded{}, Groups()...); err != nil {
		t.Errorf("a build after it: %v", err)
	}
	for _, e := range entriesOf(from) {
		got, err := os.ReadFile(filepath.Join(filepath.Dir(to.Dir), e.name))
		if err != nil || string(got) != e.content {
			t.Errorf("%s: %q, %v", e.name, got, err)
		}
	}
	if info, err := os.Stat(to.Bin("etcd")); err != nil || info.Mode().Perm()&0o111 == 0 {
		t.Errorf("etcd cannot be run: %v, %v", info.Mode(), err)
	}
	if left := below(t, to.Dir); slices.ContainsFunc(left, func(name string) bool { return strings.HasPrefix(name, ".installing") }) {
		t.Errorf("left behind: %q", left)
	}
}

// A stack that is complete stays as it is, even if an archive has other content under the same
// name; one that is half built is completed.
func TestInstall_OverStack(t *testing.T) {
	from := smallStack(t)
	file := filepath.Join(t.TempDir(), "stack"+ArchiveSuffix)
	if _, err := from.Archive(t.Context(), &recorded{}, file); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		name, gone, want string
	}{{"complete", "", "mine"}, {"half built", "etcd", "program helm"}} {
		t.Run(test.name, func(t *testing.T) {
			s := smallStack(t)
			if err := os.WriteFile(s.Bin("helm"), []byte("mine"), 0o755); err != nil {
				t.Fatal(err)
			}
			if test.gone != "" {
				if err := os.Remove(s.Bin(test.gone)); err != nil {
					t.Fatal(err)
				}
			}
			if err := s.Install(t.Context(), &recorded{}, file, ""); err != nil {
				t.Fatal(err)
			}
			if got, err := os.ReadFile(s.Bin("helm")); err != nil || string(got) != test.want || !s.Complete() {
				t.Errorf("helm is %q (%v), want %q; complete: %v", got, err, test.want, s.Complete())
			}
		})
	}
}

func TestArchive_IncompleteStack(t *testing.T) {
	s := smallStack(t)
	if err := os.Remove(s.Bin("etcd")); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "x")
	_, err := s.Archive(t.Context(), &recorded{}, file)
	if reason.Of(err) != reason.Usage || !strings.Contains(err.Error(), "matrix stack build") {
		t.Errorf("got %v", err)
	}
	if left := below(t, filepath.Dir(file)); len(left) > 0 {
		t.Errorf("left behind: %q", left)
	}
}

// An archive that is not exactly this stack is refused, and nothing of it stays.
func TestInstall_InvalidArchive(t *testing.T) {
	s := newStack(t, host.Paths{Root: t.TempDir()})
	good := entriesOf(s)
	with := func(e entry) []entry { return append(slices.Clone(good), e) }
	renamed := func(from, to string) []entry {
		all := slices.Clone(good)
		for i := range all {
			all[i].name = strings.Replace(all[i].name, from, to, 1)
		}
		return all
	}
	key, platform, _ := strings.Cut(s.Name(), "-")
	whole := craft(t, good)
	flipped := slices.Clone(whole)
	flipped[len(flipped)/2] ^= 0x10
	name := s.Name()
	tests := map[string]struct {
		file   []byte
		digest string
		want   []string
	}{
		"another digest":         {whole, strings.Repeat("0123", 16), []string{"SHA-256", strings.Repeat("0123", 16), "download it again"}},
		"another stack":          {craft(t, renamed(key, "0123456789abcdef")), "", []string{"0123456789abcdef-" + platform, "needs " + name}},
		"another platform":       {craft(t, renamed(platform, "plan9-mips")), "", []string{key + "-plan9-mips", "needs " + name}},
		"a path that leads out":  {craft(t, with(entry{name + "/bin/../../../owned", "x", tar.TypeReg})), "", []string{"owned", "no file of a stack"}},
		"a path from the root":   {craft(t, with(entry{"/owned", "x", tar.TypeReg})), "", []string{"owned", "no file of a stack"}},
		"a parent's path":        {craft(t, with(entry{"../owned", "x", tar.TypeReg})), "", []string{"owned", "no file of a stack"}},
		"another directory":      {craft(t, with(entry{"other/bin/etcd", "x", tar.TypeReg})), "", []string{`"other"`}},
		"a program of its own":   {craft(t, with(entry{name + "/bin/owned", "x", tar.TypeReg})), "", []string{"owned", "no file of a stack"}},
		"a hidden CRD":           {craft(t, with(entry{name + "/crds/flux/.x.yaml", "x", tar.TypeReg})), "", []string{".x.yaml"}},
		"a symbolic link":        {craft(t, append([]entry{{name + "/bin/etcd", "../../../../owned", tar.TypeSymlink}}, good[1:]...)), "", []string{"bin/etcd", "link"}},
		"a hard link":            {craft(t, append([]entry{{name + "/bin/etcd", "/etc/passwd", tar.TypeLink}}, good[1:]...)), "", []string{"bin/etcd", "link"}},
		"a link for a directory": {craft(t, append([]entry{{name + "/bin", "/tmp", tar.TypeSymlink}}, good...)), "", []string{"/bin\"", "no file of a stack"}},
		"a device":               {craft(t, with(entry{name + "/bin/etcd", "", tar.TypeChar})), "", []string{"bin/etcd", "special file"}},
		"a file twice":           {craft(t, with(good[0])), "", []string{good[0].name, "twice"}},
		"without a program":      {craft(t, good[1:]), "", []string{"lacks etcd"}},
		"without CRDs":           {craft(t, slices.DeleteFunc(slices.Clone(good), func(e entry) bool { return strings.Contains(e.name, "/crds/flux/") })), "", []string{"lacks CRDs"}},
		"cut off":                {whole[:len(whole)/2], "", []string{"ends too early"}},
		"damaged":                {flipped, "", []string{"install the stack from"}},
		"no archive":             {[]byte("<html>Not Found</html>"), "", []string{"no archive of a stack"}},
		"empty":                  {nil, "", []string{"lacks etcd"}},
	}
	for what, test := range tests {
		t.Run(what, func(t *testing.T) {
			root := t.TempDir()
			s := newStack(t, host.Paths{Root: filepath.Join(root, "a", "b", "c")})
			file := filepath.Join(t.TempDir(), "archive")
			if err := os.WriteFile(file, test.file, 0o600); err != nil {
				t.Fatal(err)
			}
			err := s.Install(t.Context(), &recorded{}, file, test.digest)
			if reason.Of(err) != reason.Usage {
				t.Fatalf("reason %q of %v, want USAGE", reason.Of(err), err)
			}
			for _, want := range append(test.want, file) {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("%q lacks %q", err, want)
				}
			}
			for _, left := range below(t, root) {
				if filepath.Base(left) != "build.lock" {
					t.Errorf("%s was left", left)
				}
			}
			if err := os.WriteFile(file, whole, 0o600); err != nil {
				t.Fatal(err)
			}
			if err := s.Install(t.Context(), &recorded{}, file, ""); err != nil {
				t.Errorf("a good one after it: %v", err)
			}
		})
	}
}

// A small file may unpack to any size.
func TestInstall_LargeArchive(t *testing.T) {
	s := newStack(t, host.Paths{Root: t.TempDir()})
	file := craft(t, []entry{{s.Name() + "/bin/etcd", strings.Repeat("\x00", 4<<20), tar.TypeReg}})
	if len(file) > 1<<16 {
		t.Fatalf("the archive has %d bytes: it does not show anything", len(file))
	}
	err := s.unpack(bytes.NewReader(file), t.TempDir(), 1<<20, (&recorded{}).Begin("unpack"))
	if err == nil || !strings.Contains(err.Error(), "more than 1 MiB") {
		t.Errorf("got %v", err)
	}
}

func TestInstall_Interrupted(t *testing.T) {
	from := smallStack(t)
	file := filepath.Join(t.TempDir(), "x")
	digest, err := from.Archive(t.Context(), &recorded{}, file)
	if err != nil {
		t.Fatal(err)
	}
	why := errors.New("interrupted by a test")
	for _, digest := range []string{"", digest} {
		ctx, cancel := context.WithCancelCause(t.Context())
		cancel(why)
		s := newStack(t, host.Paths{Root: t.TempDir()})
		if err := s.Install(ctx, &recorded{}, file, digest); !errors.Is(err, why) || reason.Of(err) == reason.Usage {
			t.Errorf("got %v, want the cause of the interrupt", err)
		}
		if missing := s.Missing(s.groups...); len(missing) != len(s.Versions()) {
			t.Errorf("only %d parts are missing", len(missing))
		}
	}
}

func TestConcurrentInstalls(t *testing.T) {
	from := smallStack(t)
	file := filepath.Join(t.TempDir(), "x")
	digest, err := from.Archive(t.Context(), &recorded{}, file)
	if err != nil {
		t.Fatal(err)
	}
	paths := host.Paths{Root: t.TempDir()}
	var wg sync.WaitGroup
	for range 4 {
		s := newStack(t, paths)
		wg.Go(func() {
			if err := s.Install(t.Context(), &recorded{}, file, digest); err != nil {
				t.Error(err)
			}
			if !s.Complete() {
				t.Error("an install returned before the stack was complete")
			}
		})
	}
	wg.Wait()
}

// below lists the files below a directory, relative to it.
func below(t *testing.T, dir string) []string {
	t.Helper()
	var names []string
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() && d.Name() != ".installing" {
			return err
		}
		name, err := filepath.Rel(dir, path)
		names = append(names, name)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return names
}
