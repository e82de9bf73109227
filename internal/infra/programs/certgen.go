package programs

// certgen.go stands in for kube-webhook-certgen, the program of the Jobs by which charts make
// the certificate of their webhooks: it puts a certificate into a Secret, and the authority of it
// into webhook configurations. It runs as a process of the pod, with the pod's
// ServiceAccount, so that the chart's Role is in force. It knows no chart.

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/spf13/pflag"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/util/cert"

	"github.com/nvidia/aicr-action/internal/util/reexec"
)

// certgenCommand is the hidden command.
const certgenCommand = "webhook-certgen"

// CertgenHidden returns the hidden command.
func CertgenHidden() []reexec.Command {
	return []reexec.Command{{Name: certgenCommand, Run: func(args []string) error {
		config, err := clientcmd.BuildConfigFromFlags("", os.Getenv(clientcmd.RecommendedConfigPathEnvVar))
		if err != nil {
			return fmt.Errorf("%s: %w", certgenCommand, err)
		}
		client, err := kubernetes.NewForConfig(config)
		if err != nil {
			return fmt.Errorf("%s: %w", certgenCommand, err)
		}
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		return runCertgen(ctx, client, args)
	}}}
}

// options are the arguments, by the names that kube-webhook-certgen has for them.
type options struct {
	hosts, namespace, secret  string
	caName, certName, keyName string
	webhook, policy           string
	mutating, validating      bool
}

// runCertgen does what the arguments say: create a Secret, or patch webhook configurations by it.
func runCertgen(ctx context.Context, client kubernetes.Interface, args []string) error {
	var o options
	flags := pflag.NewFlagSet(certgenCommand, pflag.ContinueOnError)
	flags.ParseErrorsAllowlist.UnknownFlags = true // e.g. --log-level; this is a stand-in
	flags.StringVar(&o.hosts, "host", "", "")
	flags.StringVar(&o.namespace, "namespace", "", "")
	flags.StringVar(&o.secret, "secret-name", "", "")
	flags.StringVar(&o.caName, "ca-name", "ca", "")
	flags.StringVar(&o.certName, "cert-name", "cert", "")
	flags.StringVar(&o.keyName, "key-name", "key", "")
	flags.StringVar(&o.webhook, "webhook-name", "", "")
	flags.StringVar(&o.policy, "patch-failure-policy", "", "")
	flags.BoolVar(&o.mutating, "patch-mutating", true, "")
	flags.BoolVar(&o.validating, "patch-validating", true, "")
	if err := flags.Parse(args); err != nil {
		return fmt.Errorf("%s: %w", certgenCommand, err)
	}
	if o.namespace == "" || o.secret == "" {
		return fmt.Errorf("%s: want --namespace and --secret-name", certgenCommand)
	}
	switch flags.Arg(0) {
	case "create":
		return o.create(ctx, client)
	case "patch":
		return o.patch(ctx, client)
	}
	return fmt.Errorf("%s: %q: want create or patch", certgenCommand, flags.Arg(0))
}

// create makes the Secret, unless it exists.
func (o *options) create(ctx context.Context, client kubernetes.Interface) error {
	secrets := client.CoreV1().Secrets(o.namespace)
	_, err := secrets.Get(ctx, o.secret, metav1.GetOptions{})
	if err == nil {
		return nil
	}
	if !apierrors.IsNotFound(err) {
		return fmt.Errorf("read Secret %s/%s: %w", o.namespace, o.secret, err)
	}
	hosts := strings.Split(o.hosts, ",")
	if o.hosts == "" {
		return errors.New("create a certificate: --host names no host")
	}
	certificate, key, err := cert.GenerateSelfSignedCertKey(hosts[0], nil, hosts)
	if err != nil {
		return fmt.Errorf("create a certificate for %s: %w", o.hosts, err)
	}
	_, err = secrets.Create(ctx, &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Name: o.secret}, Data: map[string][]byte{o.caName: certificate, o.certName: certificate, o.keyName: key},
	}, metav1.CreateOptions{})
	if err != nil && !apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("create Secret %s/%s: %w", o.namespace, o.secret, err)
	}
	return nil
}

// patch writes the authority of the Secret's certificate into the webhook configurations.
func (o *options) patch(ctx context.Context, client kubernetes.Interface) error {
	secret, err := client.CoreV1().Secrets(o.namespace).Get(ctx, o.secret, metav1.GetOptions{})
	if err != nil {
		return fmt.Errorf("read Secret %s/%s: %w", o.namespace, o.secret, err)
	}
	authority := secret.Data[o.caName]
	if len(authority) == 0 {
		return fmt.Errorf("read the authority: Secret %s/%s has no key %s", o.namespace, o.secret, o.caName)
	}
	if o.mutating {
		if err := o.patchMutating(ctx, client, authority); err != nil {
			return err
		}
	}
	if !o.validating {
		return nil
	}
	configurations := client.AdmissionregistrationV1().ValidatingWebhookConfigurations()
	c, err := configurations.Get(ctx, o.webhook, metav1.GetOptions{})
	if err != nil {
		return fmt.Errorf("read ValidatingWebhookConfiguration %s: %w", o.webhook, err)
	}
	for i := range c.Webhooks {
		o.set(&c.Webhooks[i].ClientConfig, &c.Webhooks[i].FailurePolicy, authority)
	}
	if _, err := configurations.Update(ctx, c, metav1.UpdateOptions{}); err != nil {
		return fmt.Errorf("patch ValidatingWebhookConfiguration %s: %w", o.webhook, err)
	}
	return nil
}

func (o *options) patchMutating(ctx context.Context, client kubernetes.Interface, authority []byte) error {
	configurations := client.AdmissionregistrationV1().MutatingWebhookConfigurations()
	c, err := configurations.Get(ctx, o.webhook, metav1.GetOptions{})
	if err != nil {
		return fmt.Errorf("read MutatingWebhookConfiguration %s: %w", o.webhook, err)
	}
	for i := range c.Webhooks {
		o.set(&c.Webhooks[i].ClientConfig, &c.Webhooks[i].FailurePolicy, authority)
	}
	if _, err := configurations.Update(ctx, c, metav1.UpdateOptions{}); err != nil {
		return fmt.Errorf("patch MutatingWebhookConfiguration %s: %w", o.webhook, err)
	}
	return nil
}

func (o *options) set(config *admissionv1.WebhookClientConfig, policy **admissionv1.FailurePolicyType, authority []byte) {
	config.CABundle = authority
	if o.policy != "" {
		p := admissionv1.FailurePolicyType(o.policy)
		*policy = &p
	}
}
