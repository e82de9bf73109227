package agent

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"

	"github.com/nvidia/aicr-action/internal/result"
	"github.com/nvidia/aicr-action/internal/testkit"
	"github.com/nvidia/aicr-action/internal/verify/validate"
)

func testConfig() Config {
	return Config{
		Namespace: "ns", JobName: "job", Image: "aicr:1", ServiceAccountName: "account", SnapshotConfigMap: "snapshot", RecipeConfigMap: "recipe",
		TestPackage: "./pkg/checks/deployment", TestPattern: "TestOperatorHealth", Timeout: 2 * time.Second,
	}
}

// A configuration that no cluster could take is refused before one is asked.
func TestBadConfiguration(t *testing.T) {
	for want, change := range map[string]func(*Config){
		"test package \"./x\"": func(c *Config) { c.TestPackage = "./x" },
		"has no image":         func(c *Config) { c.Image = "" },
		"the namespace of the validation agent cannot": func(c *Config) { c.Namespace = "a/b" },
		"the name of the Job of the validation agent":  func(c *Config) { c.JobName = "A" },
		"the ServiceAccount cannot be \"\"":            func(c *Config) { c.ServiceAccountName = "" },
		"the recipe's ConfigMap cannot be":             func(c *Config) { c.RecipeConfigMap = "_" },
	} {
		c := testConfig()
		change(&c)
		kube := fake.NewClientset()
		err := NewDeployer(kube, c).Deploy(t.Context())
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
		if n := len(kube.Actions()); n > 0 {
			t.Errorf("%s: the cluster was asked %d times", want, n)
		}
	}
}

func TestJobObject(t *testing.T) {
	c := testConfig()
	c.ImagePullSecrets, c.Debug, c.RecipeName = []string{"login"}, true, "$(HOME)/r.yaml"
	j := NewDeployer(nil, c).jobObject()
	pod := j.Spec.Template.Spec
	main := pod.Containers[0]
	if got := strings.Join(append(main.Command, main.Args...), " "); got != "aicr run-checks --debug deployment.test -test.v=test2json -test.timeout=2s -test.run=TestOperatorHealth" {
		t.Errorf("command: %s", got)
	}
	env := map[string]string{}
	for _, e := range main.Env {
		env[e.Name] = e.Value
	}
	if env[snapshotPathEnv] != "/etc/aicr/snapshot/snapshot.yaml" || env[recipePathEnv] != "/etc/aicr/recipe/recipe.yaml" || env[recipeNameEnv] != "$$(HOME)/r.yaml" {
		t.Errorf("environment: %v", env)
	}
	prefer := pod.Affinity.NodeAffinity.PreferredDuringSchedulingIgnoredDuringExecution[0].Preference.MatchExpressions[0]
	if prefer.Key != GPUPresentLabel || prefer.Operator != corev1.NodeSelectorOpDoesNotExist || pod.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution != nil {
		t.Errorf("affinity: %+v", pod.Affinity)
	}
	if *j.Spec.BackoffLimit != 0 || *j.Spec.ActiveDeadlineSeconds != 2 || pod.ImagePullSecrets[0].Name != "login" || !*main.SecurityContext.ReadOnlyRootFilesystem {
		t.Errorf("got %+v", j.Spec)
	}
}

