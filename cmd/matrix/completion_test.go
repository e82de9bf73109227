package main

import (
	"strings"
	"testing"

	"github.com/nvidia/aicr-action/internal/bundle"
)

// What the shell asks the program, and what it must answer; the last line is cobra's directive (4:
// no files, 16: directories).
func TestCompletion(t *testing.T) {
	recipes := fewRecipes(t)
	h100(t, recipes)
	shipped := invoke(t, nil, "list", "recipes", "--runnable", "-o", "name")
	shipped.want(t, 0)
	deployers := strings.Join(bundle.Names(), "\n") + "\n"
	for name, test := range map[string]struct {
		args []string
		want string
	}{
		"recipes":              {[]string{"run", ""}, shipped.stdout + ":4\n"},
		"further recipes":      {[]string{"run", "--recipes-dir", recipes, "eks", ""}, "eks-training\nh100-eks-training\n:4\n"},
		"one recipe":           {[]string{"bundle", "eks", ""}, ":4\n"},
		"recipes of directory": {[]string{"run", "--recipes-dir", recipes, ""}, "eks\neks-training\nh100-eks-training\n:4\n"},
		"broken directory":     {[]string{"run", "--recipes-dir", t.TempDir(), ""}, ":1\n"},
		"deployers":            {[]string{"run", "--deployer", ""}, deployers + "all\n:4\n"},
		"next of a list":       {[]string{"run", "--deployer", "helm,"}, "helm," + strings.Join(bundle.Names()[1:], "\nhelm,") + "\nhelm,all\n:4\n"},
		"one deployer":         {[]string{"bundle", "-d", ""}, deployers + ":4\n"},
		"charts":               {[]string{"run", "--charts", ""}, "auto\nsimulated\nsimulated-any-version\nupstream\nunlocked\ndirect\n:16\n"},
		"tiers":                {[]string{"discover", "--tier", "1,"}, "1,auto\n1,2\n1,3\n:4\n"},
		"tiers of a run":       {[]string{"run", "--tier", ""}, "auto\n1\n2\n3\n:4\n"},
		"verbs":                {[]string{"doc"}, "doctor\n:4\n"},
	} {
		t.Run(name, func(t *testing.T) {
			got := invoke(t, nil, append([]string{"__completeNoDesc"}, test.args...)...)
			if got.code != 0 || got.stdout != test.want {
				t.Errorf("code %d, got\n%s\nwant\n%s\n%s", got.code, got.stdout, test.want, got.stderr)
			}
		})
	}
	for _, shell := range []string{"bash", "zsh", "fish", "powershell"} {
		got := invoke(t, nil, "completion", shell)
		got.want(t, 0)
		if !strings.Contains(got.stdout, "__complete") {
			t.Errorf("%s: the script does not ask the program for names", shell)
		}
	}
}
