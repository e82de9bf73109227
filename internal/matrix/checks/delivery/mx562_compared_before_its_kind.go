package delivery

import (
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/bundle/apis"
	"github.com/nvidia/aicr-action/internal/matrix/judge"
	"github.com/nvidia/aicr-action/internal/result/reason"
)

var comparedBeforeItsKind = judge.Check{
	ID: "MX562", Name: "helmfile-compares-before-the-kind", Needs: judge.Rendered, First: true, Lanes: func(o judge.Order) bool { return o.Needs }, Gives: reason.DeployFailed,
	Title: "helm-diff meets no kind that a release of the same file is still to bring",
	Why: "helmfile apply has helm-diff compare all releases of a file before it installs the first of them, and helm-diff has the API server's kinds checked (https://helmfile.readthedocs.io/en/latest/#helmfile-apply). " +
		"A definition that comes with the release itself, in crds/ too, or with another one of its file, is not there yet. helm-diff does not run in a cell.",
	Fix:  "Set disableValidationOnInstall: true (or disableValidation: true) for the release, or put the definitions into a file before it.",
	Says: "is of a kind that release %s of the same file, %s, is still to bring: helm-diff compares all of a file first",
	Then: "helmfile apply ends with \"no matches for kind\", before anything is installed: set disableValidationOnInstall: true for release %[3]s",
	Run: func(s *judge.Scope) {
		files, brings := map[string]bundle.Given{}, map[schema.GroupKind]string{}
		for _, r := range s.Expectation.Releases {
			if r.Given.File != "" {
				files[r.Name] = r.Given
			}
		}
		for i := range s.Expectation.Objects {
			if o := &s.Expectation.Objects[i]; apis.DefinedBy(o.Object).Kind != "" {
				brings[apis.DefinedBy(o.Object)] = o.Release
			}
		}
		for i := range s.Expectation.Objects {
			o := &s.Expectation.Objects[i]
			kind := o.Object.GroupVersionKind().GroupKind()
			by, of := brings[kind], files[o.Release]
			if by == "" || o.Hook || o.InCRDs() || !of.Compared || files[by].File != of.File || apis.ServedAs(s.Expectation.ServedBefore, kind) != "" {
				continue
			}
			s.Report(o, "", by, of.File, o.Release).OneCause(o.Release + " " + kind.String())
		}
	},
}
