package release

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// licensesFile is the name of the file that Licenses writes.
const licensesFile = "licenses.txt"

// licenseName is what files with a licence or a notice are called.
var licenseName = regexp.MustCompile(`(?i)^(licen[cs]e|copying|notice)([._-].*)?$`)

// licenseSection is the section of a README that names the licence.
var licenseSection = regexp.MustCompile(`(?mi)^#+ *(licen[cs]e *\n[^#]+)`)

// Licenses writes the licences and notices of everything that a release's files contain to
// licenses.txt in dir: of each module whose packages are compiled into a program, and of Go itself.
// Source is the root of this module; empty is the working directory. A module without a licence is
// an error: it must not be redistributed.
func Licenses(ctx context.Context, source, dir string) error {
	dirs := map[string]string{} // of modules, by name and version
	for _, one := range []struct{ dir, pattern string }{{".", "./cmd/matrix"}, {".", "./cmd/aicr"}, {"kwok/stack", "tool"}} {
		if err := modules(ctx, filepath.Join(source, one.dir), one.pattern, dirs); err != nil {
			return err
		}
	}
	out, err := exec.CommandContext(ctx, "go", "env", "GOROOT").Output()
	if err != nil {
		return fmt.Errorf("find Go's own licence: go env GOROOT: %w", err)
	}
	dirs["Go, its standard library"] = strings.TrimSpace(string(out))
	var names []string
	for name := range dirs {
		names = append(names, name)
	}
	slices.Sort(names)
	var b bytes.Buffer
	var missing []error
	for _, name := range names {
		texts, err := licensesIn(dirs[name])
		if err != nil {
			missing = append(missing, fmt.Errorf("licence of %s: %w", name, err))
			continue
		}
		fmt.Fprintf(&b, "==== %s\n\n%s\n\n", name, texts)
	}
	if err := errors.Join(missing...); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, licensesFile), b.Bytes(), 0o644)
}

// modules adds the modules that have packages in the programs of a pattern.
func modules(ctx context.Context, dir, pattern string, dirs map[string]string) error {
	cmd := exec.CommandContext(ctx, "go", "list", "-deps", "-json=Module", pattern)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOWORK=off", "GOFLAGS=-mod=readonly")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return fmt.Errorf("list the modules of %s in %s: %w: %s", pattern, dir, err, stderr.String())
	}
	for dec := json.NewDecoder(bytes.NewReader(out)); ; {
		var p struct {
			Module *struct{ Path, Version, Dir string }
		}
		if err := dec.Decode(&p); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return fmt.Errorf("read what go list prints: %w", err)
		}
		if p.Module != nil && p.Module.Version != "" {
			dirs[p.Module.Path+" "+p.Module.Version] = p.Module.Dir
		} else if p.Module != nil && !strings.HasSuffix(p.Module.Path, "/kwok/stack") { // which has no package of its own
			dirs[p.Module.Path] = p.Module.Dir
		}
	}
}

// licensesIn joins the licences and notices at the top of a module. A module below another one's
// top, as in a large repository, may have them there only: Go's module zip then has a copy at its
// own top.
func licensesIn(dir string) (string, error) {
	files, err := os.ReadDir(dir)
	if err != nil {
		return "", err
	}
	var texts []string
	for _, f := range files {
		if f.IsDir() || !licenseName.MatchString(f.Name()) {
			continue
		}
		raw, err := os.ReadFile(filepath.Join(dir, f.Name()))
		if err != nil {
			return "", err
		}
		texts = append(texts, strings.TrimSpace(strings.ToValidUTF8(string(raw), "\uFFFD")))
	}
	if readme, err := os.ReadFile(filepath.Join(dir, "README.md")); len(texts) == 0 && err == nil { // some say it there only
		if m := licenseSection.FindSubmatch(readme); m != nil {
			texts = append(texts, strings.TrimSpace(string(m[1])))
		}
	}
	if len(texts) == 0 {
		return "", fmt.Errorf("there is no file with a licence in %s, and its README.md has no section on it", dir)
	}
	return strings.Join(texts, "\n\n"), nil
}
