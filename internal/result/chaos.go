package result

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"
)

// Chaos is what was broken on purpose after a cell's gate, or during a workflow, and which
// workloads survived it. It is no part of the verdict: only a recipe's author knows what may die.
type Chaos struct {
	// File is the argument of --chaos, and Seed the random seed by which nodes and pods were
	// chosen.
	File string `json:"file"`
	Seed int64  `json:"seed"`
	// Workloads is how many there were before the first step.
	Workloads int         `json:"workloads"`
	Steps     []ChaosStep `json:"steps"`
}

// ChaosStep is one step, and the state of the workloads once they had settled after it.
type ChaosStep struct {
	Name string `json:"name"`
	// Action is the step's field in the file, e.g. drain; Line is the step's first line.
	Action string `json:"action"`
	Line   int    `json:"line"`
	// Status is StepPassed if the step was done, StepFailed if it could not be, e.g. since no node
	// has the labels. In JSON a step that was done has the status "done".
	Status StepStatus `json:"status"`
	// Did is what was done, in a few words; Targets are the nodes or pods that were chosen.
	Did     string   `json:"did,omitempty"`
	Targets []string `json:"targets,omitempty"`
	// Error is why the step failed.
	Error string `json:"error,omitempty"`
	// Started is in milliseconds since the first step could start; Took includes the time until the
	// workloads had settled.
	Started int64 `json:"startedMs"`
	Took    int64 `json:"tookMs"`
	// Unsettled is what still changed when the time to settle was over; empty if all workloads had
	// settled.
	Unsettled string `json:"unsettled,omitempty"`
	// Whole is the number of workloads that have all that they require; Hurt are the others.
	Whole int        `json:"whole"`
	Hurt  []Survivor `json:"hurt,omitempty"`
}

// doneWord is StepPassed in the JSON of a ChaosStep: a step of chaos checks nothing that could pass.
const doneWord = "done"

// MarshalJSON writes doneWord for StepPassed.
func (s ChaosStep) MarshalJSON() ([]byte, error) {
	type fields ChaosStep
	if s.Status == StepPassed {
		s.Status = doneWord
	}
	return json.Marshal(fields(s))
}

// UnmarshalJSON reads what MarshalJSON writes.
func (s *ChaosStep) UnmarshalJSON(data []byte) error {
	type fields ChaosStep
	if err := json.Unmarshal(data, (*fields)(s)); err != nil {
		return err
	}
	if s.Status == doneWord {
		s.Status = StepPassed
	}
	return nil
}

// SurvivorState is the state of a workload.
type SurvivorState string

// The states of a workload that is not whole. Lost: none of its pods runs any more, or the workload
// was deleted or failed. Waiting: none has run yet.
const (
	Lost     SurvivorState = "lost"
	Degraded SurvivorState = "degraded"
	Waiting  SurvivorState = "waiting"
)

// Survivor is a workload that is not whole.
type Survivor struct {
	Workload Ref           `json:"workload"`
	State    SurvivorState `json:"state"`
	// Ready is the number of pods that run and are ready, and Want that of the required ones.
	Ready int `json:"ready"`
	Want  int `json:"want"`
	// Why is the scheduler's message on a pod without a node, or what else keeps it from being
	// whole.
	Why string `json:"why,omitempty"`
	// Before: it was not whole before the first step either.
	Before bool `json:"before,omitempty"`
}

// Count counts the workloads in a state.
func (s *ChaosStep) Count(state SurvivorState) int {
	n := 0
	for i := range s.Hurt {
		if s.Hurt[i].State == state {
			n++
		}
	}
	return n
}

// SortSurvivors puts those that are lost first, then those that are degraded, each by name.
func SortSurvivors(all []Survivor) {
	order := []SurvivorState{Lost, Degraded, Waiting}
	slices.SortFunc(all, func(a, b Survivor) int {
		return cmp.Or(cmp.Compare(slices.Index(order, a.State), slices.Index(order, b.State)), strings.Compare(a.Workload.String(), b.Workload.String()))
	})
}
