package workload

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/nvidia/aicr-action/internal/matrix/facts"
	"github.com/nvidia/aicr-action/internal/matrix/judge"
	"github.com/nvidia/aicr-action/internal/result/reason"
)

const (
	pathNever = "a kubelet never starts it (CreateContainerConfigError)"
	pathSays  = "container %s mounts %s at %s of volume %s (subPathExpr), "
)

var pathOfVariable = judge.Check{
	ID: "MX138", Name: "path-of-no-variable", Needs: judge.Rendered, Until: judge.Settled, Gives: reason.WorkloadFailed,
	Title: "A kubelet can expand the paths of volumes that are made of variables",
	Why: "A kubelet replaces the variables of a subPathExpr, where an empty one counts as missing, and mounts only a relative path without '..' " +
		"(https://kubernetes.io/docs/concepts/storage/volumes/#using-subpath-expanded-environment). A simulated kubelet mounts nothing. " +
		"Services and the keys of objects that the recipe does not render are known only in a cluster.",
	Fix:  "Define the variable, and keep the path inside of the volume.",
	Says: pathSays + "and has no variable %s", Then: pathNever,
	Others: map[string]judge.Message{
		"empty":    {Says: pathSays + "and its variable %s is empty", Then: pathNever},
		"absolute": {Says: pathSays + "which is the absolute path %s", Then: pathNever},
		"up":       {Says: pathSays + "which is %s, and a path of a volume may not contain '..'", Then: pathNever},
	},
	Run: func(s *judge.Scope) {
		for _, m := range wrongPaths(s) {
			m.report(s)
		}
	},
}

// wrongPath is a mount that a kubelet does not make.
type wrongPath struct {
	pods          facts.PodTemplate
	path, message string
	name          string
	arguments     []any
}

func (w wrongPath) report(s *judge.Scope) {
	s.ReportAs(w.message, w.pods.Object, w.path, w.arguments...).SetBy(w.name).OneOfTemplate()
}

// wrongPaths does as the kubelet does (ExpandContainerVolumeMounts, makeMounts in k8s.io/kubernetes/pkg/kubelet). A value
// that only the cluster knows could be any.
func wrongPaths(s *judge.Scope) (all []wrongPath) {
	for _, p := range s.Pods() {
		in := aroundOf(s, p)
		for _, c := range p.Containers() {
			for i, m := range c.VolumeMounts {
				if m.SubPathExpr == "" {
					continue
				}
				env := environmentOf(&p.Template.Spec, c.Container, in)
				to, missing, _ := expand(m.SubPathExpr, env.lookup)
				add := func(message, name, last string) {
					all = append(all, wrongPath{p, fmt.Sprintf("%s.volumeMounts[%d].subPathExpr", c.Path, i), message, name, []any{c.Name, m.MountPath, m.SubPathExpr, m.Name, last}})
				}
				for _, name := range missing {
					message := ""
					if _, ok := env.values[name]; ok {
						message = "empty"
					}
					add(message, "$("+name+")", name)
				}
				switch {
				case len(missing) > 0:
				case path.IsAbs(to):
					add("absolute", m.SubPathExpr, to)
				case slices.Contains(strings.Split(to, "/"), ".."):
					add("up", m.SubPathExpr, to)
				}
			}
		}
	}
	return all
}
