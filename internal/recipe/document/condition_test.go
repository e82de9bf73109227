package document

import (
	"strings"
	"testing"
)

// gke is what AICR's recipes for GB300 on GKE say.
const gke = ">= 1.34.3-gke.1318000 < 1.35 || >= 1.35.0-gke.2745000"

func TestHolds(t *testing.T) {
	for _, c := range []struct {
		condition, have string
		want            bool
	}{
		{">= 1.30", "v1.33.5-eks-3025e55", true}, {">= 1.30", "1.29.9", false}, {"> 1.36", "1.36.1", false}, {"<= 1.33", "1.33.9", true}, {"< 2.0", "1.99", true},
		{">= 24.04", "24.04", true}, {">= 24.04.1", "24.04", true}, {">= 6.8", "6.8.0-1028-aws", true}, {">= 580.82.07", "580.105.08", true}, {">= 1.30", "v1.33.5+k3s1", true},
		{"== 1.36.1", "v1.36.1-eks-1", true}, {"== 1.36", "1.36.1", false}, {"== 1.36", "1.36.0", true}, {"!= 1.33.1", "1.33.1", false}, {"!= 1.33", "1.33.1", true},
		{"1.36", "1.36", true}, {"1.36", "v1.36.1", false}, {"1.36", "v1.36", false}, {" ubuntu ", "ubuntu", true}, {"ubuntu", "Ubuntu", false},
		{"== ubuntu", "rhel", false}, {"!= rhel", "ubuntu", true}, {"true", "true", true}, {"!= 8", "eight", true}, {"== 8", "8.0", false},
		// Several at once.
		{gke, "v1.34.3-gke.1318000", true}, {gke, "v1.34.3-gke.1317999", false}, {gke, "v1.34.4-gke.1", true}, {gke, "v1.34.3", false},
		{gke, "v1.35.0-gke.2744999", false}, {gke, "v1.35.0-gke.2745000", true}, {gke, "v1.35.0", false}, {gke, "v1.36.1", true}, {gke, "v1.35.0-gke.02745001", true},
		{">= 1.30 < 1.33", "1.32.1", true}, {">= 1.30 < 1.33", "1.33.0", false}, {"ubuntu || rhel", "rhel", true}, {"ubuntu || rhel", "cos", false}, {"Red Hat", "Red Hat", true},
		{"<= 1.35.0", "1.35.0-gke.1", false}, {"<= 1.35.0", "1.35.0-eks-1", true},
	} {
		if got, err := holds(c.condition, c.have); err != nil || got != c.want {
			t.Errorf("%q of %q: got %v, %v", c.condition, c.have, got, err)
		}
	}
	for condition, want := range map[string]string{
		"": "no value", ">=": "no value", ">= 1.30 <": "no value", ">= 1.30 ||": "no value", "|| >= 1.30": "no value", ">= 1 || || < 3": "no value",
		">= ubuntu": "orders what is no version", "ubuntu || > rhel": "orders what is no version", ">= 99999999999999999999": "too large", ">= 1.2.3.4": "orders what is no version",
	} {
		if got, err := holds(condition, "1.35.0"); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %v, %v; want %q", condition, got, err, want)
		}
	}
	for _, have := range []string{"unknown", "1.2.3.4", "", "v", "99999999999999999999"} {
		if got, err := holds(">= 1.30", have); err == nil {
			t.Errorf("reading %q: got %v", have, got)
		}
	}
}

func TestOfKubernetes(t *testing.T) {
	for _, c := range []struct {
		condition, version string
		want               bool
	}{
		{">= 1.30", "v1.36.1", true}, {"== 1.36", "1.36.1", true}, {"1.36", "v1.36.1", true}, {"> 1.36", "1.36.1", false}, {">= 1.36.2", "1.36.1", false}, {"!= 1.36", "1.36.1", false},
		{gke, "1.36.1", true}, {gke, "1.35.0", true}, {gke, "1.34.3", true}, {gke, "1.34.2", false}, {gke, "1.33.9", false}, {">= 1.30 < 1.33", "1.33.0", false},
	} {
		if got, err := OfKubernetes(c.condition, c.version); err != nil || got != c.want {
			t.Errorf("%q of %q: got %v, %v", c.condition, c.version, got, err)
		}
	}
	for _, bad := range []string{"", "ubuntu", ">= 1.2.3.4", ">= 1.30 ||", "~1.30", ">= 1.30 < x"} {
		if _, err := OfKubernetes(bad, "1.36.1"); err == nil || !strings.Contains(err.Error(), "is not a version with") {
			t.Errorf("%q: got %v", bad, err)
		}
	}
	if _, err := OfKubernetes(">= 1.30", "unknown"); err == nil || !strings.Contains(err.Error(), "MAJOR.MINOR.PATCH") {
		t.Errorf("got %v", err)
	}
}
