package helminstall

import (
	"github.com/nvidia/aicr-action/internal/helmrender"
	"github.com/nvidia/aicr-action/internal/infra"
	"github.com/nvidia/aicr-action/internal/infra/sandbox"
	"github.com/nvidia/aicr-action/internal/reason"
)

// settings are what the process is started with.
type settings struct {
	Kubeconfig, Dir string
	Profile         sandbox.Profile
	Limits          helmrender.Limits
}

// wireRelease goes to the process; wireEvents come back, the last one with an End.
type wireRelease struct {
	Name, Namespace                       string
	Chart                                 *helmrender.WireChart
	Pull                                  *Pull
	Values                                map[string]any
	CreateNamespace, SkipSchemaValidation bool
}

type wireEvent struct {
	Log     string
	Warning *infra.APIWarning
	End     *wireEnd
}

// wireEnd is what became of a release. Err is the text of an error, and Reason and Component the name that it had; Limit is a limit that it went over.
type wireEnd struct {
	Step       Step
	Err, Limit string
	Reason     reason.Reason
	Component  string
}

func encode(r Release) wireRelease {
	w := wireRelease{
		Name: r.Name, Namespace: r.Namespace, Pull: r.Pull, Values: helmrender.EncodeValues(r.Values),
		CreateNamespace: r.CreateNamespace, SkipSchemaValidation: r.SkipSchemaValidation,
	}
	if r.Chart != nil {
		w.Chart = helmrender.EncodeChart(r.Chart)
	}
	return w
}
