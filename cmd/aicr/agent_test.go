package main

import (
	"strings"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
)

// withJobs is a program whose cluster completes each Job at once, and does in its place what do
// says. The real one is in internal/verify/validate/agent.
func withJobs(do func(kube *fake.Clientset, job *batchv1.Job)) (bench, *fake.Clientset) {
	b := clusterOf()
	kube := b.client.(*fake.Clientset)
	kube.PrependReactor("create", "jobs", func(action clienttesting.Action) (bool, runtime.Object, error) {
		job := action.(clienttesting.CreateAction).GetObject().(*batchv1.Job)
		job.Status.Conditions = []batchv1.JobCondition{{Type: batchv1.JobComplete, Status: corev1.ConditionTrue}}
		do(kube, job)
		return false, nil, nil
	})
	return b, kube
}

// aicr snapshot --agent prints what the Job wrote, and leaves nothing in the cluster.
func TestSnapshotAgent(t *testing.T) {
	var made *batchv1.Job
	b, kube := withJobs(func(kube *fake.Clientset, job *batchv1.Job) {
		made = job
		m := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: job.Namespace, Name: job.Name}, Data: map[string]string{"snapshot.yaml": read(t, snapshotFile)}}
		if err := kube.Tracker().Add(m); err != nil {
			t.Error(err)
		}
	})
	r := b.run(t, "snapshot", "--agent", "--image", "aicr:1", "--namespace", "gpu", "--only", "K8s", "--node-selector", "pool=a", "--toleration", "nvidia.com/gpu=present:NoSchedule", "--image-pull-secret", "login")
	r.want(t, 0)
	if !strings.Contains(r.stdout, "version: v1.33.5-eks-3025e55") {
		t.Errorf("got\n%s%s", r.stdout, r.stderr)
	}
	pod := made.Spec.Template.Spec
	want := "aicr snapshot --output cm://gpu/" + made.Name + " --format yaml --timeout 30s --only K8s"
	if got := strings.Join(append(pod.Containers[0].Command, pod.Containers[0].Args...), " "); got != want {
		t.Errorf("the Job runs %s, want %s", got, want)
	}
	if pod.NodeSelector["pool"] != "a" || len(pod.NodeSelector) != 1 || len(pod.Tolerations) != 1 || pod.ImagePullSecrets[0].Name != "login" {
		t.Errorf("got %+v", pod)
	}
	maps, err := kube.CoreV1().ConfigMaps("").List(t.Context(), metav1.ListOptions{})
	jobs, err2 := kube.BatchV1().Jobs("").List(t.Context(), metav1.ListOptions{})
	roles, err3 := kube.RbacV1().ClusterRoles().List(t.Context(), metav1.ListOptions{})
	if n := len(maps.Items) + len(jobs.Items) + len(roles.Items); n > 0 || err != nil || err2 != nil || err3 != nil {
		t.Errorf("%d objects are left; %v %v %v", n, err, err2, err3)
	}
	silent, _ := withJobs(func(*fake.Clientset, *batchv1.Job) {})
	silent.run(t, "snapshot", "--agent", "--image", "aicr:1").want(t, 6, "Job gpu-operator/aicr-snapshot-", "completed, and wrote no snapshot")
}

// A Job without a result is an error, and not a check that passed.
func TestValidateAgent(t *testing.T) {
	file := write(t, "recipe.yaml", invoke(t, "recipe", "--service", "eks", "--accelerator", "h100", "--intent", "training").stdout)
	b, _ := withJobs(func(*fake.Clientset, *batchv1.Job) {})
	b.run(t, "validate", "-r", file, "--phase", "deployment", "--agent", "--image", "aicr:1").want(t, 6, "Job gpu-operator/aicr-validation-deployment has no pod, so there is no log")
}

func TestAgentFlags(t *testing.T) {
	for want, args := range map[string][]string{
		"--image needs --agent":                     {"snapshot", "--image", "x"},
		"--node-selector needs --agent":             {"snapshot", "--node-selector", "a=b"},
		"--agent needs --image":                     {"snapshot", "--agent"},
		"--agent-timeout 0s: want more than 0":      {"snapshot", "--agent", "--image", "x", "--agent-timeout", "0s"},
		"--toleration: ":                            {"snapshot", "--agent", "--image", "x", "--toleration", "=:"},
		"--node-selector: ":                         {"snapshot", "--agent", "--image", "x", "--node-selector", "="},
		"namespace of the snapshot agent cannot be": {"snapshot", "--agent", "--image", "x", "--namespace", "A/B"},
		"--namespace needs --agent":                 {"validate", "-r", "r.yaml", "--namespace", "x"},
	} {
		b, _ := withJobs(func(*fake.Clientset, *batchv1.Job) {})
		b.run(t, args...).want(t, 2, want)
	}
}
