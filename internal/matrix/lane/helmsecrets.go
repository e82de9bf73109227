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
	return storage.Init(driver.NewSecrets(releaseSecrets{secrets}))
}

// releaseSecrets are the Secrets from which Helm reads releases.
type releaseSecrets struct{ typedcorev1.SecretInterface }

func (s releaseSecrets) Get(ctx context.Context, name string, opts metav1.GetOptions) (*corev1.Secret, error) {
	secret, err := s.SecretInterface.Get(ctx, name, opts)
	if err == nil {
		err = checkRelease(secret)
	}
	if err != nil {
		return nil, err
	}
	return secret, nil
}

func (s releaseSecrets) List(ctx context.Context, opts metav1.ListOptions) (*corev1.SecretList, error) {
	list, err := s.SecretInterface.List(ctx, opts)
	if err != nil {
		return nil, err
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
