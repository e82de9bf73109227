package matrix

import (
	"testing"
	"time"

	"github.com/nvidia/aicr-action/internal/reason"
)

// An error that is the stack's is no fault of the recipe, and comes after what is (faults F21).
func TestGateTellsTheStacksErrors(t *testing.T) {
	stacks := Item{ID: "Application csi", State: ItemSuspect, Text: "ComparisonError: no such field", Reason: reason.ArgoCDSchemaTooOld}
	v := gateCase{look: always(stacks)}.run(t).failed(t, reason.ArgoCDSchemaTooOld, "Application csi: ComparisonError: ")
	if v.Status != Infrastructure {
		t.Errorf("status: got %s, want %s", v.Status, Infrastructure)
	}
	recipes := stacks
	recipes.Reason = ""
	gateCase{look: always(recipes)}.run(t).failed(t, reason.DeployFailed, "Application csi: ComparisonError: ")
	refused := Item{ID: "Application b", State: ItemFailed, Text: "Pod b is invalid"}
	gateCase{look: func(since time.Duration) (LaneState, error) {
		if since < suspectFor+2*time.Second {
			return items(stacks)
		}
		return items(stacks, refused)
	}}.run(t).failed(t, reason.ArgoCDSchemaTooOld, "Application csi")
	gateCase{look: always(stacks, refused)}.run(t).failed(t, reason.DeployFailed, "Application b: Pod b is invalid")
}

// An error with a patience of its own is waited for that long, and no longer (faults F45).
func TestGatePatience(t *testing.T) {
	const patience = time.Minute
	behind := Item{ID: "Application kai", State: ItemSuspect, Text: "ComparisonError: unable to resolve parseableType", Reason: reason.ArgoCDSchemaTooOld, Patience: patience}
	r := gateCase{sync: 5 * time.Minute, look: func(since time.Duration) (LaneState, error) {
		if since < patience-5*time.Second {
			return items(behind)
		}
		return items(good("kai"))
	}}.run(t)
	if r.err != nil {
		t.Errorf("behind for a while: got %v", r.err)
	}
	r = gateCase{sync: 5 * time.Minute, look: always(behind)}.run(t)
	r.failed(t, reason.ArgoCDSchemaTooOld, "parseableType")
	r.within(t, patience, patience+2*time.Second)
}
