package main

import (
	"strings"
	"testing"

	"github.com/nvidia/aicr-action/internal/cli"
	"github.com/nvidia/aicr-action/internal/infra"
)

// The name that a user writes makes the platform that results call so, and each platform says what
// it cannot do and what its cells take.
func TestPlatforms(t *testing.T) {
	a := &app{App: cli.New(func(name string) string { return map[string]string{"AICR_ACTION_CACHE": t.TempDir()}[name] }, &strings.Builder{}, &strings.Builder{})}
	if err := a.Open(); err != nil {
		t.Fatal(err)
	}
	for _, p := range platforms() {
		var f runFlags
		f.platform.cluster = p.name
		if err := f.platform.check(); err != nil {
			t.Fatal(err)
		}
		made, err := f.platform.on.forRun(a, f, platformParts{})
		if err != nil {
			t.Fatal(err)
		}
		if made.Kind() != p.name || p.limits.Cores < 1 {
			t.Errorf("--platform %s makes the platform %s, whose cells keep %d cores busy", p.name, made.Kind(), p.limits.Cores)
		}
		for feature := infra.Programs; feature <= infra.Snapshots; feature++ {
			why, lacks := p.limits.Lacks[feature]
			err := p.refuse(false, wanted{true, feature, "--it"})
			if lacks != (err != nil) || lacks && (why == "" || !strings.HasSuffix(err.Error(), ": "+why)) {
				t.Errorf("%s, feature %d: got %v, want %q", p.name, feature, err, why)
			}
			if err := p.refuse(true, wanted{false, feature, "--it"}); err != nil {
				t.Errorf("%s refuses what no flag asks for: %v", p.name, err)
			}
		}
	}
	if f := (platformFlags{}); f.check() != nil || f.on.name != platforms()[0].name {
		t.Errorf("without --platform: got %q", f.on.name)
	}
}
