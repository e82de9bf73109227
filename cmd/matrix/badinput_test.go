package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// An error of the input is reported before any process is started, with the valid values or the
// place of the error.
func TestBadInput(t *testing.T) {
	recipes := []string{"base", "eks", "eks-training", "monitoring-hpa"}
	deployers := []string{"helm", "argocd-oci", "argocd-helm-oci", "flux-oci"}
	full := t.TempDir()
	if err := os.WriteFile(filepath.Join(full, "mine.txt"), []byte("mine"), 0o644); err != nil {
		t.Fatal(err)
	}
	absent := filepath.Join(t.TempDir(), "absent")
	tests := map[string]struct {
		args []string
		env  []string
		code int // 0 stands for 2
		want []string
	}{
		"unknown recipe":                   {args: []string{"run", "nonsense"}, want: append([]string{`"nonsense"`}, recipes...)},
		"recipe with a typing error":       {args: []string{"run", "eks-trainig"}, want: []string{`"eks-trainig"`, `did you mean "eks-training"?`}},
		"recipe by its overlay":            {args: []string{"run", "recipes/overlays/eks-training.yaml"}, want: []string{`did you mean "eks-training"?`}},
		"recipe and all":                   {args: []string{"run", "eks-training", "--all"}, want: []string{"--all runs every recipe that sets a service; remove these arguments: eks-training"}},
		"one known, one unknown":           {args: []string{"run", "eks", "nonsense", "-d", "helm"}, want: []string{`"nonsense"`}},
		"no recipe":                        {args: []string{"run"}, want: append([]string{"no recipe given", "--all"}, recipes...)},
		"an empty recipe":                  {args: []string{"run", ""}, want: []string{"no recipe given"}},
		"unknown deployer":                 {args: []string{"run", "eks", "--deployer", "argo"}, want: append([]string{`"argo"`}, deployers...)},
		"one deployer of two unknown":      {args: []string{"run", "eks", "--deployer", "helm,argo"}, want: append([]string{`"argo"`}, deployers...)},
		"no deployer":                      {args: []string{"run", "eks", "--deployer", ""}, want: deployers},
		"recipes directory absent":         {args: []string{"run", "eks", "--recipes-dir", absent}, want: []string{absent, "not a directory"}},
		"recipes directory a file":         {args: []string{"run", "eks", "--recipes-dir", filepath.Join(full, "mine.txt")}, want: []string{"mine.txt", "not a directory"}},
		"recipes directory empty":          {args: []string{"run", "eks", "--recipes-dir", t.TempDir()}, want: []string{"registry.yaml"}},
		"recipes directory by environment": {args: []string{"run", "eks"}, env: []string{"AICR_ACTION_RECIPES_DIR=" + absent}, want: []string{absent}},
		"profiles absent":                  {args: []string{"run", "eks", "--profiles", absent}, want: []string{"--profiles", absent, "not a directory"}},
		"profiles without a profile":       {args: []string{"discover", "--profiles", full}, want: []string{full, "no *.yaml file"}},
		"profiles without nodes":           {args: []string{"cluster", "up", "--no-nodes", "--profiles", full}, want: []string{"--profiles " + full, "matrix nodes"}},
		"data absent":                      {args: []string{"run", "eks", "--data", absent}, want: []string{"data directory " + absent}},
		"data without a registry":          {args: []string{"bundle", "eks", "-o", absent, "--data", full}, want: []string{full + "/registry.yaml", "has no registry.yaml"}},
		"data by environment":              {args: []string{"nodes", "eks"}, env: []string{"AICR_ACTION_DATA=" + absent}, want: []string{"data directory " + absent}},
		"charts absent":                    {args: []string{"run", "eks", "--charts", absent}, want: []string{"--charts", absent, "simulated"}},
		"charts empty":                     {args: []string{"run", "eks", "--charts", ""}, want: []string{"--charts", "simulated"}},
		"output format":                    {args: []string{"run", "eks", "-o", "xml"}, want: []string{`"xml"`, "table or json"}},
		"parallel negative":                {args: []string{"run", "eks", "--parallel", "-1"}, want: []string{"--parallel -1"}},
		"parallel no number":               {args: []string{"run", "eks", "--parallel", "many"}, want: []string{`--parallel "many": want a whole number`}},
		"duration without a unit":          {args: []string{"run", "eks", "--job-timeout", "20"}, want: []string{`--job-timeout "20": want a duration, e.g. 20m`}},
		"switch with a word":               {args: []string{"run", "eks", "--drift=maybe"}, want: []string{`--drift "maybe": want true or false`}},
		"ahead negative":                   {args: []string{"run", "eks", "--ahead", "-1"}, want: []string{"--ahead -1"}},
		"ahead with one port":              {args: []string{"run", "eks", "--ahead", "1"}, env: []string{"KWOK_REGISTRY_HOST_PORT=5500"}, want: []string{"--ahead 1", "KWOK_REGISTRY_HOST_PORT"}},
		"ahead on kind":                    {args: []string{"run", "eks", "--ahead", "1", "--platform", "kind"}, want: []string{"--ahead 1", "--platform kind"}},
		"ahead in one cluster":             {args: []string{"run", "eks", "--ahead", "1", "--platform", "kind", "--reuse-cluster"}, want: []string{"--ahead 1", "--reuse-cluster"}},
		"controller without probes":        {args: []string{"run", "h100-eks-ubuntu-training-kubeflow", "--controller", "trainer"}, want: []string{"--controller trainer", "none without --probes"}},
		"controller unknown":               {args: []string{"run", "h100-eks-ubuntu-training-kubeflow", "--probes", "--controller", "kai"}, want: []string{`--controller: there is no controller "kai"; there are: [jobset trainer]`}},
		"controller without a job":         {args: []string{"run", "eks-training", "-d", "helm", "--probes", "--controller", "trainer"}, want: []string{"--controller trainer: no probe of eks-training has a job for it"}},
		"controller of another's jobs":     {args: []string{"run", "h100-eks-ubuntu-training-kubeflow", "-d", "helm", "--probes", "--controller", "jobset"}, want: []string{"--controller jobset: no probe of h100-eks-ubuntu-training-kubeflow has a job for it"}},
		"controller on kind":               {args: []string{"run", "h100-eks-ubuntu-training-kubeflow", "--probes", "--controller", "trainer", "--platform", "kind"}, want: []string{"--controller", "--platform kind"}},
		"controller, why-run":              {args: []string{"why-run", "eks-training/helm", "--reuse", full, "--controller", "trainer"}, want: []string{"none without --probes"}},
		"parallel with one port":           {args: []string{"run", "eks", "--parallel", "2"}, env: []string{"KWOK_REGISTRY_HOST_PORT=5500"}, want: []string{"--parallel 2", "KWOK_REGISTRY_HOST_PORT"}},
		"port no number":                   {args: []string{"run", "eks"}, env: []string{"KWOK_REGISTRY_HOST_PORT=abc"}, want: []string{`KWOK_REGISTRY_HOST_PORT="abc"`, "1 to 65535"}},
		"port too high":                    {args: []string{"run", "eks"}, env: []string{"KWOK_REGISTRY_HOST_PORT=65536"}, want: []string{`KWOK_REGISTRY_HOST_PORT="65536"`}},
		"port zero":                        {args: []string{"run", "eks"}, env: []string{"KWOK_REGISTRY_HOST_PORT=0"}, want: []string{`KWOK_REGISTRY_HOST_PORT="0"`}},
		"budget negative":                  {args: []string{"run", "eks"}, env: []string{"KWOK_ARGOCD_SYNC_TIMEOUT=-1"}, want: []string{`KWOK_ARGOCD_SYNC_TIMEOUT="-1"`, "seconds"}},
		"budget with a unit":               {args: []string{"run", "eks"}, env: []string{"KWOK_FLUX_ROOT_GRACE=30s"}, want: []string{`KWOK_FLUX_ROOT_GRACE="30s"`}},
		"plain controllers, unclear":       {args: []string{"run", "eks"}, env: []string{"AICR_ACTION_PLAIN_CONTROLLERS=perhaps"}, want: []string{`AICR_ACTION_PLAIN_CONTROLLERS="perhaps"`, "true or false"}},
		"strikes below zero":               {args: []string{"run", "eks", "--max-strikes", "-1"}, want: []string{"--max-strikes -1"}},
		"job timeout too short":            {args: []string{"run", "eks", "--job-timeout", "5m"}, want: []string{"--job-timeout 5m", "at least 6m"}},
		"deadline no number":               {args: []string{"run", "eks"}, env: []string{"KWOK_SYNC_DEADLINE_EPOCH=soon"}, want: []string{`KWOK_SYNC_DEADLINE_EPOCH="soon"`, "1970"}},
		"cluster name a path":              {args: []string{"cluster", "up", "--name", "../mine"}, want: []string{`"../mine"`, "RFC 1123"}},
		"cluster name a path, run":         {args: []string{"run", "eks"}, env: []string{"KWOK_CLUSTER=a/b"}, want: []string{`"a/b"`, "RFC 1123"}},
		"unknown flag":                     {args: []string{"run", "eks", "--deployers", "helm"}, want: []string{"--deployers", "did you mean --deployer?", "matrix run --help"}},
		"unknown verb":                     {args: []string{"runs"}, want: []string{`"runs" (did you mean "run"?)`}},
		"unknown global flag":              {args: []string{"--frobnicate"}, want: []string{"--frobnicate"}},
		"flag without a value":             {args: []string{"run", "--charts"}, want: []string{"--charts"}},
		"cluster without a verb":           {args: []string{"cluster"}, want: []string{"up", "down", "status", "kubeconfig"}},
		"cluster with another verb":        {args: []string{"cluster", "restart"}, want: []string{"restart"}},
		"cluster verb with an argument":    {args: []string{"cluster", "down", "mine"}, want: []string{"mine"}},
		"cluster down, no such":            {args: []string{"cluster", "down", "--name", "mine"}, want: []string{`no cluster named "mine"`, "there are none"}},
		"cluster down, default name":       {args: []string{"cluster", "down"}, env: []string{"KWOK_CLUSTER=other"}, want: []string{`"other"`}},
		"cluster kubeconfig, no such":      {args: []string{"cluster", "kubeconfig", "--name", "mine"}, want: []string{`no cluster named "mine"`, "matrix cluster up"}},
		"cluster status format":            {args: []string{"cluster", "status", "-o", "xml"}, want: []string{`"xml"`, "table, json or name"}},
		"stack without a verb":             {args: []string{"stack"}, want: []string{"build", "path"}},
		"nodes without a recipe":           {args: []string{"nodes"}, want: []string{"matrix nodes --help"}},
		"nodes, no such cluster":           {args: []string{"nodes", "eks"}, want: []string{"no cluster named"}},
		"nodes, unknown recipe":            {args: []string{"nodes", "nonsense"}, want: recipes},
		"explain unknown code":             {args: []string{"explain", "99"}, want: []string{`"99"`, "50, 51, 52", "128+n"}},
		"explain unknown name":             {args: []string{"explain", "SINC"}, want: []string{`"SINC"`}},
		"explain two":                      {args: []string{"explain", "1", "2"}, want: []string{"matrix explain --help"}},
		"version format":                   {args: []string{"version", "-o", "yaml"}, want: []string{`"yaml"`, "table or json"}},
		"bundle without a recipe":          {args: []string{"bundle"}, want: []string{"matrix bundle --help"}},
		"bundle unknown recipe":            {args: []string{"bundle", "nonsense", "-o", absent}, want: recipes},
		"bundle unknown deployer":          {args: []string{"bundle", "eks", "-o", absent, "--deployer", "argo"}, want: append([]string{`"argo"`}, deployers...)},
		"bundle for all":                   {args: []string{"bundle", "eks", "-o", absent, "--deployer", "all"}, want: append([]string{`"all"`}, deployers...)},
		"bundle without a directory":       {args: []string{"bundle", "eks"}, want: []string{"--to"}},
		"bundle to a full directory":       {args: []string{"bundle", "eks", "-o", full}, want: []string{full, "empty"}},
		"bundle to a file":                 {args: []string{"bundle", "eks", "-o", filepath.Join(full, "mine.txt")}, want: []string{"mine.txt"}},
		"bundle with a bad toleration":     {args: []string{"bundle", "eks", "-o", absent, "--system-node-toleration", "=:"}, want: []string{"--system-node-toleration"}},
		"bundle for two sorts of nodes":    {args: []string{"bundle", "eks", "-o", absent, "--simulated-nodes", "--accelerated-node-selector", "a=b"}, want: []string{"--simulated-nodes", "--accelerated-node-selector"}},
		"bundle without an address":        {args: []string{"bundle", "eks", "-o", absent, "--deployer", "argocd-oci"}, want: []string{"--repo-url"}},
		"bundle without its charts":        {args: []string{"bundle", "eks", "-o", absent, "--charts", full}, code: 52, want: []string{"recipes/overlays/", "is not in chart source dir:" + full}},
		"settings absent":                  {args: []string{"run", "eks", "--settings", absent}, code: 10, want: []string{absent}},
		"settings absent, by environment":  {args: []string{"version"}, env: []string{"AICR_ACTION_SETTINGS=" + absent}, code: 10, want: []string{absent}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			if tc.code == 0 {
				tc.code = 2
			}
			invoke(t, tc.env, tc.args...).want(t, tc.code, append([]string{"matrix: "}, tc.want...)...)
		})
	}
	if _, err := os.Stat(absent); err == nil {
		t.Errorf("a bundle that was refused was written to %s", absent)
	}
	if entries, _ := os.ReadDir(full); len(entries) != 1 {
		t.Errorf("a bundle that was refused was written to %s", full)
	}
}

