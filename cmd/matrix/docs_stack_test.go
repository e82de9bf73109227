package main

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/nvidia/aicr-action/internal/testkit"
)

// TestDocumentedCommands_Stack executes the commands that need a real cluster, in an order that
// lets one cell serve many commands. All cells are of the recipes that getting-started.md breaks, since a
// failed cell takes half the time of a passing one.
func TestDocumentedCommands_Stack(t *testing.T) {
	t.Parallel()
	paths, stack := needStack(t)
	bin := buildProgram(t)
	p := newProgram(t, bin, paths)
	// Helm is the stack's, and keeps its files to itself.
	home := t.TempDir()
	b := newCommandBench(t, bin, "AICR_ACTION_CACHE="+paths.Root, "KWOK_CLUSTER="+p.prefix, "GO=true",
		"HELM_CACHE_HOME="+home, "HELM_CONFIG_HOME="+home, "HELM_DATA_HOME="+home)
	for i, v := range b.env {
		if path, ok := strings.CutPrefix(v, "PATH="); ok {
			b.env[i] = "PATH=" + path + ":" + filepath.Dir(stack.Bin("helm"))
		}
	}
	wants := func(command string, code int, want []string, substitute ...string) string {
		b.t.Helper()
		out := b.run(command, code, substitute...)
		wantText(b.t, command, out, want...)
		return out
	}
	whole := true // no part was left out with -run
	part := func(name string, do func(t *testing.T)) {
		ran := false
		t.Run(name, func(t *testing.T) { ran, b.t = true, t; do(t) })
		whole, b.t = whole && ran, t
	}
	b.run("cp -r recipes /tmp/my-recipes", 0)
	b.run("echo 'nodeSelector: {disktype: ssd}' >> /tmp/my-recipes/components/cert-manager/values.yaml", 0)

	part("a cluster that stays", func(*testing.T) {
		wants("matrix stack build", 0, []string{stack.Dir})
		wants("make kwok-cluster", 0, []string{p.prefix})
		wants("make kwok-nodes RECIPE=eks-training", 0, []string{"node/"})
		wants("make kwok-status", 0, []string{p.prefix})
		wants("make kwok-cluster-delete", 0, nil)
		wants("matrix cluster up", 0, []string{p.prefix})
		b.run("matrix cluster down", 0)
	})

	part("the failed cell of the picture", func(t *testing.T) {
		out := wants("matrix run eks-training --deployer helm --recipes-dir /tmp/my-recipes", 1, nil)
		for _, line := range shownStory(t, b.tmp) {
			if !regexp.MustCompile(line).MatchString(out) {
				t.Errorf("the picture or getting-started.md shows a line that the run did not print:\n%s\nin:\n%s", line, out)
			}
		}
	})
	b.env = append(b.env, "AICR_ACTION_RECIPES_DIR="+filepath.Join(b.tmp, "my-recipes"))

	part("charts of one's own", func(*testing.T) {
		b.run("cp -r kwok/charts /tmp/charts && rm -r /tmp/charts/cert-manager && cp -r kwok/charts/cert-manager /tmp/charts", 0) // in place of helm pull
		wants("matrix run eks-training --deployer helm --charts /tmp/charts", 1, []string{"charts: dir:" + filepath.Join(b.tmp, "charts"), "SCHEDULING_FAILED (1)"})
	})

	part("results", func(t *testing.T) {
		wants("matrix run eks-training --deployer helm --results out --junit out/junit.xml --html out/report.html --summary out/summary.md", 1, nil)
		for _, file := range []string{"kwok-results.json", "junit.xml", "report.html", "summary.md"} {
			wantText(t, file, b.read("out", file), "SCHEDULING_FAILED")
		}
		b.run("matrix report out/kwok-results.json --format html > report.html", 0)
		wantText(t, "report.html", b.read("report.html"), "<html", "SCHEDULING_FAILED")
		b.run("mkdir shard-1 shard-2; cp out/kwok-results.json shard-1; cp out/kwok-results.json shard-2", 0)
		b.run("matrix merge shard-*/kwok-results.json --to kwok-results.json", 0)
		wantText(t, "kwok-results.json", b.read("kwok-results.json"), "SCHEDULING_FAILED")
		b.run("rm -r out", 0)
	})

	part("evidence and replay", func(t *testing.T) {
		out := wants("matrix run eks-training --deployer helm --artifacts out", 1, []string{"artifacts: ", "kwok-debug-eks-training-helm-"})
		debug := regexp.MustCompile(`kwok-debug-eks-training-helm-[0-9a-f]{8}`).FindString(out)
		top := b.dir
		t.Cleanup(func() { b.dir = top })
		b.dir = filepath.Join(b.dir, "out")
		b.replay(debug)
		export := wants(`eval "$(matrix replay --detach DIR)"`, 0, nil, "DIR", debug+" --name "+p.prefix+"-detached")
		b.run("matrix cluster down --name "+p.prefix+"-detached", 0)
		wantText(t, "what replay --detach says", export, "cluster down")
		b.dir = filepath.Join(b.dir, debug)
		wants("tar -xzOf *-etcd.tar.gz snapshot.json", 0, []string{"SCHEDULING_FAILED"})
		wants("tar -tzf *-etcd.tar.gz | grep deployments", 0, []string{"cert-manager"})
	})

	part("a kept cluster", func(t *testing.T) {
		t.Cleanup(func() {
			for _, c := range clustersOf(t, p) {
				p.run(t, time.Minute, nil, "cluster", "down", "--name", c.Name)
			}
		})
		wants("matrix run eks-training --deployer helm --keep", 1, []string{"is kept: export KUBECONFIG="})
		kept := clustersOf(t, p)
		if len(kept) != 1 {
			t.Fatalf("got %d kept clusters, want one", len(kept))
		}
		name := []string{"NAME", kept[0].Name}
		wants("matrix why cert-manager/deployment/cert-manager", 0, []string{"edit: remove `disktype: ssd`"})
		wants("matrix cluster status", 0, []string{kept[0].Name})
		wants("matrix cluster kubeconfig --name NAME", 0, []string{"certificate-authority-data"}, name...)
		wants("matrix cluster down --name NAME", 0, nil, name...)
	})

	executed := map[string]bool{}
	for _, command := range b.done {
		executed[command] = true
	}
	for _, row := range documentedCommands() {
		if whole && row.where == onStack && !executed[row.command] && !b.skipped[row.command] {
			t.Errorf("%q was not executed", row.command)
		}
	}
}

