package run

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/command/cli"
)

const helmFlag = "helm"

// settleHelm reads --helm, and adds the lane of Helm 4 where both versions are asked for. The version of a module
// of the stack is that of this program's library too (TestSharedPackages).
func (f *runFlags) settleHelm(version func(module string) string) error {
	var majors []int
	for _, text := range cli.SplitList(f.helm) {
		if text == "auto" && len(f.helm) == 1 {
			return nil
		}
		var here []string
		wanted := 0
		for _, major := range bundle.HelmMajors() {
			whole := strings.TrimPrefix(version(fmt.Sprintf("helm.sh/helm/v%d", major)), "v")
			if here = append(here, whole); slices.Contains([]string{strconv.Itoa(major), whole}, strings.TrimPrefix(text, "v")) {
				wanted = major
			}
		}
		if wanted == 0 {
			return cli.Usagef("--%s %s: there is no such version of Helm here: it is a library of matrix, in the versions %s; want 3, 4, both as 3,4, or auto", helmFlag, text, strings.Join(here, " and "))
		}
		if !slices.Contains(majors, wanted) {
			majors = append(majors, wanted)
		}
	}
	if len(majors) == 0 {
		return nil
	}
	lanes := cli.SplitList(f.deployers)
	byHelm := slices.Contains(lanes, bundle.Helm) || slices.Contains(lanes, "all")
	switch {
	case !byHelm && !slices.ContainsFunc(lanes, chosenHelm):
		return cli.Usagef("--%s is for the lanes %s and %s, which are not among --deployer %s", helmFlag, bundle.Helm, bundle.Helmfile, strings.Join(lanes, ","))
	case !byHelm && len(majors) > 1:
		return cli.Usagef("--%s %s compares the two in the lane %s, which is not among --deployer %s; name one of them", helmFlag, strings.Join(f.helm, ","), bundle.Helm, strings.Join(lanes, ","))
	}
	slices.Sort(majors)
	if f.helmMajor = majors[0]; len(majors) > 1 {
		f.deployers = append(slices.Clone(f.deployers), bundle.Helm4)
	}
	return nil
}

// chosenHelm reports whether --helm is for a lane.
func chosenHelm(deployer string) bool { return deployer == bundle.Helm || deployer == bundle.Helmfile }

// helmHelp explains the flag.
func helmHelp() string {
	return fmt.Sprintf("`version` of Helm in the lanes %[1]s and %[2]s: 3, 4, or 3,4, which adds the lane %[3]s and compares it with %[1]s; auto is 4 where the bundle's files or the form of the recipe are for Helm 4, and else 3", bundle.Helm, bundle.Helmfile, bundle.Helm4)
}