// The permissions are those of the phase's checks, which only read, and the inputs by name.
func TestLeastPrivilege(t *testing.T) {
	kube := fake.NewClientset()
	d := NewDeployer(kube, testConfig())
	for range 2 { // idempotent
		if err := d.EnsureRBAC(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	role, err := kube.RbacV1().Roles("ns").Get(t.Context(), "account", metav1.GetOptions{})
	if err != nil || len(role.Rules) != 1 || fmt.Sprint(role.Rules[0].ResourceNames, role.Rules[0].Verbs) != "[snapshot recipe] [get]" {
		t.Errorf("got %+v, %v", role.Rules, err)
	}
	cluster, err := kube.RbacV1().ClusterRoles().Get(t.Context(), "account:ns", metav1.GetOptions{})
	if err != nil || len(cluster.Rules) == 0 || len(cluster.Rules) != len(rulesOf(validate.Deployment)) {
		t.Fatalf("got %+v, %v", cluster, err)
	}
	for _, rule := range cluster.Rules {
		for _, verb := range rule.Verbs {
			if verb != "get" && verb != "list" {
				t.Errorf("a check may %s %v", verb, rule.Resources)
			}
		}
	}
	if err := d.CleanupRBAC(t.Context()); err != nil {
		t.Fatal(err)
	}
	left, err := kube.RbacV1().ClusterRoles().List(t.Context(), metav1.ListOptions{})
	if err != nil || len(left.Items) > 0 {
		t.Errorf("left: %v, %v", left.Items, err)
	}
}

// What has the agent's name and not its labels is a user's: it is used, or refused, and never
// changed or deleted.
func TestForeignObjects(t *testing.T) {
	meta := func(name string) metav1.ObjectMeta { return metav1.ObjectMeta{Namespace: "ns", Name: name} }
	objects := []runtime.Object{
		&corev1.ServiceAccount{ObjectMeta: meta("account")}, &rbacv1.Role{ObjectMeta: meta("account")},
		&corev1.ConfigMap{ObjectMeta: meta("recipe")}, &batchv1.Job{ObjectMeta: meta("job")},
	}
	kube := fake.NewClientset(objects...)
	d := NewDeployer(kube, testConfig())
	if err := d.EnsureRBAC(t.Context()); err != nil {
		t.Fatal(err)
	}
	for what, err := range map[string]error{"Job": d.DeployJob(t.Context()), "ConfigMap": d.EnsureInputs(t.Context(), []byte("s"), []byte("r"))} {
		if err == nil || !strings.Contains(err.Error(), "it is another program's; use another name") {
			t.Errorf("%s: got %v", what, err)
		}
	}
	if err := errors.Join(d.Cleanup(t.Context(), CleanupOptions{}), d.Cleanup(t.Context(), CleanupOptions{Enabled: true}), d.CleanupInputs(t.Context())); err != nil {
		t.Fatal(err)
	}
	_, err1 := kube.CoreV1().ServiceAccounts("ns").Get(t.Context(), "account", metav1.GetOptions{})
	role, err2 := kube.RbacV1().Roles("ns").Get(t.Context(), "account", metav1.GetOptions{})
	_, err3 := kube.CoreV1().ConfigMaps("ns").Get(t.Context(), "recipe", metav1.GetOptions{})
	_, err4 := kube.BatchV1().Jobs("ns").Get(t.Context(), "job", metav1.GetOptions{})
	if err := errors.Join(err1, err2, err3, err4); err != nil || len(role.Rules) > 0 {
		t.Errorf("a user's object was changed: %v, %v", err, role)
	}
}

func TestInputsTooLarge(t *testing.T) {
	kube := fake.NewClientset()
	err := NewDeployer(kube, testConfig()).EnsureInputs(t.Context(), make([]byte, mostMap+1), nil)
	if err == nil || !strings.Contains(err.Error(), "snapshot.yaml has 1048577 bytes, and a ConfigMap takes 1048576") || len(kube.Actions()) > 0 {
		t.Errorf("got %v", err)
	}
}

// Each way in which a Job ends without a result has a different message.
func TestFailures(t *testing.T) {
	failed := func(why string) batchv1.JobStatus {
		return batchv1.JobStatus{Conditions: []batchv1.JobCondition{{Type: batchv1.JobFailed, Status: corev1.ConditionTrue, Reason: why}}}
	}
	waiting := func(why string) corev1.PodStatus {
		return corev1.PodStatus{Phase: corev1.PodPending, ContainerStatuses: []corev1.ContainerStatus{{State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: why, Message: "m"}}}}}
	}
	unschedulable := corev1.PodStatus{Phase: corev1.PodPending, Conditions: []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Message: "0/4 nodes are available"}}}
	exited := corev1.PodStatus{Phase: corev1.PodFailed, ContainerStatuses: []corev1.ContainerStatus{{State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: 137, Reason: "OOMKilled"}}}}}
	for _, c := range []struct {
		job  batchv1.JobStatus
		pod  *corev1.PodStatus
		kind Failure
		text string
	}{
		{batchv1.JobStatus{}, &unschedulable, NeverStarted, "Job ns/job did not start within 20ms: its pod cannot be scheduled: 0/4 nodes are available"},
		{batchv1.JobStatus{}, nil, NeverStarted, "did not start within 20ms: it has no pod yet"},
		{batchv1.JobStatus{}, ptr(waiting("ImagePullBackOff")), NeverStarted, "never started: its container waits: ImagePullBackOff: m"},
		{batchv1.JobStatus{}, &corev1.PodStatus{Phase: corev1.PodRunning}, TimedOut, "was not done within 20ms; its pod is Running"},
		{failed(batchv1.JobReasonDeadlineExceeded), &corev1.PodStatus{Phase: corev1.PodRunning}, TimedOut, "was not done within"},
		{failed("BackoffLimitExceeded"), &corev1.PodStatus{Phase: corev1.PodFailed, Reason: "Evicted", Message: "low on memory"}, Evicted, "evicted from node n: low on memory"},
		{failed("BackoffLimitExceeded"), nil, podDeleted, "its pod was deleted before it finished"},
		{failed("BackoffLimitExceeded"), &exited, Exited, "its container ended with exit code 137 (OOMKilled)"},
	} {
		object := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "job", Labels: labels()}, Status: c.job}
		objects := []runtime.Object{object}
		if c.pod != nil {
			objects = append(objects, &corev1.Pod{
				ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "p", Labels: map[string]string{batchv1.JobNameLabel: "job"}}, Spec: corev1.PodSpec{NodeName: "n"}, Status: *c.pod,
			})
		}
		err := NewDeployer(fake.NewClientset(objects...), testConfig()).WaitForCompletion(t.Context(), 20*time.Millisecond)
		var job *JobError
		if !errors.As(err, &job) || job.Failure != c.kind || !strings.Contains(err.Error(), c.text) {
			t.Errorf("got %v, want %s: %s", err, c.kind, c.text)
		}
	}
	err := NewDeployer(fake.NewClientset(), testConfig()).WaitForCompletion(t.Context(), time.Second)
	if err == nil || !strings.Contains(err.Error(), "was deleted before it finished") {
		t.Errorf("got %v", err)
	}
	short, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	object := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "job"}}
	err = NewDeployer(fake.NewClientset(object), testConfig()).WaitForPodReady(short)
	if err == nil || !strings.Contains(err.Error(), "did not start in time: it has no pod yet") {
		t.Errorf("got %v", err)
	}
}

