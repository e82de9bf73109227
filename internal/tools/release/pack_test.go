package release

import (
	"archive/tar"
	"bytes"
	"debug/buildinfo"
	"errors"
	"io"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"

	"github.com/nvidia/aicr-action/internal/util/filesys"
)

// A program as small as it can be that has what Pack asks of cmd/matrix.
const small = `package main

import ("fmt"; "os"; "runtime"; "strings")

var released string

func main() {
	switch strings.Join(os.Args[1:min(3, len(os.Args))], " ") {
	case "version -o":
		fmt.Printf("{\"version\": %q, \"stackPath\": \"/x/0123456789abcdef-%s-%s\"}", released, runtime.GOOS, runtime.GOARCH)
	case "stack build":
		fmt.Fprintln(os.Stderr, "built")
	case "stack archive":
		if err := os.WriteFile(os.Args[4], []byte("archive"), 0o600); err != nil { panic(err) }
	default:
		os.Exit(9)
	}
}
`

// second is one that has what Pack asks of cmd/aicr.
const second = `package main

import "fmt"

var released string

func main() { fmt.Printf("{\"version\": %q}", released) }
`

func sourceOf(t *testing.T, program string) string {
	t.Helper()
	return sourcesOf(t, program, second)
}

func sourcesOf(t *testing.T, matrix, aicr string) string {
	t.Helper()
	dir := t.TempDir()
	for name, content := range map[string]string{"go.mod": "module example.com/small\n\ngo 1.26\n", "cmd/matrix/main.go": matrix, "cmd/aicr/main.go": aicr} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestPack(t *testing.T) {
	here := Platform{runtime.GOOS, runtime.GOARCH}
	var log strings.Builder
	dirs := []string{filepath.Join(t.TempDir(), "dist"), t.TempDir()}
	for _, dir := range dirs { // of two checkouts
		if err := (Pack{Version: "v1.2.3", Dir: dir, Source: sourceOf(t, small), Progress: &log}).Run(t.Context()); err != nil {
			t.Fatalf("%v\n%s", err, log.String())
		}
	}
	if !strings.Contains(log.String(), "built") {
		t.Errorf("nobody built the stack: %q", log.String())
	}
	archive := StackArchive("0123456789abcdef", here)
	if raw, err := os.ReadFile(filepath.Join(dirs[0], archive)); err != nil || string(raw) != "archive" {
		t.Errorf("%s: %q, %v", archive, raw, err)
	}
	if _, err := os.Stat(filepath.Join(dirs[0], aicrBinary("v1.2.3", here))); err != nil {
		t.Error(err)
	}
	name := Binary("v1.2.3", here)
	first, err := filesys.SHA256(filepath.Join(dirs[0], name))
	if err != nil {
		t.Fatal(err)
	}
	if second, err := filesys.SHA256(filepath.Join(dirs[1], name)); err != nil || second != first {
		t.Errorf("the same source in another directory made another program (%v)", err)
	}
	info, err := buildinfo.ReadFile(filepath.Join(dirs[0], name))
	if err != nil {
		t.Fatal(err)
	}
	settings := map[string]string{}
	for _, s := range info.Settings {
		settings[s.Key] = s.Value
	}
	if settings["CGO_ENABLED"] != "0" || settings["-trimpath"] != "true" || settings["vcs.revision"] != "" {
		t.Errorf("built with %v", settings)
	}
}

func TestPack_OtherPlatform(t *testing.T) {
	other := Platform{"linux", "arm64"}
	if runtime.GOARCH == "arm64" {
		other.Arch = "amd64"
	}
	dir := t.TempDir()
	p := Pack{Version: "v1.2.3", Platform: other, Dir: dir, Source: sourceOf(t, "package main\n\nfunc main() {}\n")}
	if err := p.Run(t.Context()); err == nil || !strings.Contains(err.Error(), "its own platform") {
		t.Errorf("with the stack: %v", err)
	}
	p.BinaryOnly = true
	if err := p.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{Binary("v1.2.3", other), aicrBinary("v1.2.3", other)} {
		if _, err := os.Stat(filepath.Join(dir, name)); err != nil {
			t.Error(err)
		}
	}
}

// The second program is looked at as the first is.
func TestPack_AlreadyPacked(t *testing.T) {
	for program, want := range map[string]string{strings.ReplaceAll(second, "released", "renamed"): "calls itself", "package main\n": "./cmd/aicr"} {
		err := Pack{Version: "v1.2.3", Dir: t.TempDir(), Source: sourcesOf(t, small, program)}.Run(t.Context())
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
}

func TestPack_Invalid(t *testing.T) {
	for name, test := range map[string]struct {
		version, program string
		want             []string
	}{
		"no version":               {"1.2.3", small, []string{"vX.Y.Z"}},
		"what does not compile":    {"v1.2.3", "package main\n", []string{"go build"}},
		"another variable":         {"v1.2.3", strings.ReplaceAll(small, "released", "renamed"), []string{"calls itself", "v1.2.3"}},
		"another stack's platform": {"v1.2.3", strings.Replace(small, "runtime.GOOS, ", `"plan9", `, 1), []string{"plan9", "built for"}},
		"a stack that fails":       {"v1.2.3", strings.Replace(small, `fmt.Fprintln(os.Stderr, "built")`, "os.Exit(11)", 1), []string{"stack build", "exit status 11"}},
	} {
		t.Run(name, func(t *testing.T) {
			err := Pack{Version: test.version, Dir: t.TempDir(), Source: sourceOf(t, test.program)}.Run(t.Context())
			if err == nil {
				t.Fatal("it was packed")
			}
			for _, want := range test.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("%q lacks %q", err, want)
				}
			}
		})
	}
}

