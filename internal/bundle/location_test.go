package bundle

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/Masterminds/semver/v3"
)

func TestRevision(t *testing.T) {
	base := Revision(fixture())
	if len(base) != 7 || strings.Trim(base, "0123456789abcdef") != "" {
		t.Errorf("revision %q", base)
	}
	for range 10 {
		if again := Revision(fixture()); again != base {
			t.Fatalf("%s, then %s", base, again)
		}
	}
	for what, change := range map[string]func(*Input){
		"values":     func(in *Input) { in.Components[0].Values["replicas"] = 4 },
		"null":       func(in *Input) { delete(in.Components[0].Values, "removed") },
		"manifest":   func(in *Input) { in.Components[3].Manifests[0].Content = []byte("x") },
		"recipe":     func(in *Input) { in.Recipe.Criteria.Service = "gke" },
		"scheduling": func(in *Input) { in.Scheduling.SystemNodeSelector["x"] = "y" },
		"repository": func(in *Input) { in.ChartRepository = "oci://x/y" },
	} {
		in := fixture()
		change(&in)
		if Revision(in) == base {
			t.Errorf("another %s, the same revision", what)
		}
	}
	in := fixture()
	in.RepoURL, in.TargetRevision = "oci://elsewhere/x", "other"
	if Revision(in) != base {
		t.Error("the place of publication changes the revision")
	}
}

func TestTag(t *testing.T) {
	for _, d := range Deployers() {
		// Digits only, a leading zero, and the form of an exponent: YAML must parse none of them as
		// a number.
		for _, rev := range []string{"1a2b3c4", "0123456", "1234567", "1e10000"} {
			tag := Tag(d.Name(), rev)
			if ByGit(d.Name()) {
				if tag != GitBranch {
					t.Errorf("got %s", tag)
				}
				continue
			}
			if d.Name() == ArgoCDHelmOCI {
				v, err := semver.StrictNewVersion(tag)
				if err != nil || v.Prerelease() != rev+"-"+d.Name() {
					t.Errorf("%s is not the version that is meant: %v, %v", tag, v, err)
				}
				continue
			}
			if tag != rev+"-"+d.Name() {
				t.Errorf("got %s", tag)
			}
			var back any
			if raw, err := marshal(tag); err != nil || json.Unmarshal([]byte(`"`+strings.TrimSpace(string(raw))+`"`), &back) != nil || back != tag {
				t.Errorf("%s does not survive YAML", tag)
			}
		}
	}
}