func ptr[T any](v T) *T { return &v }

const events = `{"Action":"run","Test":"TestA"}
{"Action":"output","Test":"TestA","Output":"=== RUN   TestA\n"}
{"Action":"output","Test":"TestA","Output":"aicr outcome: {\"status\":\"failed\",\"message\":\"m\"}\n"}
{"Action":"output","Test":"TestA","Output":"--- FAIL: TestA (0.50s)\n"}
{"Action":"fail","Test":"TestA","Elapsed":0.5}
{"Action":"run","Test":"TestB"}
{"Action":"skip","Test":"TestB","Elapsed":0.25}
{"Action":"run","Test":"TestC"}
`

func TestResults(t *testing.T) {
	j := job{namespace: "ns", name: "job"}
	list, err := j.events("noise\n" + BeginMarker + "\n" + events + "not json\n" + EndMarker + "\nmore\n")
	if err != nil {
		t.Fatal(err)
	}
	r := summarize(list)
	if r.Status != result.StepFailed || r.Duration != 750*time.Millisecond || r.Message != "2 of 3 checks failed: TestA, TestC" {
		t.Errorf("got %+v", r)
	}
	if out, ok := r.Tests[0].Outcome(); !ok || out.Message != "m" || len(r.Tests[0].Output) != 1 {
		t.Errorf("got %+v, %v of %q", out, ok, r.Tests[0].Output)
	}
	if r.Tests[1].Status != result.StepSkipped || r.Tests[2].Status != result.StepFailed {
		t.Errorf("got %+v", r.Tests)
	}
	for log, want := range map[string]string{
		"": "printed nothing", "hello\n": "has no line \"" + BeginMarker, BeginMarker + "\n" + events: "ended before its result was complete",
	} {
		var job *JobError
		if _, err := j.events(log); !errors.As(err, &job) || job.Failure != noResult || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
	if r := summarize([]goTestEvent{{Action: "output", Output: "no recipe\n"}, {Action: "fail"}}); r.Status != result.StepFailed || r.Message != "no test ran: no recipe" {
		t.Errorf("got %+v", r)
	}
}

// GetResult reads stored results only once the Job is deleted, since an existing Job has a newer
// result than the ConfigMap.
func TestStoredResults(t *testing.T) {
	kube := fake.NewClientset()
	c := testConfig()
	c.ResultConfigMap = "result"
	d := NewDeployer(kube, c)
	wants := func(want string) {
		t.Helper()
		var job *JobError
		if _, err := d.GetResult(t.Context()); !errors.As(err, &job) || job.Failure != noResult || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
	wants("Job ns/job is gone, and there is no ConfigMap ns/result with its result")
	mine := &ValidationResult{Phase: "deployment", Status: result.StepPassed, Details: map[string]any{"job": "job"}}
	if err := d.StoreResults(t.Context(), "result", []*ValidationResult{{Details: map[string]any{"job": "other"}}}); err != nil {
		t.Fatal(err)
	}
	wants("Job ns/job is gone, and ConfigMap ns/result has no result of it")
	if err := d.StoreResults(t.Context(), "result", []*ValidationResult{{Details: map[string]any{"job": "other"}}, mine}); err != nil {
		t.Fatal(err)
	}
	if r, err := d.GetResult(t.Context()); err != nil || r.Status != result.StepPassed || r.Phase != "deployment" {
		t.Errorf("got %+v, %v", r, err)
	}
	m, err := kube.CoreV1().ConfigMaps("ns").Get(t.Context(), "result", metav1.GetOptions{})
	if err != nil || !own(m.Labels) {
		t.Fatalf("got %+v, %v", m, err)
	}
	m.Data[resultKey] = "<html>"
	if _, err := kube.CoreV1().ConfigMaps("ns").Update(t.Context(), m, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	wants("the key result.json of ConfigMap ns/result is no list of results")
	if err := d.CleanupInputs(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := kube.CoreV1().ConfigMaps("ns").Get(t.Context(), "result", metav1.GetOptions{}); err != nil {
		t.Errorf("the results went with the inputs: %v", err)
	}
	if _, err := kube.BatchV1().Jobs("ns").Create(t.Context(), &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Name: "job"}}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	wants("Job ns/job has no pod, so there is no log")
}

// The results fit into a ConfigMap, however long the output of a test is; what is short is kept.
func TestResults_Size(t *testing.T) {
	long := make([]string, 30000)
	for i := range long {
		long[i] = strings.Repeat("x", 100)
	}
	results := []*ValidationResult{{Phase: "p", Tests: []TestResult{{Name: "TestLong", Output: long}, {Name: "TestShort", Output: []string{"kept"}}}}}
	data, err := fit(results, mostMap)
	if err != nil || len(data) > mostMap || len(data) < mostMap/8 {
		t.Fatalf("%d bytes, %v", len(data), err)
	}
	testkit.WantText(t, "the results", string(data[len(data)-300:]), "more lines were cut", "kept")
	if len(results[0].Tests[0].Output) != len(long) {
		t.Error("the results were changed")
	}
}
