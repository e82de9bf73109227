package agent

import (
	"context"
	"errors"
	"path"
	"strconv"
	"strings"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/nvidia/aicr-action/internal/result/reason"
	"github.com/nvidia/aicr-action/internal/util/wait"
)

// runChecksCommand is the command of the program aicr that the container runs: it runs a test binary and
// prints its events (convert.go).
const runChecksCommand = "run-checks"

// debugFlag of runChecksCommand prints what is run, and with which inputs, before the results.
const debugFlag = "--debug"

// container is the name of the only container of the agent's pods.
const container = "aicr"

// GPUPresentLabel is on nodes with GPUs (GPU feature discovery writes it).
const GPUPresentLabel = "nvidia.com/gpu.present"

// preferCPUNodes prefers a node without GPUs: a check needs none, and GPU nodes are expensive.
// Checks that need GPUs create their own pods.
func preferCPUNodes() *corev1.Affinity {
	return &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{PreferredDuringSchedulingIgnoredDuringExecution: []corev1.PreferredSchedulingTerm{{
		Weight: 100,
		Preference: corev1.NodeSelectorTerm{MatchExpressions: []corev1.NodeSelectorRequirement{
			{Key: GPUPresentLabel, Operator: corev1.NodeSelectorOpDoesNotExist},
		}},
	}}}}
}

// Deploy deploys the validation agent with all required resources (RBAC and Job). For multi-phase
// validation, prefer EnsureRBAC once, then DeployJob per phase.
func (d *Deployer) Deploy(ctx context.Context) error {
	if err := d.EnsureRBAC(ctx); err != nil {
		return err
	}
	return d.DeployJob(ctx)
}

// DeployJob deploys the validation Job. The RBAC resources must exist (EnsureRBAC). An earlier Job
// of the agent with the same name is deleted first; another program's Job of that name is refused.
func (d *Deployer) DeployJob(ctx context.Context) error {
	if err := d.config.check(); err != nil {
		return err
	}
	j := d.job()
	if err := j.cleanup(ctx); err != nil {
		return err
	}
	return j.create(ctx, d.jobObject())
}

// CleanupJob removes the validation Job and its pod, and waits until both are deleted.
func (d *Deployer) CleanupJob(ctx context.Context) error {
	err := d.job().cleanup(ctx)
	var foreign *foreignJobError
	if errors.As(err, &foreign) {
		return nil // it was never the agent's
	}
	return err
}

// Cleanup removes the validation Job and RBAC resources. For multi-phase validation, prefer
// CleanupJob per phase, then CleanupRBAC once at the end.
func (d *Deployer) Cleanup(ctx context.Context, opts CleanupOptions) error {
	if !opts.Enabled {
		return nil
	}
	return errors.Join(d.CleanupJob(ctx), d.CleanupRBAC(ctx))
}

func (d *Deployer) job() job {
	return job{clientset: d.clientset, namespace: d.config.Namespace, name: d.config.JobName}
}

// testBinary is the name of the test binary of a test package.
func testBinary(pkg string) string { return path.Base(pkg) + ".test" }

func (d *Deployer) jobObject() *batchv1.Job {
	c := d.config
	args := []string{runChecksCommand}
	if c.Debug {
		args = append(args, debugFlag)
	}
	args = append(args, testBinary(c.TestPackage), "-test.v=test2json", "-test.timeout="+c.Timeout.String())
	if c.TestPattern != "" {
		args = append(args, "-test.run="+c.TestPattern)
	}
	j := newJob(c.Namespace, c.JobName, c.ServiceAccountName, c.Image, args, c.Timeout)
	pod := &j.Spec.Template.Spec
	pod.Affinity = c.Affinity
	if pod.Affinity == nil {
		pod.Affinity = preferCPUNodes()
	}
	pod.Tolerations = c.Tolerations
	for _, name := range c.ImagePullSecrets {
		pod.ImagePullSecrets = append(pod.ImagePullSecrets, corev1.LocalObjectReference{Name: name})
	}
	for _, in := range []struct{ volume, name, key, env string }{
		{"snapshot", c.SnapshotConfigMap, snapshotKey, snapshotPathEnv}, {"recipe", c.RecipeConfigMap, recipeKey, recipePathEnv},
	} {
		if in.name == "" {
			continue
		}
		dir := "/etc/aicr/" + in.volume
		pod.Volumes = append(pod.Volumes, corev1.Volume{Name: in.volume, VolumeSource: corev1.VolumeSource{
			ConfigMap: &corev1.ConfigMapVolumeSource{LocalObjectReference: corev1.LocalObjectReference{Name: in.name}},
		}})
		main := &pod.Containers[0]
		main.VolumeMounts = append(main.VolumeMounts, corev1.VolumeMount{Name: in.volume, MountPath: dir, ReadOnly: true})
		main.Env = append(main.Env, corev1.EnvVar{Name: in.env, Value: path.Join(dir, in.key)})
	}
	if c.RecipeName != "" {
		// $ would start a variable's name.
		pod.Containers[0].Env = append(pod.Containers[0].Env, corev1.EnvVar{Name: recipeNameEnv, Value: strings.ReplaceAll(c.RecipeName, "$", "$$")})
	}
	return j
}

