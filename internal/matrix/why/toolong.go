package why

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"helm.sh/helm/v3/pkg/chart"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/result"
)

var (
	// releaseTooLong matches what the API server says of a Secret that is Helm's record of a release.
	releaseTooLong = regexp.MustCompile(`"sh\.helm\.release\.v1\.([a-z0-9.-]+)\.v\d+" is invalid: data: Too long`)
	// annotationTooLong matches what it says of an object whose annotations are too long: a client-side apply
	// writes the whole object into one.
	annotationTooLong = regexp.MustCompile(`is invalid: metadata\.annotations: Too long`)
)

// tooLong says of what is too long for the API server what makes it so, and what helps; empty for anything else.
func tooLong(e *bundle.Expectation, f *result.Finding) string {
	if strings.HasPrefix(f.Cause, "Application ") && annotationTooLong.MatchString(f.Cause) {
		return "  Argo CD applies it client-side, and so writes all of it into an annotation (kubectl.kubernetes.io/last-applied-configuration): set the sync option ServerSideApply=true, of the Application or of the object"
	}
	m := releaseTooLong.FindStringSubmatch(f.Cause)
	if m == nil {
		return ""
	}
	i := slices.IndexFunc(e.Objects, func(o bundle.Object) bool { return o.Release == m[1] && o.Chart != nil })
	line := "  Helm keeps a release in one Secret, with its chart and all files of that, compressed"
	if i < 0 {
		return line
	}
	files := slices.SortedFunc(slices.Values(filesOf(e.Objects[i].Chart, "")), func(a, b *chart.File) int { return cmp.Compare(len(b.Data), len(a.Data)) })
	var largest []string
	for _, file := range files[:min(3, len(files))] {
		if len(file.Data) < 1<<10 {
			break
		}
		largest = append(largest, fmt.Sprintf("%s (%d KiB)", file.Name, len(file.Data)>>10))
	}
	return line + fmt.Sprintf("; the largest files of chart %s are %s: leave out what no template reads (.helmignore), or make two charts of it", e.Objects[i].Chart.Name(), strings.Join(largest, ", "))
}

// filesOf are the files of a chart and of the charts in it, with their paths.
func filesOf(ch *chart.Chart, dir string) (all []*chart.File) {
	for _, list := range [][]*chart.File{ch.Templates, ch.Files} { // crds/ are among the latter
		for _, file := range list {
			all = append(all, &chart.File{Name: dir + file.Name, Data: file.Data})
		}
	}
	for _, d := range ch.Dependencies() {
		all = append(all, filesOf(d, dir+"charts/"+d.Name()+"/")...)
	}
	return all
}
