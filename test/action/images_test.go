package action_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// imagesRun is a server on which the action can be used in jobs. Its matrix lists the images that a
// file has, saves a given archive, and records its calls. Tests in cmd/matrix and
// internal/infra/kind check that the real one writes an archive.
type imagesRun struct {
	*server
	list, save string // files: what is printed, and a script that ends as saving does
	called     string // a line for each call
}

func newImagesRun(t *testing.T) *imagesRun {
	t.Helper()
	dir := t.TempDir()
	s := &imagesRun{server: newServer(t), list: filepath.Join(dir, "list"), save: filepath.Join(dir, "save"), called: filepath.Join(dir, "called")}
	write(t, s.list, "kindest/node:v1\nregistry:3\n")
	write(t, s.save, "exit 0\n")
	write(t, filepath.Join(dir, "tools", "go"), `#!/bin/bash
set -e
while [[ $1 != -o ]]; do shift; done
cat > "$2" <<'END'
#!/bin/bash
echo "$@" >> `+s.called+`
case "$1 $2" in
  "images list") cat `+s.list+` ;;
  "images save") echo "archive of $(head -n 1 `+s.list+`)" > "$3"; source `+s.save+` ;;
  run*)
    for arg in "$@"; do
      [[ $arg != --kind-images=* ]] || echo "with $(cat "${arg#*=}")" >> `+s.called+`
      [[ $arg != --outputs=* ]] || echo conclusion=success >> "${arg#--outputs=}"
    done ;;
esac
END
chmod +x "$2"
`)
	s.env = []string{"PATH=" + filepath.Join(dir, "tools") + ":" + os.Getenv("PATH"), "AICR_ACTION_CACHE=" + smallStack(t), "AICR_ACTION_CACHE_TRUSTED=true"}
	return s
}

// job uses the action in a new job, and returns the calls of matrix: list, save FILE, run, and with
// the content of the archive.
func (s *imagesRun) job(inputs map[string]string, env ...string) (calls []string) {
	s.t.Helper()
	if err := os.RemoveAll(s.called); err != nil {
		s.t.Fatal(err)
	}
	r := s.runner("cells")
	r.env = append(r.env, env...)
	with := map[string]string{"recipe": "eks", "upload-artifacts": "never"}
	for name, value := range inputs {
		with[name] = value
	}
	if !s.composite(r, step{With: with}, "") {
		s.t.Errorf("the job failed\n%s", s.log.String())
	}
	raw, err := os.ReadFile(s.called)
	if err != nil {
		s.t.Fatalf("matrix was not called: %v\n%s", err, s.log.String())
	}
	for line := range strings.Lines(string(raw)) {
		switch words := strings.Fields(line); words[0] {
		case "images":
			calls = append(calls, words[1])
		case "with":
			calls = append(calls, strings.TrimSpace(line))
		case "run":
			calls = append(calls, "run")
		}
	}
	return calls
}

// cached are the keys of images in the cache.
func (s *imagesRun) cached() (keys []string) {
	for _, key := range s.caches {
		if strings.HasPrefix(key, "aicr-action-images-") {
			keys = append(keys, key)
		}
	}
	return keys
}

// TestImages_Cached: the first job saves the images and caches them, a later one has them from
// there, and another list of images is another file. A run that is not in Kind clusters does none
// of that.
func TestImages_Cached(t *testing.T) {
	kind := map[string]string{"cluster": "kind"}
	for _, test := range []struct {
		name    string
		prepare func(s *imagesRun)
		inputs  map[string]string
		env     []string
		want    string // calls of the second job
		keys    int    // in the cache then
	}{
		{"a hit", nil, kind, nil, "list, run, with archive of kindest/node:v1", 1},
		{"other deployers", nil, map[string]string{"cluster": "kind", "deployer": "flux-oci"}, nil, "list, run, with archive of kindest/node:v1", 1},
		{"another version", func(s *imagesRun) { write(s.t, s.list, "kindest/node:v2\nregistry:3\n") }, kind, nil, "list, save, run, with archive of kindest/node:v2", 2},
		{"another machine", func(s *imagesRun) { s.known["runner.arch"] = "ARM64" }, kind, nil, "list, save, run, with archive of kindest/node:v1", 2},
		{"embedded", nil, map[string]string{"cluster": "embedded"}, nil, "run", 1},
		{"a file of one's own", nil, kind, []string{"AICR_ACTION_KIND_IMAGES=/mine.tar"}, "run", 1},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			s := newImagesRun(t)
			if calls := strings.Join(s.job(kind), ", "); calls != "list, save, run, with archive of kindest/node:v1" || len(s.cached()) != 1 {
				t.Fatalf("the first job: %s; cached: %q\n%s", calls, s.cached(), s.log.String())
			}
			if test.prepare != nil {
				test.prepare(s)
			}
			s.log.Reset()
			if calls := strings.Join(s.job(test.inputs, test.env...), ", "); calls != test.want || len(s.cached()) != test.keys {
				t.Errorf("the second job: %s, want %s; cached: %q, want %d\n%s", calls, test.want, s.cached(), test.keys, s.log.String())
			}
			if stack := slices.ContainsFunc(s.caches, func(key string) bool { return strings.HasPrefix(key, "aicr-action-stack-") }); stack != (test.name == "embedded") {
				t.Errorf("caches %q: a Kind cluster needs nothing of the stack", s.caches)
			}
		})
	}
}

// TestImages_Errors: an error of caching images does not fail the action. The run meets the same
// error, and reports it with its exit code. An incomplete archive is neither used nor cached.
func TestImages_Errors(t *testing.T) {
	for name, test := range map[string]struct {
		prepare func(s *imagesRun)
		want    string
	}{
		"no list": {func(s *imagesRun) {
			if err := os.Remove(s.list); err != nil {
				s.t.Fatal(err)
			}
		}, "list, run"},
		"not saved": {func(s *imagesRun) { write(s.t, s.save, "exit 26\n") }, "list, save, run"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newImagesRun(t)
			test.prepare(s)
			if calls := strings.Join(s.job(map[string]string{"cluster": "kind"}), ", "); calls != test.want || len(s.cached()) > 0 {
				t.Errorf("%s, want %s; cached: %q\n%s", calls, test.want, s.cached(), s.log.String())
			}
			if all := commands(s.log.String()); len(all) != 1 || all[0].name != "stop-commands" {
				t.Errorf("commands in the log: %+v, want the run's alone", all)
			}
		})
	}
}
