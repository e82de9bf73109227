package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"

	"github.com/nvidia/aicr-action/internal/command/cli"
	"github.com/nvidia/aicr-action/internal/result/reason"
)

// bench is a call of the program in this process, with nothing of this machine's: no cluster, no
// environment, no standard input.
type bench struct {
	stdin   string
	env     map[string]string
	client  kubernetes.Interface
	objects dynamic.Interface
}

// march are recipes in the form of March, which most of the tests read: recipes in later forms are in their own.
const march = "../../test/recipes-march"

// answer is what a person sees of one call.
type answer struct {
	code           int
	stdout, stderr string
}

func (b bench) run(t *testing.T, args ...string) answer {
	t.Helper()
	var stdout, stderr strings.Builder
	cache := t.TempDir()
	getenv := func(name string) string {
		if name == "AICR_ACTION_CACHE" {
			return cache
		}
		if value, ok := b.env[name]; ok || name != recipesDir {
			return value
		}
		return march
	}
	a := &app{App: cli.New(getenv, &stdout, &stderr), stdin: strings.NewReader(b.stdin), client: func(string) (kubernetes.Interface, error) {
		if b.client == nil {
			return nil, reason.New(reason.ClusterAccess, "no cluster is configured")
		}
		return b.client, nil
	}, dynamic: func(string) (dynamic.Interface, error) { return b.objects, nil }}
	code := a.execute(t.Context(), args)
	return answer{code, stdout.String(), stderr.String()}
}

// invoke is a call with nothing but arguments.
func invoke(t *testing.T, args ...string) answer {
	t.Helper()
	return bench{}.run(t, args...)
}

// want fails the test unless the program exited with the code and printed every part on stderr.
func (r answer) want(t *testing.T, code int, parts ...string) {
	t.Helper()
	if r.code != code {
		t.Errorf("exit code: got %d, want %d; stderr:\n%s", r.code, code, r.stderr)
	}
	for _, part := range parts {
		if !strings.Contains(r.stderr, part) {
			t.Errorf("stderr: want %q in:\n%s", part, r.stderr)
		}
	}
	if code != 0 && r.stdout != "" {
		t.Errorf("an error must not print data on stdout; got:\n%s", r.stdout)
	}
}

func write(t *testing.T, name, content string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(file, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
	return file
}

func read(t *testing.T, file string) string {
	t.Helper()
	raw, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}
