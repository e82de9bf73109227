package helminstall

import (
	"github.com/nvidia/aicr-action/internal/charts/render"
	"github.com/nvidia/aicr-action/internal/infra"
	"github.com/nvidia/aicr-action/internal/result/reason"
	"github.com/nvidia/aicr-action/internal/util/sandbox"
)

// settings are the start parameters of the process.
type settings struct {
	Kubeconfig, Dir string
	Profile         sandbox.Profile
	Limits          render.Limits
}

// wireRelease goes to the process; wireEvents come back, the last one with an End.
type wireRelease struct {
	Name, Namespace                       string
	Chart                                 *render.WireChart
	Pull                                  *Pull
	Values                                map[string]any
	CreateNamespace, SkipSchemaValidation bool
	Again                                 bool
	Helm                                  int // the major version; 0 is 3
	ForceConflicts                        bool
	Uninstall                             bool // only Name and Namespace count
	Rollback                              int  // how many revisions; the same
}

type wireEvent struct {
	Log     string
	Warning *infra.APIWarning
	End     *wireEnd
}

// wireEnd is the outcome of a release. Err is the text of an error, Reason and Component are those
// of the error, and Limit is an exceeded limit.
type wireEnd struct {
	Step       Step
	Err, Limit string
	Reason     reason.Reason
	Component  string
}

func encode(r Release) wireRelease {
	w := wireRelease{
		Name: r.Name, Namespace: r.Namespace, Pull: r.Pull, Values: render.EncodeValues(r.Values),
		CreateNamespace: r.CreateNamespace, SkipSchemaValidation: r.SkipSchemaValidation, Again: r.Again, ForceConflicts: r.ForceConflicts,
	}
	if r.Chart != nil {
		w.Chart = render.EncodeChart(r.Chart)
	}
	return w
}
