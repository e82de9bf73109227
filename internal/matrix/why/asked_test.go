package why

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/observe"
	"github.com/nvidia/aicr-action/internal/recipe"
	"github.com/nvidia/aicr-action/internal/testkit"
)

// A claim that nothing offers devices for is explained by its request, its class and the class's driver.
func TestAsked(t *testing.T) {
	t.Parallel()
	name := "gpu"
	pod := &corev1.Pod{Spec: corev1.PodSpec{ResourceClaims: []corev1.PodResourceClaim{{Name: "c", ResourceClaimTemplateName: &name}}}}
	pod.Namespace = "a"
	class := resourcev1.DeviceClass{ObjectMeta: metav1.ObjectMeta{Name: "gpu.example.com"}}
	class.Spec.Selectors = []resourcev1.DeviceSelector{{CEL: &resourcev1.CELDeviceSelector{Expression: "device.driver == 'gpu.example.com' && true"}}}
	template := resourcev1.ResourceClaimTemplate{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "a"}}
	template.Spec.Spec.Devices.Requests = []resourcev1.DeviceRequest{{Name: "one", Exactly: &resourcev1.ExactDeviceRequest{DeviceClassName: class.Name}}}
	slice := func(driver string, devices int) resourcev1.ResourceSlice {
		return resourcev1.ResourceSlice{Spec: resourcev1.ResourceSliceSpec{Driver: driver, Devices: make([]resourcev1.Device, devices)}}
	}
	for want, devices := range map[string]observe.Devices{
		"ResourceClaimTemplate gpu, request one: of DeviceClass gpu.example.com, which does not exist":                                                                 {},
		"whose driver gpu.example.com has published no ResourceSlice; there are some of domain.example.com: see whether a value of the driver's component turns these": {Classes: []resourcev1.DeviceClass{class}, Slices: []resourcev1.ResourceSlice{slice("domain.example.com", 1)}},
		"of whose driver gpu.example.com there are 3 devices in 2 ResourceSlices":                                                                                      {Classes: []resourcev1.DeviceClass{class}, Slices: []resourcev1.ResourceSlice{slice("gpu.example.com", 1), slice("gpu.example.com", 2)}},
	} {
		devices.Read, devices.Templates = true, []resourcev1.ResourceClaimTemplate{template}
		if got := strings.Join(asked(pod, &devices), "; "); !strings.Contains(got, want) {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}

// A Job that its deadline ended has no pods any more: what its template asks for, and no node has, is named.
func TestSchedulingFinding_Deadline(t *testing.T) {
	t.Parallel()
	w := testkit.Expected("Job", "j", 1, bundle.NodeAny)
	w.PodSpec = corev1.PodSpec{Containers: []corev1.Container{{Name: "main", Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("900")}}}}}
	w.PodSpec.Tolerations = []corev1.Toleration{{Operator: corev1.TolerationOpExists}}
	w.Values = []bundle.SteeringSource{{Field: bundle.FieldRequests, Key: "cpu", Path: "job.cpu", Origin: recipe.Origin{File: "values.yaml", Line: 7}}}
	report := observe.WorkloadReport{Wrong: []observe.WrongWorkload{{Workload: &w, Text: "failed: DeadlineExceeded: Job was active longer than specified deadline"}}}
	f := SchedulingFinding(nil, report, &observe.View{Nodes: zoned()})
	story := strings.Join(f.Findings[0].Story, "\n")
	for _, want := range []string{"DeadlineExceeded", "no node admits its pods", "cpu: value path job.cpu, set in values.yaml:7", "asks for 900 cpu"} {
		if !strings.Contains(story, want) {
			t.Errorf("no %q in\n%s", want, story)
		}
	}
	if f.Findings[0].Place.Line != 7 {
		t.Errorf("the place is %v", f.Findings[0].Place)
	}
}
