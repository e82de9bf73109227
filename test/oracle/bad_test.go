package oracle

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/mod/semver"

	"github.com/nvidia/aicr-action/internal/testkit/infratest"
	"github.com/nvidia/aicr-action/internal/testkit/testskip"
)

// What a program may do in place of an answer, each with its own message.
func TestAsk_NoAnswer(t *testing.T) {
	dir := t.TempDir()
	one := []input{{Name: "a", Subject: map[string]any{"kind": "Pod"}}}
	for name, c := range map[string]struct{ script, want string }{
		"missing":       {"", "its program is missing"},
		"crashes":       {"echo panic: oh >&2; exit 2", "its program ended with exit status 2:\npanic: oh"},
		"killed":        {"kill -9 $$", "its program ended with signal: killed"},
		"hangs":         {"sleep 60 & wait", "gave no answer within 1s: "},
		"hangs at one":  {"echo input: a >&2; echo input: b >&2; sleep 60 & wait", "gave no answer within 1s, at input b: "},
		"crashes at it": {"echo input: a >&2; echo panic: oh >&2; exit 2", "its program ended with exit status 2, at input a:\npanic: oh"},
		"nonsense":      {"echo hello", "what it wrote is no answer: hello"},
		"another minor": {`echo '{"version":"v1.35.2","verdicts":{"a":{"word":"starts"}}}'`, "it is one of Kubernetes v1.35.2: compile it anew"},
		"forgets":       {`echo '{"version":"v1.36.1","verdicts":{}}'`, "said nothing of a"},
		"answers":       {`echo '{"version":"v1.36.1","verdicts":{"a":{"word":"starts"}}}'`, ""},
	} {
		t.Run(name, func(t *testing.T) {
			d := &decider{path: filepath.Join(dir, name), version: "v1.36.4", limit: time.Second}
			if c.script != "" {
				if err := os.WriteFile(d.path, []byte("#!/bin/sh\ncat >/dev/null\n"+c.script+"\n"), 0o755); err != nil {
					t.Fatal(err)
				}
			}
			a, err := d.ask(t.Context(), "kubelet", dir, one, 1)
			switch {
			case c.want == "" && (err != nil || a.Verdicts["a"].Word != "starts"):
				t.Errorf("got %v, %v", a, err)
			case c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), "kubelet of Kubernetes v1.36.4")):
				t.Errorf("got %v, want %q", err, c.want)
			}
		})
	}
}

// A program of another minor version, as its file says, is not asked.
func TestMadeOf(t *testing.T) {
	testskip.Short(t, "no real stack")
	_, _, stack := theStack(t)
	const module = "helm.sh/helm/v3"
	helm, have := stack.Bin("helm"), stack.Version(module)
	text := filepath.Join(t.TempDir(), "helm")
	if err := os.WriteFile(text, []byte("#!/bin/sh\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct{ program, module, version, want string }{
		"the same":      {helm, module, have, ""},
		"another patch": {helm, module, semver.MajorMinor(have) + ".999", ""},
		"another minor": {helm, module, "v3.1.0", "is made of helm.sh/helm/v3 " + have + ", and the stack has v3.1.0: compile it anew"},
		"another":       {helm, "example.com/none", "v1.0.0", "is not made of example.com/none"},
		"no program":    {text, module, have, "helm says of no module what it is made of"},
		"missing":       {filepath.Join(t.TempDir(), "gone"), module, have, "no such file"},
	} {
		err := madeOf(c.program, c.module, c.version)
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: got %v, want %q", name, err, c.want)
		}
	}
}

