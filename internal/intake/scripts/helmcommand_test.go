package scripts

import (
	"reflect"
	"strings"
	"testing"
)

func TestArguments(t *testing.T) {
	for line, want := range map[string]int{
		"helm upgrade --install a ./a --wait": 3, "helm install a ./a": 2, "helm upgrade a ./a": 0, "helm list": 0, "kubectl apply -f x.yaml": 0, "helm install a": 0,
	} {
		if got := HelmArguments(strings.Fields(line)); len(got) != want {
			t.Errorf("%s: got %q", line, got)
		}
	}
}

func TestHelmCommand_Read(t *testing.T) {
	for line, tc := range map[string]struct {
		want HelmInstall
		err  string
	}{
		"a c --namespace n --version=1.0.0 --repo r -f one.yaml --values two.yaml --timeout 5m --wait": {want: HelmInstall{Name: "a", Chart: "c", Namespace: "n", Version: "1.0.0", Repo: "r", Files: []string{"one.yaml", "two.yaml"}}},
		"a c --set x=y":   {err: "helm flag --set is not understood"},
		"a c --namespace": {err: "helm flag --namespace has no value"},
		"a":               {err: "want the name of a release and a chart"},
	} {
		got, err := ReadHelmInstall(strings.Fields(line))
		if tc.err != "" {
			if err == nil || !strings.Contains(err.Error(), tc.err) {
				t.Errorf("%s: got %v, want %s", line, err, tc.err)
			}
			continue
		}
		if err != nil || !reflect.DeepEqual(got, tc.want) {
			t.Errorf("%s: got %+v, %v", line, got, err)
		}
	}
	if _, err := ReadHelmInstall([]string{"a", ""}); err == nil || !strings.Contains(err.Error(), "release a has no chart") {
		t.Errorf("without a chart: got %v", err)
	}
}

func TestChanges(t *testing.T) {
	for line, want := range map[string]bool{"": false, "--wait --timeout 5m --kube-context=x": false, "--kubeconfig f --set a=b": true, "--set a=b": true, "x": true} {
		if got := ChangesCluster(strings.Fields(line)); got != want {
			t.Errorf("%q: got %v", line, got)
		}
	}
}
