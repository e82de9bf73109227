package embedded

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"sigs.k8s.io/yaml"

	"github.com/nvidia/aicr-action/internal/infra"
)

// line is an event as the API server writes it.
func line(user, verb, resource, name, subresource string, code int, at time.Time) string {
	return fmt.Sprintf(`{"kind":"Event","apiVersion":"audit.k8s.io/v1","level":"Metadata","stage":"ResponseComplete","verb":%q,"user":{"username":%q,"groups":["system:serviceaccounts"]},"objectRef":{"resource":%q,"namespace":"n","name":%q,"apiGroup":"apps","apiVersion":"v1","subresource":%q},"responseStatus":{"metadata":{},"code":%d},"stageTimestamp":%q}`+"\n",
		verb, user, resource, name, subresource, code, at.UTC().Format("2006-01-02T15:04:05.000000Z"))
}

func TestContested(t *testing.T) {
	const one, two = "system:serviceaccount:a:one", "system:serviceaccount:b:two"
	path := filepath.Join(t.TempDir(), "audit.log")
	l := followWrites(path)
	if all, err := l.Contested(); err != nil || len(all) > 0 {
		t.Fatalf("without a file: %v, %v", all, err)
	}
	now := time.Now()
	text := ""
	for range 3 {
		text += line(one, "update", "statefulsets", "fought", "", 200, now) + line(one, "update", "statefulsets", "fought", "", 200, now)
		text += line(two, "patch", "statefulsets", "fought", "", 200, now)
		text += line(one, "update", "statefulsets", "alone", "", 200, now)
		text += line(one, "update", "statefulsets", "conflicts", "", 200, now) + line(two, "update", "statefulsets", "conflicts", "", 409, now)
		text += line(one, "update", "statefulsets", "parts", "", 200, now) + line(two, "update", "statefulsets", "parts", "status", 200, now)
		text += line(one, "update", "statefulsets", "admin", "", 200, now) + line("kubernetes-admin", "update", "statefulsets", "admin", "", 200, now)
		text += line(one, "update", "statefulsets", "old", "", 200, now.Add(-time.Minute)) + line(two, "update", "statefulsets", "old", "", 200, now.Add(-time.Minute))
	}
	half := len(text) - 20
	if err := os.WriteFile(path, []byte(text[:half]), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := l.Contested(); err != nil {
		t.Fatalf("half a line: %v", err)
	}
	if err := os.WriteFile(path, []byte(text+line(one, "delete", "statefulsets", "fought", "", 200, now)), 0o600); err != nil {
		t.Fatal(err)
	}
	all, err := l.Contested()
	if err != nil || len(all) != 1 {
		t.Fatalf("got %+v, %v; want one", all, err)
	}
	if c := all[0]; c.Name != "fought" || c.Resource.String() != "apps/v1, Resource=statefulsets" || c.Turns != 6 || !slices.Equal(c.Writers, []string{"a/one", "b/two"}) {
		t.Errorf("got %+v", c)
	}
	if err := os.WriteFile(path, []byte(line(two, "update", "statefulsets", "fought", "", 200, now)), 0o600); err != nil { // a new file
		t.Fatal(err)
	}
	if all, err := l.Contested(); err != nil || len(all) != 1 || all[0].Turns != 7 {
		t.Errorf("a new file: %+v, %v", all, err)
	}
	if err := os.WriteFile(path, []byte("no event\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := l.Contested(); err == nil {
		t.Error("a line that is no event is none")
	}
}

func TestPolicy(t *testing.T) {
	var policy map[string]any
	if err := yaml.UnmarshalStrict(writesPolicy(), &policy); err != nil || policy["kind"] != "Policy" {
		t.Errorf("%v, %v", policy, err)
	}
}

// What an account is denied counts as long as it was not allowed once: it asks before its role is there.
func TestDenied(t *testing.T) {
	path := filepath.Join(t.TempDir(), "audit.log")
	const one = "system:serviceaccount:a:one"
	denied := func(user, verb, resource string) string {
		return strings.Replace(line(user, verb, resource, "", "", 403, time.Now()), `"stageTimestamp"`, `"annotations":{"authorization.k8s.io/decision":"forbid"},"stageTimestamp"`, 1)
	}
	text := denied(one, "list", "deployments") + denied(one, "list", "deployments") + denied(one, "list", "deployments")
	text += denied(one, "create", "daemonsets") + line(one, "create", "daemonsets", "x", "", 201, time.Now()) + denied(one, "create", "daemonsets")
	text += line(one, "create", "statefulsets", "x", "", 403, time.Now()) // e.g. by a quota
	text += denied("kubernetes-admin", "list", "replicasets")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	l := followWrites(path)
	all, err := l.Denied()
	if err != nil || len(all) != 1 || all[0] != (infra.Denial{Account: "a/one", Verb: "list", Resource: "deployments.apps", Namespace: "n", Count: 3}) {
		t.Errorf("got %+v, %v", all, err)
	}
	if all, err := l.Contested(); err != nil || len(all) > 0 {
		t.Errorf("reads are contests: %v, %v", all, err)
	}
}
