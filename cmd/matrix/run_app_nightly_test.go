//go:build nightly

package main

import (
	"os"
	"path/filepath"
	"testing"
	"time"
)

// Each other form of an app passes, a second delivery changes nothing of it, it can be removed, and a
// wrong value is red at its own file and line.
func TestNightlyApp(t *testing.T) {
	apps := clonedApps(t)
	for name, tc := range map[string]struct {
		args []string
		code int
		want []string
	}{
		"a chart":        {[]string{"--app", apps + "/charts/web", "--values", apps + "/values-test.yaml"}, 0, []string{"helm", "3 pods", "1 passed"}},
		"Flux":           {[]string{"--app", apps + "/flux", "--charts", "simulated"}, 0, []string{"flux-git", "1 passed"}},
		"a chart, again": {[]string{"--app", apps + "/charts/web", "--values", apps + "/values-test.yaml", "--drift", "--remove"}, 0, []string{"helm", "1 passed"}},
		"Flux, again":    {[]string{"--app", apps + "/flux", "--charts", "simulated", "--drift", "--remove"}, 0, []string{"flux-git", "1 passed"}},
		"Argo CD, again": {[]string{"--app", apps + "/argocd", "--charts", "simulated", "--drift", "--remove"}, 0, []string{"argocd-git", "1 passed"}},
		"a wrong value":  {[]string{"--app", apps + "/charts/web", "--values", filepath.Join(t.TempDir(), "values.yaml")}, 1, []string{"SCHEDULING_FAILED", "values.yaml:2", "nodeSelector.disk"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			paths, _ := needStack(t)
			if tc.code != 0 {
				if err := os.WriteFile(tc.args[3], []byte("nodeSelector:\n  disk: nvme\n"), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			newProgram(t, buildProgram(t), paths).run(t, 10*time.Minute, nil, append([]string{"run"}, tc.args...)...).want(t, tc.code, tc.want...)
		})
	}
}

// An upgrade leaves out on both sides what cannot be had on one of them, and what needs it; the rest is judged.
func TestNightlyApp_PartialUpgrade(t *testing.T) {
	paths, _ := needStack(t)
	dir, p := appsWithoutChart(t), newProgram(t, buildProgram(t), paths)
	for old, app := range map[string]string{"before": "green", "green": "before"} {
		p.run(t, 10*time.Minute, nil, "run", "--app", filepath.Join(dir, app), "--from", filepath.Join(dir, old)).want(t, 23,
			"2 of 3 apps not run, since 1 chart cannot be had; the rest passed", "not run: api is not run", "no difference in 1 object", "2 cells: 0 passed")
	}
}
