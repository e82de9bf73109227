package observe

import (
	"errors"
	"strconv"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
)

// A large cluster's pods come page by page, all of them, and without their managed fields. An error
// of any page is an error.
func TestListPods_Pages(t *testing.T) {
	const pages = 3
	for _, broken := range []bool{false, true} {
		kube, asked := fake.NewClientset(), 0
		kube.PrependReactor("list", "pods", func(action clienttesting.Action) (bool, runtime.Object, error) {
			opts := action.(clienttesting.ListActionImpl).ListOptions
			want := ""
			if asked > 0 {
				want = strconv.Itoa(asked)
			}
			if opts.Limit != podsAPage || opts.Continue != want {
				t.Errorf("page %d: got limit %d and continue %q, want %d and %q", asked, opts.Limit, opts.Continue, podsAPage, want)
			}
			asked++
			if broken && asked == pages {
				return true, nil, errors.New("expired")
			}
			page := &corev1.PodList{Items: []corev1.Pod{{ObjectMeta: metav1.ObjectMeta{Name: "p" + strconv.Itoa(asked), ManagedFields: []metav1.ManagedFieldsEntry{{Manager: "m"}}}}}}
			if asked < pages {
				page.Continue = strconv.Itoa(asked)
			}
			return true, page, nil
		})
		view, err := Poll(t.Context(), kube)
		if broken {
			if err == nil {
				t.Errorf("got %d pods, want the error of the last page", len(view.Pods))
			}
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		if len(view.Pods) != pages || view.Pods[pages-1].Name != "p3" {
			t.Errorf("got %d pods, want those of %d pages", len(view.Pods), pages)
		}
		for _, p := range view.Pods {
			if p.ManagedFields != nil {
				t.Errorf("%s has its managed fields", p.Name)
			}
		}
	}
}
