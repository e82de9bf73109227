package lane

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"helm.sh/helm/v4/pkg/action"
	"helm.sh/helm/v4/pkg/kube"
	"helm.sh/helm/v4/pkg/registry"
	"helm.sh/helm/v4/pkg/storage"
	"helm.sh/helm/v4/pkg/storage/driver"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/cli-runtime/pkg/resource"
	"k8s.io/kubectl/pkg/validation"

	"github.com/nvidia/aicr-action/internal/infra"
)

// applied matches what Helm 4 puts before the API server's error about an object.
var applied = regexp.MustCompile(`server-side apply failed for object /?(\S+) \S+, Kind=([A-Za-z0-9]+): `)

// WithoutObject leaves out what Helm 4 says of the object in a line of an error, if the API server names it too.
func WithoutObject(text string) string {
	m := applied.FindStringSubmatchIndex(text)
	if m == nil {
		return text
	}
	rest := text[m[1]:]
	if strings.Contains(rest, " is invalid: ") || strings.HasPrefix(rest, "failed to create typed patch object ") {
		return text[:m[0]] + rest
	}
	return text[:m[0]] + text[m[4]:m[5]] + " " + text[m[2]:m[3]] + ": " + rest
}

// Config4 returns a client of Helm 4 for one namespace. Objects are applied on the server side, with
// the field manager of the program helm.
func (h *HelmClient) Config4(namespace string) (*action.Configuration, error) {
	getter, secrets, err := h.connect(namespace)
	if err != nil {
		return nil, err
	}
	kube.ManagedFieldsManager = helmManager
	handler := slog.NewTextHandler(lineWriter{h.Log}, &slog.HandlerOptions{Level: slog.LevelDebug})
	cfg := action.NewConfiguration(action.ConfigurationSetLogger(handler))
	if err := cfg.Init(getter, namespace, "secret"); err != nil {
		return nil, fmt.Errorf("make a client of Helm 4 for namespace %s: %w", namespace, err)
	}
	cfg.Releases = storage.Init(driver.NewSecrets(&releaseSecrets{SecretInterface: secrets}))
	cfg.RegistryClient, err = registry.NewClient(
		registry.ClientOptPlainHTTP(), registry.ClientOptCredentialsFile(filepath.Join(h.Dir, "registry.json")), registry.ClientOptWriter(lineWriter{h.Log}),
	)
	if err != nil {
		return nil, fmt.Errorf("make the registry client of Helm 4: %w", err)
	}
	if h.Renders != nil {
		cfg.RESTClientGetter = renderMark{getter, h.Renders}
	}
	kc, ok := cfg.KubeClient.(*kube.Client)
	if !ok {
		return nil, fmt.Errorf("make a client of Helm 4 for namespace %s: its client is a %T", namespace, cfg.KubeClient)
	}
	kc.Factory = onceAsked4{kc.Factory, onceAsked{kc.Factory, getter.ToDiscoveryClient, &h.validates}}
	cfg.KubeClient = client4{kc, h}
	return cfg, nil
}

// onceAsked4 is onceAsked for Helm 4, whose Factory has a method more.
type onceAsked4 struct {
	kube.Factory
	once onceAsked
}

// Validator implements kube.Factory.
func (f onceAsked4) Validator(directive string) (validation.Schema, error) {
	return f.once.Validator(directive)
}

// client4 is Helm 4's client. It passes on what was rendered, and says whose fields are taken over.
type client4 struct {
	*kube.Client
	of *HelmClient
}

// Build implements kube.Interface.
func (c client4) Build(reader io.Reader, validate bool) (kube.ResourceList, error) {
	manifest, err := passOn(reader, c.of.Rendered)
	if err != nil {
		return nil, err
	}
	return c.Client.Build(manifest, validate)
}

// Update implements kube.Interface. Where conflicts are forced, each object that exists is first
// applied in a dry run that does not force them: what it says is reported, and not lost.
func (c client4) Update(originals, targets kube.ResourceList, options ...kube.ClientUpdateOption) (*kube.Result, error) {
	if c.of.TakesOver != nil && c.of.Forces {
		for _, target := range targets {
			if fields := c.contested(target); len(fields) > 0 {
				c.of.TakesOver(infra.APIWarning{
					Object: target.Mapping.GroupVersionKind.Kind + " " + infra.NamespacedName(target.Namespace, target.Name),
					Text:   "Helm 4 takes over, by --force-conflicts, " + strings.Join(fields, ", "),
				})
			}
		}
	}
	return c.Client.Update(originals, targets, options...)
}

// contested are the fields of an object that another manager has set to something else. An error
// that is no conflict is left to Helm.
func (c client4) contested(target *resource.Info) []string {
	text, err := json.Marshal(target.Object)
	if err != nil {
		return nil
	}
	force := false
	_, err = resource.NewHelper(target.Client, target.Mapping).DryRun(true).WithFieldManager(kube.ManagedFieldsManager).
		Patch(target.Namespace, target.Name, types.ApplyPatchType, text, &metav1.PatchOptions{Force: &force})
	var status apierrors.APIStatus
	if !apierrors.IsConflict(err) || !errors.As(err, &status) || status.Status().Details == nil {
		return nil
	}
	var fields []string
	for _, cause := range status.Status().Details.Causes {
		if cause.Type == metav1.CauseTypeFieldManagerConflict {
			fields = append(fields, cause.Field+" of "+strings.TrimPrefix(cause.Message, "conflict with "))
		}
	}
	slices.Sort(fields)
	return fields
}

// GetWaiterWithOptions implements kube.InterfaceWaitOptions. Its waiter waits until the API server serves the
// kinds of CRDs of a chart's crds/. Helm 4 waits for none of them unless it is told to wait for everything, and
// goes on with the templates: whether those have their kinds is a matter of milliseconds, on which no verdict
// can be built.
func (c client4) GetWaiterWithOptions(strategy kube.WaitStrategy, opts ...kube.WaitOption) (kube.Waiter, error) {
	w, err := c.Client.GetWaiterWithOptions(strategy, opts...)
	if err != nil {
		return nil, err
	}
	return waiter4{w}, nil
}

// GetWaiter implements kube.Interface.
func (c client4) GetWaiter(strategy kube.WaitStrategy) (kube.Waiter, error) {
	return c.GetWaiterWithOptions(strategy)
}

type waiter4 struct{ kube.Waiter }

// Wait implements kube.Waiter.
func (w waiter4) Wait(resources kube.ResourceList, timeout time.Duration) error {
	if established(timeout, resources) {
		return nil
	}
	return w.Waiter.Wait(resources, timeout)
}

var _ kube.InterfaceWaitOptions = client4{}
