package run

import (
	"strings"
	"testing"

	"github.com/nvidia/aicr-action/internal/command/cli"
	"github.com/nvidia/aicr-action/internal/command/platform"
	"github.com/nvidia/aicr-action/internal/infra"
)

// The name that a user writes makes the platform that results call so, and each platform says what
// it cannot do and what its cells take.
func TestPlatforms(t *testing.T) {
	a := &app{App: cli.New(func(name string) string { return map[string]string{"AICR_ACTION_CACHE": t.TempDir()}[name] }, &strings.Builder{}, &strings.Builder{})}
	if err := a.Open(); err != nil {
		t.Fatal(err)
	}
	for _, p := range platform.All() {
		var f runFlags
		f.platform.Cluster = p.Name
		if err := f.platform.Check(); err != nil {
			t.Fatal(err)
		}
		made, err := a.platformOf(f, platformParts{})
		if err != nil {
			t.Fatal(err)
		}
		if made.Kind() != p.Name || p.Limits.Cores < 1 {
			t.Errorf("--platform %s makes the platform %s, whose cells keep %d cores busy", p.Name, made.Kind(), p.Limits.Cores)
		}
		for feature := infra.Programs; feature <= infra.Snapshots; feature++ {
			why, lacks := p.Limits.Lacks[feature]
			err := p.Refuse(false, platform.Wanted{Given: true, Feature: feature, Text: "--it"})
			if lacks != (err != nil) || lacks && (why == "" || !strings.HasSuffix(err.Error(), ": "+why)) {
				t.Errorf("%s, feature %d: got %v, want %q", p.Name, feature, err, why)
			}
			if err := p.Refuse(true, platform.Wanted{Given: false, Feature: feature, Text: "--it"}); err != nil {
				t.Errorf("%s refuses what no flag asks for: %v", p.Name, err)
			}
		}
	}
	if f := (platform.Flags{}); f.Check() != nil || f.On.Name != platform.All()[0].Name {
		t.Errorf("without --platform: got %q", f.On.Name)
	}
}
