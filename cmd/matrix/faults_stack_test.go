package main

import (
	"encoding/json"
	"errors"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

// Faults on the real stack, through the real binary: each must end with its own verdict and leave
// nothing behind.
func TestFaults(t *testing.T) {
	t.Parallel()
	paths, _ := needStack(t)
	bin := buildProgram(t)
	for _, fault := range []struct {
		name string
		test func(*testing.T, program)
	}{
		{"chart missing", faultChart},
		{"registry port taken", faultPort},
		{"interrupted", faultInterrupt},
		{"killed", faultKill},
		{"two runs at once", twoRuns},
	} {
		t.Run(fault.name, func(t *testing.T) {
			t.Parallel()
			fault.test(t, newProgram(t, bin, paths))
		})
	}
}

// storyOf is the part of a report about one failed cell.
func storyOf(t *testing.T, report, cell string) string {
	t.Helper()
	head := regexp.MustCompile(`(?m)^[✗⚠◷■] (\S+)  `)
	for _, at := range head.FindAllStringSubmatchIndex(report, -1) {
		if report[at[2]:at[3]] != cell {
			continue
		}
		story := report[at[1]:]
		if next := head.FindStringIndex(story); next != nil {
			story = story[:next[0]]
		}
		return story
	}
	t.Fatalf("the report has no story of %s:\n%s", cell, report)
	return ""
}

// A chart that the source does not have: the cell fails in every lane, and names the chart.
func faultChart(t *testing.T, p program) {
	charts := filepath.Join(t.TempDir(), "charts")
	if err := os.CopyFS(charts, os.DirFS("../../kwok/charts")); err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(filepath.Join(charts, "prometheus-adapter")); err != nil {
		t.Fatal(err)
	}
	r := p.run(t, 3*time.Minute, nil, "run", "eks-training", "--deployer", "helm,argocd-oci", "--charts", charts)
	r.want(t, 52, "charts: dir:"+charts)
	for _, deployer := range []string{"helm", "argocd-oci"} {
		wantText(t, deployer, storyOf(t, r.stdout.String(), "eks-training/"+deployer), "BUNDLE_FAILED (52)", "chart prometheus-adapter 5.3.0 is not in chart source dir:"+charts)
	}
}

// F27.
func faultPort(t *testing.T, p program) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	_, port, err := net.SplitHostPort(l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	p.run(t, 3*time.Minute, []string{"KWOK_REGISTRY_HOST_PORT=" + port}, "run", "eks-training", "--deployer", "helm").
		want(t, 16, "PORT_TAKEN (16)", "port "+port+" on 127.0.0.1 is in use", "KWOK_REGISTRY_HOST_PORT")
}

// F18: results of finished cells are kept, the running cell is marked, and cells that did not start
// are listed.
func faultInterrupt(t *testing.T, p program) {
	r := p.start(t, nil, "run", "own", "--recipes-dir", ownRecipe(t, "1"), "--deployer", "helm,argocd-oci,flux-oci", "--parallel", "1")
	r.until(t, "own/argocd-oci  Starting the controllers")
	id := p.runID(t)
	if err := r.cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatalf("interrupt: %v", err)
	}
	r.wait(t, 3*time.Minute)
	r.want(t, 130, "3 cells: 1 passed, 1 interrupted, 1 not run", "■ own/argocd-oci  INTERRUPTED", "interrupted by interrupt")
	row := ""
	for _, line := range strings.Split(r.stdout.String(), "\n") {
		if strings.HasPrefix(line, "own ") {
			row = line
		}
	}
	wantText(t, "row", row, " pod", "■ interrupted", "○ not run")
	if left, _ := filepath.Glob(filepath.Join(p.paths.Root, "runs", id+"*")); len(left) > 0 {
		t.Errorf("directories of the run are left: %q", left)
	}
}

// SIGKILL leaves no process; the cluster's directory is recognised as stale and can be removed.
func faultKill(t *testing.T, p program) {
	r := p.start(t, nil, "run", "own", "--recipes-dir", ownRecipe(t, "1"), "--deployer", "helm")
	r.until(t, "own/helm  Starting the controllers")
	if len(p.processes(t)) < 6 { // matrix and the five of the control plane
		t.Fatalf("got %d processes of the run, want at least 6", len(p.processes(t)))
	}
	if err := r.cmd.Process.Kill(); err != nil {
		t.Fatalf("kill: %v", err)
	}
	r.wait(t, time.Minute)
	p.wantNoProcess(t)
	name := ""
	for _, c := range clustersOf(t, p) {
		if !strings.HasPrefix(c.State, "stale") || len(c.Running) > 0 {
			t.Errorf("cluster %s: got state %q with %q running, want it stale", c.Name, c.State, c.Running)
		}
		name = c.Name
	}
	if name == "" {
		t.Fatal("cluster status does not list the cluster of the killed run")
	}
	p.run(t, time.Minute, nil, "cluster", "status").want(t, 0, "matrix cluster down --name "+name)
	p.run(t, time.Minute, nil, "cluster", "down", "--name", name).want(t, 0, "cluster "+name+" is removed")
	if left := clustersOf(t, p); len(left) > 0 {
		t.Errorf("cluster down left %+v", left)
	}
}

type clusterRow struct {
	Name, State string
	Running     []string
}

// clustersOf lists the clusters of one test.
func clustersOf(t *testing.T, p program) []clusterRow {
	t.Helper()
	r := p.run(t, time.Minute, nil, "cluster", "status", "-o", "json")
	r.want(t, 0)
	var all, mine []clusterRow
	if err := json.Unmarshal([]byte(r.stdout.String()), &all); err != nil {
		t.Fatalf("cluster status -o json: %v in\n%s", err, r.stdout)
	}
	for _, c := range all {
		if strings.HasPrefix(c.Name, p.prefix) {
			mine = append(mine, c)
		}
	}
	return mine
}

// Two runs on one machine do not disturb each other.
func twoRuns(t *testing.T, p program) {
	other := newProgram(t, p.bin, p.paths)
	runs := []*process{p.start(t, nil, "run", "eks", "--deployer", "helm"), other.start(t, nil, "run", "eks", "--deployer", "helm")}
	eventually(t, "both runs to have a cluster at the same time", 5*time.Minute, func() error {
		for _, r := range runs {
			select {
			case <-r.done:
				t.Fatalf("a run ended before the other one had a cluster\n%s\n%s", r.stdout, r.stderr)
			default:
			}
		}
		if len(p.processes(t)) < 6 || len(other.processes(t)) < 6 {
			return errors.New("not both have started their control plane")
		}
		return nil
	})
	for _, r := range runs {
		r.wait(t, 10*time.Minute)
		r.want(t, 0, "1 cell: 1 passed")
	}
}
