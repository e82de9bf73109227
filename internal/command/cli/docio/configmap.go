package docio

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/util/retry"

	"github.com/nvidia/aicr-action/internal/result/reason"
	"github.com/nvidia/aicr-action/internal/util/httpstatus"
)

const mapScheme = "cm://"

// mostMap is what the API server takes in one ConfigMap, keys and values, in bytes.
const mostMap = 1 << 20

// Labels of the ConfigMaps that are written. One without the first is another program's, and is
// never replaced.
const (
	nameLabel      = "app.kubernetes.io/name"
	componentLabel = "app.kubernetes.io/component"
	program        = "aicr"
)

// splitMap reads cm://NAMESPACE/NAME.
func splitMap(address string) (namespace, name string, err error) {
	namespace, name, ok := strings.Cut(strings.TrimPrefix(address, mapScheme), "/")
	problem := ""
	switch {
	case !ok || namespace == "" || name == "":
		problem = "want cm://NAMESPACE/NAME"
	case len(validation.IsDNS1123Label(namespace)) > 0:
		problem = fmt.Sprintf("%q cannot be a namespace", namespace)
	case len(validation.IsDNS1123Subdomain(name)) > 0:
		problem = fmt.Sprintf("%q cannot be the name of a ConfigMap", name)
	default:
		return namespace, name, nil
	}
	return "", "", reason.New(reason.Usage, "address %s: %s", address, problem)
}

// NewConfig is how to connect to the cluster of a kubeconfig: the file that is given, else
// KUBECONFIG, else ~/.kube/config, else the cluster in whose pod this program runs.
func NewConfig(kubeconfig string) (*rest.Config, error) {
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = kubeconfig
	config, err := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, &clientcmd.ConfigOverrides{}).ClientConfig()
	switch {
	case clientcmd.IsEmptyConfig(err):
		return nil, reason.New(reason.ClusterAccess, "no cluster is configured: name a kubeconfig with --kubeconfig or in KUBECONFIG")
	case err != nil:
		return nil, reason.New(reason.ClusterAccess, "read the kubeconfig: %w", err)
	}
	config.UserAgent = "aicr-action"
	return config, nil
}

// NewClient connects to the cluster of a kubeconfig, as NewConfig finds it.
func NewClient(kubeconfig string) (kubernetes.Interface, error) {
	config, err := NewConfig(kubeconfig)
	if err != nil {
		return nil, err
	}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, reason.New(reason.ClusterAccess, "read the kubeconfig: %w", err)
	}
	return client, nil
}

func (p Places) client() (kubernetes.Interface, error) {
	if p.Client == nil {
		return nil, reason.New(reason.ClusterAccess, "no cluster is configured")
	}
	return p.Client()
}

// readMap reads the document in a ConfigMap: under the kind's own key (recipe.yaml or recipe.json),
// or the only key that can be a document.
func (p Places) readMap(ctx context.Context, kind Kind, address string) ([]byte, error) {
	namespace, name, err := splitMap(address)
	if err != nil {
		return nil, err
	}
	client, err := p.client()
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, p.timeout())
	defer cancel()
	m, err := client.CoreV1().ConfigMaps(namespace).Get(ctx, name, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		return nil, reason.Wrap(reason.Usage, httpstatus.With(http.StatusNotFound, fmt.Errorf("read the %s from %s: there is no such ConfigMap; check the name with `kubectl get configmaps -n %s`", kind, address, namespace)))
	case err != nil:
		return nil, p.refused(ctx, "read the "+string(kind)+" from", "get", address, namespace, name, err)
	}
	var documents []string
	for _, key := range slices.Sorted(maps.Keys(m.Data)) {
		if key == string(kind)+".yaml" || key == string(kind)+".json" {
			return []byte(m.Data[key]), nil
		}
		if strings.HasSuffix(key, ".yaml") || strings.HasSuffix(key, ".yml") || strings.HasSuffix(key, ".json") {
			documents = append(documents, key)
		}
	}
	if len(documents) != 1 {
		return nil, reason.New(reason.Usage, "the ConfigMap %s has no key %s.yaml; it has %s", address, kind, listed(slices.Sorted(maps.Keys(m.Data))))
	}
	return []byte(m.Data[documents[0]]), nil
}

