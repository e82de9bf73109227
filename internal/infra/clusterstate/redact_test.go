package clusterstate

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/release"
	"helm.sh/helm/v3/pkg/storage"
	"helm.sh/helm/v3/pkg/storage/driver"
	helmtime "helm.sh/helm/v3/pkg/time"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"
)

// hush must not be anywhere in a snapshot, in no encoding.
const hush = "tr0ub4dor-and-3-horses"

// stored is a Secret as the API server stores it.
func stored(t *testing.T, s *corev1.Secret) []byte {
	t.Helper()
	r, err := newRedactor()
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := r.encoder.Encode(s, &out); err != nil {
		t.Fatal(err)
	}
	if !bytes.HasPrefix(out.Bytes(), []byte("k8s\x00")) {
		t.Fatalf("a stored Secret begins with %q, want the envelope of the API server", out.Bytes()[:4])
	}
	return out.Bytes()
}

func redactOne(t *testing.T, raw []byte) *corev1.Secret {
	t.Helper()
	r, err := newRedactor()
	if err != nil {
		t.Fatal(err)
	}
	out, err := r.redact(raw)
	if err != nil {
		t.Fatal(err)
	}
	wantHushed(t, "a redacted Secret", out)
	obj, _, err := r.decoder.Decode(out, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	return obj.(*corev1.Secret)
}

func wantHushed(t *testing.T, what string, raw []byte) {
	t.Helper()
	for _, form := range forms(hush) {
		if bytes.Contains(raw, form) {
			t.Errorf("%s has the value as %q", what, form)
		}
	}
}

// forms are a value, and what base64 makes of it wherever in a longer text it stands.
func forms(value string) [][]byte {
	all := [][]byte{[]byte(value), []byte(hex.EncodeToString([]byte(value)))}
	for shift := range 3 {
		encoded := base64.StdEncoding.EncodeToString([]byte(strings.Repeat("x", shift) + value))
		all = append(all, []byte(encoded[4:len(encoded)-4]))
	}
	return all
}

func TestRedactSecret(t *testing.T) {
	lastApplied := `{"apiVersion":"v1","kind":"Secret","data":{"password":"` + base64.StdEncoding.EncodeToString([]byte("an older value")) + `"}}`
	for _, kind := range []corev1.SecretType{
		corev1.SecretTypeOpaque, corev1.SecretTypeServiceAccountToken, corev1.SecretTypeBootstrapToken, corev1.SecretTypeTLS, corev1.SecretTypeDockerConfigJson, helmType,
	} {
		s := redactOne(t, stored(t, &corev1.Secret{
			ObjectMeta: metav1.ObjectMeta{Name: "s", Namespace: "n", Labels: map[string]string{"app": "a"}, UID: "u", Annotations: map[string]string{
				"kubectl.kubernetes.io/last-applied-configuration": lastApplied, "note": "the password is " + hush,
				"note64": base64.StdEncoding.EncodeToString([]byte(hush)), "tracking-id": "nvidia-stack:apps/Deployment",
			}},
			Type: kind,
			Data: map[string][]byte{"password": []byte(hush), "tls.key": []byte("-----BEGIN " + hush), "release": []byte("no release: " + hush), "empty": {}},
		}))
		if string(s.Data["password"]) != Redacted || string(s.Data["tls.key"]) != Redacted || string(s.Data["release"]) != Redacted || len(s.Data) != 4 || len(s.Data["empty"]) > 0 {
			t.Errorf("%s: got %q, want each key, its value replaced unless it was empty", kind, s.Data)
		}
		if len(s.Annotations) != 1 || s.Annotations["tracking-id"] == "" {
			t.Errorf("%s: annotations %v, want the one that tells nothing", kind, s.Annotations)
		}
		if s.Type != kind || s.Name != "s" || s.Namespace != "n" || s.UID != "u" || s.Labels["app"] != "a" {
			t.Errorf("%s: got %+v, want everything else as it was", kind, s)
		}
	}
}

func TestRedact_JSON(t *testing.T) {
	s := redactOne(t, []byte(`{"apiVersion":"v1","kind":"Secret","metadata":{"name":"s"},"data":{"k":"`+base64.StdEncoding.EncodeToString([]byte(hush))+`"}}`))
	if string(s.Data["k"]) != Redacted {
		t.Errorf("got %q", s.Data)
	}
}

// A Secret that cannot be decoded is left out of the snapshot, since its content is unknown.
func TestRedact_Undecodable(t *testing.T) {
	good := stored(t, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "good"}, Data: map[string][]byte{"k": []byte(hush)}})
	s := &Snapshot{Info: Info{Format: Format, About: About{Cluster: "c"}}}
	err := s.add([]Record{
		{Key: "/registry/secrets/n/encrypted", Value: []byte("k8s:enc:aescbc:v1:key1:" + hush), written: 3},
		{Key: "/registry/secrets/n/cut", Value: good[:len(good)-3], written: 4},
		{Key: "/registry/secrets/n/another-kind", Value: []byte(`{"apiVersion":"v1","kind":"ConfigMap","data":{"k":"` + hush + `"}}`), written: 5},
		{Key: "/registry/secrets/n/good", Value: good, written: 2},
		{Key: "/registry/pods/n/p", Value: []byte("a pod"), written: 1},
	})
	if err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(s.LeftOut, " "); got != "/registry/secrets/n/encrypted /registry/secrets/n/cut /registry/secrets/n/another-kind" {
		t.Errorf("left out: %s", got)
	}
	if len(s.Records) != 2 || s.Keys != 2 || s.Secrets != 1 || s.Records[0].Key != "/registry/pods/n/p" {
		t.Errorf("got %d records, %+v; want the two others, the older first", len(s.Records), s.Info)
	}
	wantFileHushed(t, s)
}