// read reads a file of the copy.
func (b *commandBench) read(parts ...string) string {
	b.t.Helper()
	raw, err := os.ReadFile(filepath.Join(append([]string{b.dir}, parts...)...))
	if err != nil {
		b.t.Fatal(err)
	}
	return string(raw)
}

// replay boots the cluster of a failed cell and explores it, until it is interrupted.
func (b *commandBench) replay(debug string) {
	b.t.Helper()
	cmd := b.command("exec matrix replay kwok-debug-eks-training-flux-oci-1a2b3c4d", "matrix replay kwok-debug-eks-training-flux-oci-1a2b3c4d", "matrix replay "+debug)
	b.done = append(b.done, "matrix replay kwok-debug-eks-training-flux-oci-1a2b3c4d")
	var stdout, stderr testkit.Log
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Start(); err != nil {
		b.t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	b.t.Cleanup(func() { _ = cmd.Process.Kill() })
	eventually(b.t, "the replay to be up", time.Minute, func() error {
		select {
		case err := <-ended:
			b.t.Fatalf("replay ended: %v\n%s", err, &stderr)
		default:
		}
		if !strings.HasSuffix(stdout.String(), "\n") {
			return errors.New(stderr.String())
		}
		return nil
	})
	before := b.env
	b.env = append(b.env[:len(b.env):len(b.env)], strings.TrimPrefix(strings.TrimSpace(stdout.String()), "export "))
	for command, want := range map[string]string{
		"kubectl get pods -A -o wide": "Pending", "kubectl get events -A --sort-by=.lastTimestamp": "FailedScheduling", "helm list -A": "cert-manager",
	} {
		if _, err := exec.LookPath("kubectl"); err != nil && strings.HasPrefix(command, "kubectl ") {
			b.t.Logf("no kubectl here: %s is not executed", command)
			b.skipped[command] = true
			continue
		}
		wantText(b.t, command, b.run(command, 0), want)
	}
	b.env = before
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		b.t.Fatal(err)
	}
	select {
	case err := <-ended:
		if err != nil {
			b.t.Errorf("replay after Ctrl-C: %v\n%s", err, &stderr)
		}
	case <-time.After(time.Minute):
		b.t.Fatal("replay does not end with Ctrl-C")
	}
}

// shownStory are the lines of the failure report that the picture of README.md and getting-started.md
// show for the failed cell, as regular expressions, since a pod's name and the directory differ.
func shownStory(t *testing.T, tmp string) []string {
	t.Helper()
	picture, err := os.ReadFile(filepath.Join(repository, "docs", "images", "run.txt"))
	if err != nil {
		t.Fatal(err)
	}
	shown := []string{string(picture)}
	for _, d := range documents(t) {
		if d.name != "docs/getting-started.md" {
			continue
		}
		for _, block := range d.blocks {
			if strings.HasPrefix(block.text, "✗ ") {
				shown = append(shown, "\n"+block.text)
			}
		}
	}
	if len(shown) != 2 {
		t.Fatalf("docs/getting-started.md shows %d failure reports, want one", len(shown)-1)
	}
	var lines []string
	for _, text := range shown {
		_, story, found := strings.Cut(text, "\n✗ ")
		if !found {
			t.Fatalf("there is no failure report in\n%s", text)
		}
		for _, line := range strings.Split(strings.TrimSpace("✗ "+story), "\n") {
			line = regexp.QuoteMeta(strings.TrimSpace(strings.ReplaceAll(line, "/tmp/", tmp+"/")))
			lines = append(lines, regexp.MustCompile(`(cert-manager-[0-9a-f]{8,10})-[0-9a-z]{5}`).ReplaceAllString(line, `$1-[0-9a-z]{5}`))
		}
	}
	return lines
}