// writeMap puts the document into a ConfigMap of that name, which is made or, if this program or
// AICR's own made it, replaced.
func (p Places) writeMap(ctx context.Context, kind Kind, address, format string, data []byte) error {
	namespace, name, err := splitMap(address)
	if err != nil {
		return err
	}
	key := string(kind) + "." + format
	if size := len(key) + len(data) + len("format") + len(format); size > mostMap {
		return reason.New(reason.Usage, "write the %s to %s: it has %d KiB, and a ConfigMap holds at most %d KiB; write it to a file", kind, address, (size+1023)>>10, mostMap>>10)
	}
	client, err := p.client()
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, p.timeout())
	defer cancel()
	maps := client.CoreV1().ConfigMaps(namespace)
	verb := "get"
	err = retry.RetryOnConflict(retry.DefaultRetry, func() error {
		have, err := maps.Get(ctx, name, metav1.GetOptions{})
		verb = "get"
		made := apierrors.IsNotFound(err)
		if err != nil && !made {
			return err
		}
		if !made && have.Labels[nameLabel] != program {
			return &foreignError{}
		}
		if made {
			have = &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
		}
		if have.Labels == nil {
			have.Labels = map[string]string{}
		}
		have.Labels[nameLabel], have.Labels[componentLabel] = program, string(kind)
		have.Data, have.BinaryData = map[string]string{key: string(data), "format": format}, nil
		if made {
			verb = "create"
			_, err = maps.Create(ctx, have, metav1.CreateOptions{})
			return err
		}
		verb = "update"
		_, err = maps.Update(ctx, have, metav1.UpdateOptions{})
		return err
	})
	var foreign *foreignError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &foreign):
		return reason.New(reason.Usage, "write the %s to %s: a ConfigMap of that name exists, and was not written by aicr (it has no label %s=%s); choose another name, or delete it", kind, address, nameLabel, program)
	case verb == "create" && apierrors.IsNotFound(err):
		return reason.Wrap(reason.Usage, httpstatus.With(http.StatusNotFound, fmt.Errorf("write the %s to %s: the namespace %s does not exist; create it with `kubectl create namespace %s`", kind, address, namespace, namespace)))
	}
	return p.refused(ctx, "write the "+string(kind)+" to", verb, address, namespace, name, err)
}

// foreignError says that a ConfigMap is another program's.
type foreignError struct{}

func (*foreignError) Error() string { return "it is another program's" }

// refused says why the API server did not do it.
func (p Places) refused(ctx context.Context, what, verb, address, namespace, name string, err error) error {
	switch {
	case apierrors.IsForbidden(err):
		return reason.New(reason.ClusterAccess, "%s %s: not allowed: %w; check `kubectl auth can-i %s configmaps -n %s`, and ask for a Role with that verb", what, address, err, verb, namespace)
	case apierrors.IsUnauthorized(err):
		return reason.New(reason.ClusterAccess, "%s %s: the cluster does not accept the login of the kubeconfig: %w; log in again", what, address, err)
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		return reason.Wrap(reason.ClusterAccess, httpstatus.With(http.StatusGatewayTimeout, fmt.Errorf("%s %s: the cluster did not answer within %s; check the kubeconfig's server, the network and the VPN", what, address, p.timeout())))
	case ctx.Err() != nil:
		return context.Cause(ctx)
	}
	return reason.New(reason.ClusterAccess, "%s %s: %s configmap %s/%s: %w", what, address, verb, namespace, name, err)
}

func listed(names []string) string {
	if len(names) == 0 {
		return "no keys"
	}
	return strings.Join(names, ", ")
}