// wantFileHushed fails the test if the file has the value, packed or unpacked.
func wantFileHushed(t *testing.T, s *Snapshot) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "x"+FileSuffix)
	if err := s.WriteFile(path); err != nil {
		t.Fatal(err)
	}
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	wantHushed(t, "the file", raw)
	back, err := ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range back.Records {
		wantHushed(t, r.Key, r.Value)
	}
}

// helmManifest has a Secret in every place in which a chart can put one.
const helmManifest = `---
# Source: app/templates/config.yaml
apiVersion: v1
kind: ConfigMap   # kept to the letter
metadata: {name: config}
---
# Source: app/templates/secret.yaml
apiVersion: v1
kind: Secret
metadata:
  name: app
  annotations: {example.com/copy: ` + hush + `, helm.sh/resource-policy: keep}
data:
  password: BASE64
stringData:
  token: ` + hush + `
  empty: ""
--- # a comment
apiVersion: v1
kind: List
items:
- apiVersion: v1
  kind: Secret
  metadata: {name: in-a-list}
  stringData: {token: ` + hush + `}
---
this: is: not YAML, and has ` + hush + `
`

// A release is written by Helm's own code and read by it again.
func TestRedactRelease(t *testing.T) {
	secret := strings.ReplaceAll(helmManifest, "BASE64", base64.StdEncoding.EncodeToString([]byte(hush)))
	when := helmtime.Time{Time: time.Date(2026, 7, 1, 12, 0, 0, 0, time.UTC)}
	rel := &release.Release{
		Name: "app", Namespace: "n", Version: 3, Config: map[string]any{"password": hush, "replicas": 2},
		Info: &release.Info{FirstDeployed: when, LastDeployed: when, Status: release.StatusFailed, Description: "failed post-install: timed out", Notes: "Log in with " + hush},
		Chart: &chart.Chart{
			Metadata: &chart.Metadata{APIVersion: "v2", Name: "app", Version: "1.2.3", AppVersion: "4"}, Values: map[string]any{"password": hush},
			Templates: []*chart.File{{Name: "templates/x.yaml", Data: []byte(hush)}}, Files: []*chart.File{{Name: "key.pem", Data: []byte(hush)}},
		},
		Manifest: secret,
		Hooks:    []*release.Hook{{Name: "job", Kind: "Secret", Path: "app/templates/hook.yaml", Manifest: secret, Weight: 5, Events: []release.HookEvent{release.HookPostInstall}}},
	}
	kube := fake.NewClientset()
	if err := storage.Init(driver.NewSecrets(kube.CoreV1().Secrets("n"))).Create(rel); err != nil {
		t.Fatal(err)
	}
	list, err := kube.CoreV1().Secrets("n").List(t.Context(), metav1.ListOptions{})
	if err != nil || len(list.Items) != 1 {
		t.Fatalf("got %v, %v; want Helm's one Secret", list, err)
	}
	s := &Snapshot{Info: Info{Format: Format, About: About{Cluster: "c"}}}
	if err := s.add([]Record{{Key: "/registry/secrets/n/" + list.Items[0].Name, Value: stored(t, &list.Items[0])}}); err != nil {
		t.Fatal(err)
	}
	wantFileHushed(t, s)

	redacted := redactOne(t, s.Records[0].Value)
	content, err := decodeRelease(redacted.Data["release"])
	if err != nil {
		t.Fatal(err)
	}
	raw, err := json.Marshal(content)
	if err != nil {
		t.Fatal(err)
	}
	wantHushed(t, "the release in it", raw)
	got, err := storage.Init(driver.NewSecrets(fake.NewClientset(redacted).CoreV1().Secrets("n"))).Get("app", 3)
	if err != nil {
		t.Fatalf("Helm does not read it: %v", err)
	}
	if got.Info.Status != release.StatusFailed || got.Info.Description != rel.Info.Description || !got.Info.LastDeployed.Equal(when) || got.Chart.Metadata.Version != "1.2.3" {
		t.Errorf("got %+v of %+v, want what helm list and status print", got.Info, got.Chart.Metadata)
	}
	if got.Info.Notes != Redacted || got.Config[Redacted] == nil || len(got.Config) != 1 || len(got.Chart.Templates)+len(got.Chart.Files)+len(got.Chart.Values) > 0 {
		t.Errorf("notes %q, config %v, chart %+v", got.Info.Notes, got.Config, got.Chart)
	}
	if len(got.Hooks) != 1 || got.Hooks[0].Weight != 5 || got.Hooks[0].Manifest != got.Manifest {
		t.Errorf("hooks: %+v", got.Hooks)
	}
	for _, part := range []string{
		"kind: ConfigMap   # kept to the letter", "# Source: app/templates/secret.yaml\n", "token: " + Redacted, "empty: \"\"", "password: UkVEQUNURUQ=", "name: in-a-list",
		"helm.sh/resource-policy: keep", "# REDACTED: not YAML",
	} {
		if !strings.Contains(got.Manifest, part) {
			t.Errorf("the manifest lacks %q:\n%s", part, got.Manifest)
		}
	}
}