// Every command that reads a broken recipes directory rejects it with file and line.
func TestBadRecipes(t *testing.T) {
	tests := map[string]struct {
		file     string
		from, to string
		at       string // a text in the line that the message must name, after the change; "" if the file as a whole
		want     []string
	}{
		"malformed overlay": {"overlays/eks.yaml", "base: base", "base: [base", "", []string{"malformed YAML"}},
		"unknown field":     {"overlays/eks.yaml", "      version: 2.55.0", "      verison: 2.55.0", "verison", []string{"verison", `did you mean "version"?`}},
		"wrong type":        {"overlays/eks.yaml", "service: eks", "service: [eks]", "service: [eks]", nil},
		"missing base":      {"overlays/eks-training.yaml", "base: eks", "base: esk", "base: esk", []string{"esk"}},
		"cycle of bases":    {"overlays/eks.yaml", "base: base", "base: eks-training", "base: eks-training", []string{"eks-training"}},
		"cycle of components": {"overlays/base.yaml", "      valuesFile: components/cert-manager/values.yaml",
			"      valuesFile: components/cert-manager/values.yaml\n      dependencyRefs: [nvsentinel]", "", []string{"cert-manager", "nvsentinel"}},
		"unknown dependency":            {"overlays/base.yaml", "        - kube-prometheus-stack\n      expectedResources:", "        - kube-prometheus-stak\n      expectedResources:", "kube-prometheus-stak", []string{"kube-prometheus-stak"}},
		"missing values file":           {"overlays/base.yaml", "valuesFile: components/cert-manager/values.yaml", "valuesFile: components/cert-manager/absent.yaml", "absent.yaml", []string{"absent.yaml"}},
		"values file outside":           {"overlays/base.yaml", "valuesFile: components/cert-manager/values.yaml", "valuesFile: ../../etc/passwd", "../../etc/passwd", nil},
		"malformed values":              {"components/cert-manager/values.yaml", "replicaCount: 1", "replicaCount: 1\n  x: y", "", nil},
		"missing manifest":              {"overlays/eks-training.yaml", "manifests/tuning.yaml", "manifests/absent.yaml", "manifests/absent.yaml", []string{"absent.yaml"}},
		"unknown registry field":        {"registry.yaml", "valueOverrideKeys:", "valueOverideKeys:", "valueOverideKeys", []string{"valueOverideKeys"}},
		"component not in the registry": {"overlays/eks.yaml", "- name: aws-efa", "- name: aws-efs", "- name: aws-efs", []string{"aws-efs"}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			dir := recipesCopy(t)
			file := filepath.Join(dir, filepath.FromSlash(tc.file))
			edit(t, file, tc.from, tc.to)
			place := filepath.ToSlash(file) + ":" // the YAML library counts some lines from 0
			if tc.at != "" {
				place += fmt.Sprintf("%d:", lineOf(t, file, tc.at))
			}
			for _, args := range [][]string{{"run", "eks-training"}, {"bundle", "eks-training", "-o", filepath.Join(t.TempDir(), "out")}} {
				r := invoke(t, nil, append(args, "--recipes-dir", dir)...)
				r.want(t, 2, append([]string{place}, tc.want...)...)
			}
		})
	}
}

