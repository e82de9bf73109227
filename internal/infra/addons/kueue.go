package addons

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
)

// Kueue decides when a Job, or an object of a controller that runs beside it, may start, and the
// default scheduler places its pods. Kueue makes the certificates of its webhooks, and writes them
// into a Secret, as in any cluster; what a kubelet would do, put the Secret into a directory of the
// process, is done here.
const kueueSecret = "kueue-webhook-server-cert" // of the name that its configuration has

// kueueFrameworks are what Kueue calls the controllers whose objects it holds back as it does Jobs.
// Trainer is none of them: with its framework on, Kueue admitted two TrainJobs of 32 GPUs each to a
// queue with 32.
var kueueFrameworks = map[string]string{jobSet: "jobset.x-k8s.io/jobset"}

// kueueAdmission has the webhooks for Jobs, for Kueue's own kinds, and for the Jobs of these
// controllers.
func kueueAdmission(controllers ...string) admission {
	a := admission{
		namespace: "kueue-system", service: "kueue-webhook-service", prefix: "kueue-", groups: []string{"batch", "kueue.x-k8s.io"},
		converted: []string{"localqueues", "clusterqueues", "workloads", "cohorts", "multikueueclusters"},
	}
	for _, name := range controllers {
		for _, group := range admissionOf(name).groups {
			if group != "" {
				a.groups = append(a.groups, group)
			}
		}
	}
	return a
}

// Admitted are the kinds that a scheduler that Admits works on, for people.
func (s Scheduler) Admitted() string {
	all := []string{"Jobs"}
	if len(s.controllers) > 0 {
		all = append(all, "JobSets")
	}
	return strings.Join(all, ", ")
}

// With is the scheduler beside controllers that start before it: Kueue works on the objects of some
// of them too.
func (s Scheduler) With(controllers []string) (Scheduler, error) {
	known := slices.DeleteFunc(slices.Clone(controllers), func(name string) bool { return kueueFrameworks[name] == "" })
	if !s.Admits() || len(known) == 0 {
		return s, nil
	}
	frameworks, _, err := unstructured.NestedStringSlice(s.config, "integrations", "frameworks")
	if err != nil {
		return s, err
	}
	for _, name := range known {
		frameworks = append(frameworks, kueueFrameworks[name])
	}
	s.config, s.controllers = runtime.DeepCopyJSON(s.config), known
	return s, unstructured.SetNestedStringSlice(s.config, frameworks, "integrations", "frameworks")
}

func (r *Runner) launchKueue(ctx context.Context, s Scheduler, dir, _ string) (*launch, error) {
	certificates := filepath.Join(dir, "certificates")
	l, err := r.launchAdmission(ctx, s, kueueAdmission(s.controllers...), dir, map[string]any{"certDir": certificates})
	if err != nil {
		return nil, err
	}
	_, err = r.Clients.Kube.CoreV1().Secrets(kueueAdmission().namespace).Create(ctx, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: kueueSecret}}, metav1.CreateOptions{})
	if err != nil && !apierrors.IsAlreadyExists(err) {
		return nil, err
	}
	l.meanwhile = func(ctx context.Context) error { return r.mountCertificates(ctx, certificates) }
	return l, nil
}

// mountCertificates puts what is in Kueue's Secret into its directory, once it is there.
func (r *Runner) mountCertificates(ctx context.Context, dir string) error {
	if _, err := os.Stat(filepath.Join(dir, corev1.TLSCertKey)); err == nil {
		return nil
	}
	secret, err := r.Clients.Kube.CoreV1().Secrets(kueueAdmission().namespace).Get(ctx, kueueSecret, metav1.GetOptions{})
	if err != nil || len(secret.Data[corev1.TLSCertKey]) == 0 {
		return err
	}
	return writeCertificates(dir, secret.Data, "ca.crt", corev1.TLSPrivateKeyKey, corev1.TLSCertKey)
}
