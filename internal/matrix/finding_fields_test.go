package matrix

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/recipe"
	"github.com/nvidia/aicr-action/internal/result"
	"github.com/nvidia/aicr-action/internal/result/reason"
	"github.com/nvidia/aicr-action/internal/testkit"
	"github.com/nvidia/aicr-action/internal/verify/chainsaw"
)

// Whatever makes a cell fail says what is wrong as fields, and cause and details are made of the
// same finding.
func TestFindingFields(t *testing.T) {
	origin := recipe.Origin{File: "recipes/overlays/eks.yaml", Line: 7}
	for name, tc := range map[string]struct {
		err  error
		want string
	}{
		"checks": {checkFinding([]chainsaw.Failure{{Component: "web", File: "recipes/checks/web.yaml", Line: 3}}), "- (web) recipes/checks/web.yaml:3"},
		"an error that knows its line": {
			reason.Wrap(reason.BundleFailed, fmt.Errorf("make the bundle: %w", &bundle.ComponentError{Component: "web", Origin: origin, Problem: "bad"})), "- recipes/overlays/eks.yaml:7",
		},
		"a chart that does not render": {reason.Wrap(reason.BundleFailed, &bundle.RenderError{Component: "web", Origin: origin, Err: errors.New("bad")}), "- recipes/overlays/eks.yaml:7"},
		"any error":                    {errors.New("surprise\nlog"), "-"},
	} {
		testkit.WantOutline(t, name, tc.err, tc.want)
	}
	if v := result.VerdictOf(nil); v.Findings != nil {
		t.Errorf("a pass has findings: %+v", v.Findings)
	}
}

// A finding that has neither object nor place leaves them out of the JSON.
func TestFindingJSON(t *testing.T) {
	raw, err := json.Marshal(result.VerdictOf(errors.New("surprise")))
	if err != nil || !strings.HasSuffix(string(raw), `"findings":[{"cause":"surprise"}]}`) {
		t.Errorf("got %s, %v", raw, err)
	}
}