// keptJob is how long a finished Job stays if the program that created it was killed.
const keptJob = time.Hour

// newJob is a Job of one attempt: what fails is not tried again, since a check that passes the
// second time has still failed.
func newJob(namespace, name, account, image string, args []string, timeout time.Duration) *batchv1.Job {
	once, deadline, ttl, user, yes, no := int32(0), int64(max(1, timeout.Seconds())), int32(keptJob.Seconds()), int64(65532), true, false
	return &batchv1.Job{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, Labels: labels()},
		Spec: batchv1.JobSpec{
			BackoffLimit: &once, ActiveDeadlineSeconds: &deadline, TTLSecondsAfterFinished: &ttl,
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels()},
				Spec: corev1.PodSpec{
					ServiceAccountName: account, RestartPolicy: corev1.RestartPolicyNever,
					SecurityContext: &corev1.PodSecurityContext{
						RunAsNonRoot: &yes, RunAsUser: &user, SeccompProfile: &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault},
					},
					Containers: []corev1.Container{{
						Name: container, Image: image, Command: []string{"aicr"}, Args: args,
						Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{
							corev1.ResourceCPU: resource.MustParse("100m"), corev1.ResourceMemory: resource.MustParse("128Mi"),
						}},
						SecurityContext: &corev1.SecurityContext{
							AllowPrivilegeEscalation: &no, ReadOnlyRootFilesystem: &yes, Capabilities: &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}},
						},
					}},
				},
			},
		},
	}
}

// job is a Job of the agent in a cluster.
type job struct {
	clientset       kubernetes.Interface
	namespace, name string
}

func (j job) String() string { return named("Job", j.namespace, j.name) }

func (j job) create(ctx context.Context, object *batchv1.Job) error {
	_, err := j.clientset.BatchV1().Jobs(j.namespace).Create(ctx, object, metav1.CreateOptions{})
	return failed("create "+j.String(), j.namespace, err)
}

// foreignJobError: there is a Job of that name, and it is another program's.
type foreignJobError struct{ job string }

func (e *foreignJobError) Error() string {
	return "create " + e.job + ": a Job of that name exists, and it is another program's; use another name"
}

// goneBudget is how long a deleted Job and its pod may take to go: the pod's grace period, and a
// busy cluster.
const goneBudget = 90 * time.Second

// cleanup deletes the Job with its pods, and waits until they are deleted.
func (j job) cleanup(ctx context.Context) error {
	jobs := j.clientset.BatchV1().Jobs(j.namespace)
	have, err := jobs.Get(ctx, j.name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return failed("delete "+j.String(), j.namespace, err)
	}
	if !own(have.Labels) {
		return reason.Wrap(reason.Usage, &foreignJobError{j.String()})
	}
	foreground := metav1.DeletePropagationForeground
	err = jobs.Delete(ctx, j.name, metav1.DeleteOptions{PropagationPolicy: &foreground, Preconditions: &metav1.Preconditions{UID: &have.UID}})
	if err != nil && !apierrors.IsNotFound(err) {
		return failed("delete "+j.String(), j.namespace, err)
	}
	err = wait.For(ctx, j.String()+" to be gone", wait.Options{Budget: goneBudget}, func(ctx context.Context) wait.Result {
		now, err := jobs.Get(ctx, j.name, metav1.GetOptions{})
		switch {
		case apierrors.IsNotFound(err) || err == nil && now.UID != have.UID:
			return wait.Done()
		case err != nil:
			return wait.NotYet("%v", err)
		}
		return wait.NotYet("%s active pods, finalizers %q", strconv.Itoa(int(now.Status.Active)), now.Finalizers)
	})
	return reason.Wrap(reason.ClusterAccess, err)
}
