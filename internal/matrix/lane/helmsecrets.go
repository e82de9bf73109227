package lane

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/base64"
	"io"

	"helm.sh/helm/v3/pkg/storage"
	"helm.sh/helm/v3/pkg/storage/driver"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"

	"github.com/nvidia/aicr-action/internal/infra"
	"github.com/nvidia/aicr-action/internal/result/reason"
)

// mostRelease is the largest unpacked Helm release, in bytes. Helm unpacks any Secret that is
// labelled as a release, to any size, and a recipe can contain one: a megabyte unpacks to a
// thousand.
const mostRelease = 64 << 20

// helmStorage returns Helm's storage in these Secrets. Reading a release that unpacks to more than
// mostRelease is an error: DEPLOY_FAILED.
func helmStorage(secrets typedcorev1.SecretInterface) *storage.Storage {
	return storage.Init(driver.NewSecrets(&releaseSecrets{SecretInterface: secrets}))
}

// releaseSecrets are the Secrets from which Helm reads releases.
type releaseSecrets struct {
	typedcorev1.SecretInterface
	// none is a question that was answered with none, until a release is stored. Helm asks twice whether a
	// release exists before it installs it, and the API server takes 0.1 s to be sure of the second
	// answer: it asks etcd how far its cache is at most ten times a second.
	none string
}

func (s *releaseSecrets) Create(ctx context.Context, secret *corev1.Secret, opts metav1.CreateOptions) (*corev1.Secret, error) {
	s.none = ""
	return s.SecretInterface.Create(ctx, secret, opts)
}

func (s *releaseSecrets) Get(ctx context.Context, name string, opts metav1.GetOptions) (*corev1.Secret, error) {
	secret, err := s.SecretInterface.Get(ctx, name, opts)
	if err == nil {
		err = checkRelease(secret)
	}
	if err != nil {
		return nil, err
	}
	return secret, nil
}

func (s *releaseSecrets) List(ctx context.Context, opts metav1.ListOptions) (*corev1.SecretList, error) {
	if opts.LabelSelector != "" && opts.LabelSelector == s.none {
		return &corev1.SecretList{}, nil
	}
	list, err := s.SecretInterface.List(ctx, opts)
	if err != nil {
		return nil, err
	}
	if s.none = ""; len(list.Items) == 0 {
		s.none = opts.LabelSelector
	}
	for i := range list.Items {
		if err := checkRelease(&list.Items[i]); err != nil {
			return nil, err
		}
	}
	return list, nil
}

// checkRelease rejects a release that is too large. Helm itself rejects one that does not decode.
func checkRelease(secret *corev1.Secret) error {
	packed, err := base64.StdEncoding.DecodeString(string(secret.Data["release"]))
	if err != nil {
		return nil
	}
	unpacked, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		return nil
	}
	if n, _ := io.Copy(io.Discard, io.LimitReader(unpacked, mostRelease+1)); n > mostRelease {
		return reason.New(reason.DeployFailed, "Secret %s is stored as a Helm release and unpacks to more than %d MiB; no release is that large: remove it from the recipe",
			infra.NamespacedName(secret.Namespace, secret.Name), mostRelease>>20)
	}
	return nil
}
