package lane

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"errors"
	"strings"
	"testing"

	helmrelease "helm.sh/helm/v3/pkg/release"
	"helm.sh/helm/v3/pkg/storage/driver"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"

	"github.com/nvidia/aicr-action/internal/result/reason"
)

// packed is a release as Helm stores it, of n blanks in a JSON object.
func packed(t *testing.T, n int) []byte {
	t.Helper()
	var out bytes.Buffer
	zipped := gzip.NewWriter(&out)
	blanks := bytes.Repeat([]byte(" "), 1<<20)
	_, err := zipped.Write([]byte(`{"name":"x","version":1,"info":{}`))
	for ; n > 0 && err == nil; n -= len(blanks) {
		_, err = zipped.Write(blanks[:min(n, len(blanks))])
	}
	if err == nil {
		_, err = zipped.Write([]byte("}"))
	}
	if err != nil || zipped.Close() != nil {
		t.Fatal(err)
	}
	return []byte(base64.StdEncoding.EncodeToString(out.Bytes()))
}

// A recipe's Secret that claims to be a release must not fill the memory of a program that lists
// releases.
func TestStorage_LargeRelease(t *testing.T) {
	secret := func(name string, release []byte) *corev1.Secret {
		return &corev1.Secret{
			ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: name, Labels: map[string]string{"owner": "helm", "name": "x"}},
			Data:       map[string][]byte{"release": release},
		}
	}
	small := secret("sh.helm.release.v1.x.v1", packed(t, 0))
	client := fake.NewClientset(small)
	if all, err := helmStorage(client.CoreV1().Secrets("")).ListReleases(); err != nil || len(all) != 1 {
		t.Errorf("a small one: got %v, %v", all, err)
	}
	large := secret("sh.helm.release.v1.x.v2", packed(t, mostRelease))
	if len(large.Data["release"]) > 1<<20 {
		t.Fatalf("the bomb has %d bytes, more than a Secret can have", len(large.Data["release"]))
	}
	client = fake.NewClientset(small, large)
	_, listed := helmStorage(client.CoreV1().Secrets("")).ListReleases()
	_, got := helmStorage(client.CoreV1().Secrets("a")).Get("x", 2)
	_, history := helmStorage(client.CoreV1().Secrets("a")).History("x")
	for what, err := range map[string]error{"list": listed, "get": got, "history": history} {
		if err == nil || !strings.Contains(err.Error(), "Secret a/sh.helm.release.v1.x.v2 is stored as a Helm release and unpacks to more than 64 MiB") {
			t.Errorf("%s: got %v", what, err)
		}
	}
	if reason.Of(listed) != reason.DeployFailed {
		t.Errorf("the reason is %s", reason.Of(listed))
	}
}

// Whether a release exists is asked once before it is installed, and again once one was stored.
func TestStorage_AskedOnce(t *testing.T) {
	client := fake.NewClientset()
	asked := 0
	client.PrependReactor("list", "secrets", func(clienttesting.Action) (bool, runtime.Object, error) { asked++; return false, nil, nil })
	kept := helmStorage(client.CoreV1().Secrets("a"))
	for range 2 {
		if _, err := kept.Last("x"); !errors.Is(err, driver.ErrReleaseNotFound) || asked != 1 {
			t.Errorf("got %v after %d questions, want none after 1", err, asked)
		}
	}
	if _, err := kept.Last("y"); !errors.Is(err, driver.ErrReleaseNotFound) || asked != 2 {
		t.Errorf("another release: got %v after %d questions, want none after 2", err, asked)
	}
	if err := kept.Create(&helmrelease.Release{Name: "y", Namespace: "a", Version: 1, Info: &helmrelease.Info{}}); err != nil {
		t.Fatal(err)
	}
	for n := range 2 {
		if rel, err := kept.Last("y"); err != nil || rel.Version != 1 || asked != n+3 {
			t.Errorf("once it is stored: got %v, %v after %d questions, want it after %d", rel, err, asked, n+3)
		}
	}
}