func TestBadSettings(t *testing.T) {
	raw, err := os.ReadFile("../../.settings.yaml")
	if err != nil {
		t.Fatal(err)
	}
	shipped := string(raw)
	tests := map[string]struct{ from, to, field string }{
		"go.minimum missing":        {"  minimum:", "  # minimum:", "go.minimum"},
		"nodes.system missing":      {"  system: 2\n", "", "nodes.system"},
		"nodes.system zero":         {"system: 2", "system: 0", "nodes.system"},
		"nodes.accelerated missing": {"  accelerated: 4\n", "", "nodes.accelerated"},
		"registry.hostPort missing": {"  hostPort: 5500", "  {}", "registry.hostPort"},
		"registry.hostPort wrong":   {"hostPort: 5500", "hostPort: many", "hostPort"},
		"cluster.name missing":      {"  name: aicr-kwok-test", `  name: ""`, "cluster.name"},
		"unknown field":             {"nodes:\n", "nodes:\n  colour: green\n", "colour"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			if !strings.Contains(shipped, tc.from) {
				t.Fatalf(".settings.yaml has no %q any more: fix this test", tc.from)
			}
			file := filepath.Join(t.TempDir(), "settings.yaml")
			if err := os.WriteFile(file, []byte(strings.Replace(shipped, tc.from, tc.to, 1)), 0o644); err != nil {
				t.Fatal(err)
			}
			invoke(t, nil, "run", "eks", "--settings", file).want(t, 10, file, tc.field, "SETTINGS_INVALID", "matrix explain 10")
			invoke(t, []string{"AICR_ACTION_SETTINGS=" + file}, "version").want(t, 10, tc.field)
		})
	}
	invoke(t, nil, "explain", "10", "--settings", "../../.settings.yaml").want(t, 0)
}
