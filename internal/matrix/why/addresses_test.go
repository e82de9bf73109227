package why

import (
	"strings"
	"testing"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/result"
)

func TestLocate_Addresses(t *testing.T) {
	for cause, want := range map[string]string{
		`Release b: Service "s" is invalid: spec.clusterIPs: Invalid value: ["172.20.33.7"]: failed to allocate IP 172.20.33.7: the provided network does not match the current range`: "edit: leave clusterIP out",
		`Release b: Service "s" is invalid: spec.ipFamilyPolicy: Invalid value: "RequireDualStack": this cluster is not configured for dual-stack services`:                            "`ipFamilyPolicy: PreferDualStack`",
		`Release b: Service "s" is invalid: spec.ports: Required value`: "",
	} {
		all := []result.Finding{{Component: "b", Cause: cause}}
		Locate(nil, &bundle.Bundle{}, all)
		if got := strings.Join(all[0].Story, "\n"); !strings.Contains(got, want) || (got == "") != (want == "") {
			t.Errorf("%s: got %q, want %q", cause, got, want)
		}
	}
}