// A rule that takes minutes for an object is an error that has the object.
func TestCompared_TooLong(t *testing.T) {
	o := &oracle{name: "a", limit: 20 * time.Millisecond}
	o.program = func(context.Context, []input) (map[string]verdict, error) {
		return map[string]verdict{"one": {Word: "starts"}, "two": {Word: "starts"}}, nil
	}
	o.compare = func(ctx context.Context, in *input, _ *verdict) (*difference, error) {
		if in.Name == "two" {
			<-ctx.Done()
		}
		return nil, nil
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	list := []input{{Name: "one", Subject: map[string]any{"kind": "Pod"}}, {Name: "two", From: "x; image: a", Subject: map[string]any{"kind": "Pod"}}}
	_, _, err := o.differences(ctx, list)
	for _, want := range []string{"two (x; image: a): ", "our rules gave no answer within 20ms", "the program said: starts", "kind: Pod"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
}

// The kubelet writes to no API server and to no file outside of its directory: what it would write is answered in its
// own process, which has no socket of a network.
func TestKubelet_Blind(t *testing.T) {
	testskip.Short(t, "it compiles a kubelet")
	if runtime.GOOS != "linux" {
		testskip.Missing(t, "the sockets of a process are listed on Linux")
	}
	_, version, _ := theStack(t)
	d := theProgram(t, "decides", version)
	dir, seen := infratest.ShortTempDir(t), make(chan []string)
	done := make(chan struct{})
	go func() { seen <- networkOf(d.path, done) }()
	all := readInputs(t, "testdata/pods/*.yaml")
	a, err := d.ask(t.Context(), "kubelet", dir, all[:1], 30)
	close(done)
	sockets := <-seen
	if err != nil {
		t.Fatal(err)
	}
	if a.Requests["PATCH pods"] == 0 {
		t.Errorf("it tried to write %v: no status of a pod, so that this shows nothing", a.Requests)
	}
	if len(sockets) != 1 || sockets[0] != "seen" {
		t.Errorf("the process has sockets of a network: %v", sockets)
	}
}

// networkOf watches processes of a program until done is closed, and returns their sockets of a network, "seen" if
// there was such a process at all.
func networkOf(program string, done <-chan struct{}) (all []string) {
	program, _ = filepath.EvalSymlinks(program)
	for {
		select {
		case <-done:
			return all
		case <-time.After(20 * time.Millisecond):
		}
		pids, _ := filepath.Glob("/proc/[0-9]*/exe")
		for _, exe := range pids {
			if to, err := os.Readlink(exe); err != nil || to != program {
				continue
			}
			at := filepath.Dir(exe)
			fds, _ := filepath.Glob(at + "/fd/*")
			if len(fds) > 0 && !slices.Contains(all, "seen") {
				all = append(all, "seen")
			}
			var network string
			for _, kind := range []string{"tcp", "tcp6", "udp", "udp6"} {
				raw, _ := os.ReadFile(filepath.Join(at, "net", kind))
				network += string(raw)
			}
			for _, fd := range fds {
				to, _ := os.Readlink(fd)
				if inode, is := strings.CutPrefix(strings.TrimSuffix(to, "]"), "socket:["); is && strings.Contains(network, " "+inode+" ") && !slices.Contains(all, to) {
					all = append(all, to)
				}
			}
		}
	}
}

// A schema leads from an object to what a field may have.
func TestGenerator_SameSeed(t *testing.T) {
	all := schemas{}
	raw := `{"io.k8s.api.core.v1.Pod": {"properties": {"kind": {"type": "string"}, "spec": {"allOf": [{"$ref": "#/components/schemas/io.k8s.api.core.v1.PodSpec"}]}}},
		"io.k8s.api.core.v1.PodSpec": {"properties": {"image": {"type": "string"}, "hostNetwork": {"type": "boolean"}, "args": {"type": "array", "items": {"type": "string"}}}}}`
	if err := json.Unmarshal([]byte(raw), &all); err != nil {
		t.Fatal(err)
	}
	for name, s := range all {
		s.name = name
		all[name] = s
	}
	base := input{Name: "a", Subject: map[string]any{"apiVersion": "v1", "kind": "Pod", "spec": map[string]any{"image": "a", "args": []any{"x", "y"}}}}
	before, made := base.yaml(), map[string]bool{}
	list := func(seed uint64) (texts []string) {
		g := newGenerator(seed, all, []input{base})
		for range 50 {
			if in, ok := g.mutated(base); ok {
				texts = append(texts, in.yaml())
				made[in.yaml()] = true
			}
		}
		return texts
	}
	if one, two, other := list(1), list(1), list(2); !slices.Equal(one, two) || slices.Equal(one, other) {
		t.Error("a seed does not make its own inputs again")
	}
	if base.yaml() != before {
		t.Errorf("the input itself was changed:\n%s", base.yaml())
	}
	if len(made) < 15 {
		t.Errorf("only %d different inputs", len(made))
	}
	if got := smaller(&base); len(got) != 5 { // without spec, args, each item, image
		t.Errorf("%d smaller inputs", len(got))
	}
}
