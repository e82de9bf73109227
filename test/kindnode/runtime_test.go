package main

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

func TestMissingCapabilities(t *testing.T) {
	for _, c := range []struct {
		status, want string
		fails        bool
	}{
		{"Name:\tx\nCapBnd:\t000001ffffffffff\n", "", false},
		{"Name:\tx\nCapBnd:\t000001fffeffffff\nCapAmb:\t0\n", "CAP_SYS_RESOURCE", false},
		{"CapBnd:\t000001fffffffffe\n", "CAP_CHOWN", false},
		{"CapBnd:\t000000ffffffffff\n", "CAP_CHECKPOINT_RESTORE", false},
		{"CapEff:\t0\n", "", true},
		{"CapBnd:\tnothing\n", "", true},
	} {
		missing, err := missingCapabilities(c.status)
		if got := strings.Join(missing, " "); got != c.want || (err != nil) != c.fails {
			t.Errorf("%q: got %q, %v", c.status, got, err)
		}
	}
}

func TestRewriteTargets(t *testing.T) {
	for _, c := range []struct {
		args string
		want []rewriteTarget
	}{
		{"--root /r --log /l --log-format json create --bundle /b --pid-file /p ID", []rewriteTarget{{"/b/config.json", true}}},
		{"--root /r run -b /b ID", []rewriteTarget{{"/b/config.json", true}}},
		{"--root=/r create --bundle=/b ID", []rewriteTarget{{"/b/config.json", true}}},
		{"create ID", []rewriteTarget{{"config.json", true}}},
		{"--root /r exec --process /tmp/p --detach ID", []rewriteTarget{{"/tmp/p", false}}},
		{"exec -p /tmp/p ID", []rewriteTarget{{"/tmp/p", false}}},
		{"exec ID sh", nil},
		{"--root /r start ID", nil},
		{"delete --force ID", nil},
		{"", nil},
	} {
		if got := rewriteTargets(strings.Fields(c.args)); !reflect.DeepEqual(got, c.want) {
			t.Errorf("%q: got %v, want %v", c.args, got, c.want)
		}
	}
}

func TestRewriteProcess(t *testing.T) {
	missing := []string{"CAP_SYS_RESOURCE"}
	for _, c := range []struct {
		name, in, want string
		within         bool
	}{
		{
			"a bundle", `{"ociVersion":"1.0","process":{"capabilities":{"bounding":["CAP_CHOWN","CAP_SYS_RESOURCE"],"effective":["CAP_SYS_RESOURCE"]}},"linux":{"resources":{"memory":{"limit":9223372036854775807}}}}`,
			`{"linux":{"resources":{"memory":{"limit":9223372036854775807}}},"ociVersion":"1.0","process":{"capabilities":{"bounding":["CAP_CHOWN"],"effective":[]}}}`, true,
		},
		{"a process", `{"capabilities":{"permitted":["CAP_SYS_RESOURCE","CAP_KILL"]},"args":["sh"]}`, `{"args":["sh"],"capabilities":{"permitted":["CAP_KILL"]}}`, false},
		{"without capabilities", `{"args":["sh"]}`, `{"args":["sh"]}`, false},
		{"a bundle without a process", `{"ociVersion":"1.0"}`, `{"ociVersion":"1.0"}`, true},
		{"not a list", `{"capabilities":{"ambient":null}}`, `{"capabilities":{"ambient":null}}`, false},
	} {
		got, err := rewriteProcess([]byte(c.in), c.within, missing)
		if err != nil || string(got) != c.want {
			t.Errorf("%s:\n got %s, %v\nwant %s", c.name, got, err, c.want)
		}
	}
	for _, in := range []string{"", "[]", "{", `{} {}`} {
		if got, err := rewriteProcess([]byte(in), true, missing); err == nil {
			t.Errorf("%q was rewritten to %s", in, got)
		}
	}
}

// The file is rewritten in its place, and an unreadable one is named.
func TestRewriteFile(t *testing.T) {
	file := filepath.Join(t.TempDir(), "config.json")
	if err := os.WriteFile(file, []byte(`{"process":{"capabilities":{"bounding":["CAP_BPF"]}}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := rewriteFile(rewriteTarget{file, true}, []string{"CAP_BPF"}); err != nil {
		t.Fatal(err)
	}
	if got, err := os.ReadFile(file); err != nil || string(got) != `{"process":{"capabilities":{"bounding":[]}}}` {
		t.Errorf("got %s, %v", got, err)
	}
	if err := os.WriteFile(file, []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := rewriteFile(rewriteTarget{file, true}, nil); err == nil || !strings.Contains(err.Error(), file) {
		t.Errorf("got %v", err)
	}
}
