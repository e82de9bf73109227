package embedded

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"sigs.k8s.io/kwok/pkg/consts"

	"github.com/nvidia/aicr-action/internal/infra/infratest"
)

// kwokctl makes the same command lines whether it asked the programs for their versions or not.
func TestCommandLines(t *testing.T) {
	s := realStack(t)
	lines := func(name string) map[string][]string {
		c := newCluster(t, s, infratest.ShortTempDir(t), name)
		if err := c.install(t.Context()); err != nil {
			t.Fatal(err)
		}
		all := map[string][]string{}
		for _, component := range c.components() {
			made, err := c.rt.GetComponent(t.Context(), component)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := os.Stat(c.program(component)); err != nil {
				t.Error(err)
			}
			asked, err := filepath.EvalSymlinks(filepath.Join(c.dir, "bin", component))
			if err != nil {
				t.Fatal(err)
			}
			if real := asked == c.program(component); real != (name == "asked") {
				t.Errorf("cluster %s: kwokctl asked %s for the version of %s", name, asked, component)
			}
			for _, arg := range made.Args {
				arg = strings.ReplaceAll(strings.ReplaceAll(arg, c.dir, "DIR"), name, "NAME")
				for i, port := range c.taken {
					arg = strings.ReplaceAll(arg, strconv.Itoa(port), "PORT"+strconv.Itoa(i))
				}
				all[component] = append(all[component], arg)
			}
		}
		return all
	}
	silent := lines("silent")
	t.Setenv("PATH", "") // no `true`
	asked := lines("asked")
	if len(asked) != 5 || len(asked[consts.ComponentKubeApiserver]) < 20 {
		t.Fatalf("got the command lines %q", asked)
	}
	for component, want := range asked {
		if got := silent[component]; !slices.Equal(got, want) {
			t.Errorf("%s: got %q\nwant %q", component, got, want)
		}
	}
}