// archiveOf is an archive as the stack's are, with one file.
func archiveOf(t *testing.T, content string, level zstd.EncoderLevel) []byte {
	t.Helper()
	var b bytes.Buffer
	z, err := zstd.NewWriter(&b, zstd.WithEncoderLevel(level))
	if err != nil {
		t.Fatal(err)
	}
	w := tar.NewWriter(z)
	if err := w.WriteHeader(&tar.Header{Name: "bin/kwok", Mode: 0o755, Size: int64(len(content))}); err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(w, content); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(w.Close(), z.Close()); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestCompare(t *testing.T) {
	const archive, program = "stack_0123456789abcdef_linux_amd64.tar.zst", "matrix_v1.2.3_linux_amd64"
	content := strings.Repeat("some content, ", 5000)
	for name, test := range map[string]struct {
		change func(again map[string]string)
		want   string
	}{
		"the same": {func(map[string]string) {}, ""},
		"compressed otherwise": {func(again map[string]string) {
			again[archive] = string(archiveOf(t, content, zstd.SpeedBestCompression))
		}, ""},
		"another program":       {func(again map[string]string) { again[program] = "y" }, program},
		"another file in it":    {func(again map[string]string) { again[archive] = string(archiveOf(t, content+"x", zstd.SpeedFastest)) }, archive},
		"a file that is not in": {func(again map[string]string) { again["more"] = "x" }, "more"},
		"no archive":            {func(again map[string]string) { again[archive] = "x" }, archive},
		"nothing":               {func(again map[string]string) { clear(again) }, "no files"},
	} {
		t.Run(name, func(t *testing.T) {
			files := map[string]string{archive: string(archiveOf(t, content, zstd.SpeedFastest)), program: "x"}
			again := maps.Clone(files)
			test.change(again)
			dirs := []string{t.TempDir(), t.TempDir()}
			for i, all := range []map[string]string{files, again} {
				for file, text := range all {
					if err := os.WriteFile(filepath.Join(dirs[i], file), []byte(text), 0o600); err != nil {
						t.Fatal(err)
					}
				}
			}
			err := Compare(dirs[0], dirs[1])
			if test.want == "" && err != nil || test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)) {
				t.Errorf("got %v, want %q", err, test.want)
			}
		})
	}
}
