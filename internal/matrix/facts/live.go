package facts

import (
	"context"
	"fmt"

	certificatesv1beta1 "k8s.io/api/certificates/v1beta1"
	corev1 "k8s.io/api/core/v1"
	nodev1 "k8s.io/api/node/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/infra"
	"github.com/nvidia/aicr-action/internal/infra/simulate"
	"github.com/nvidia/aicr-action/internal/observe"
	"github.com/nvidia/aicr-action/internal/result"
)

// Live is what a cluster has that others refer to, by namespace/name, or by name. For Secrets
// and ConfigMaps it has the keys, and never a value.
type Live struct {
	Secrets, ConfigMaps                                             map[string]map[string]bool
	ServiceAccounts, Claims, Roles, ClusterRoles                    map[string]bool
	StorageClasses, PriorityClasses, IngressClasses, RuntimeClasses map[string]bool
	// DefaultClass means that a claim without a class gets one.
	DefaultClass bool
	// ClaimSpecs are by namespace/name, and Provisioners by the name of their StorageClass.
	ClaimSpecs   map[string]corev1.PersistentVolumeClaimSpec
	Provisioners map[string]string
	// Volumes, CSIDrivers and TrustBundles are by name.
	Volumes      map[string]*corev1.PersistentVolume
	CSIDrivers   map[string]storagev1.CSIDriverSpec
	TrustBundles map[string]*certificatesv1beta1.ClusterTrustBundle
	Services     []corev1.Service
	// Bootstrapped are the roles and bindings that the API server made when it started; before anything is delivered.
	Bootstrapped map[result.Ref]bool
	// Runs reports whether the pods of a container run as processes; nil: none does.
	Runs func(*corev1.Container) bool
	// Devices are the claims, classes and slices of dynamic resource allocation.
	Devices observe.Devices
	// View is the gate's newest poll: its pods, nodes and workloads.
	View *observe.View
}

// ReadLive reads each list once.
func ReadLive(ctx context.Context, kube kubernetes.Interface, view *observe.View) (*Live, error) {
	c := &Live{View: view, Secrets: map[string]map[string]bool{}, ConfigMaps: map[string]map[string]bool{}}
	var all metav1.ListOptions
	secrets, err := kube.CoreV1().Secrets("").List(ctx, all)
	if err != nil {
		return nil, fmt.Errorf("list Secrets: %w", err)
	}
	for i := range secrets.Items {
		s := &secrets.Items[i]
		c.Secrets[infra.NamespacedName(s.Namespace, s.Name)] = keysOf(s.Data)
	}
	maps, err := kube.CoreV1().ConfigMaps("").List(ctx, all)
	if err != nil {
		return nil, fmt.Errorf("list ConfigMaps: %w", err)
	}
	for i := range maps.Items {
		m := &maps.Items[i]
		keys := keysOf(m.Data)
		for k := range m.BinaryData {
			keys[k] = true
		}
		c.ConfigMaps[infra.NamespacedName(m.Namespace, m.Name)] = keys
	}
	services, err := kube.CoreV1().Services("").List(ctx, all)
	if err != nil {
		return nil, fmt.Errorf("list Services: %w", err)
	}
	c.Services = services.Items
	if c.Devices, err = observe.ReadDevices(ctx, kube); err != nil {
		return nil, err
	}
	return c, c.readNames(ctx, kube)
}

// ReadServed reads what an API server has by itself. The View is empty.
func ReadServed(ctx context.Context, kube kubernetes.Interface) (*Live, error) {
	own := metav1.ListOptions{LabelSelector: "kubernetes.io/bootstrapping"}
	c := &Live{View: &observe.View{}, Bootstrapped: map[result.Ref]bool{}}
	add := func(kind, namespace, name string) {
		c.Bootstrapped[result.Ref{Group: rbacv1.GroupName, Kind: kind, Namespace: namespace, Name: name}] = true
	}
	rbac := kube.RbacV1()
	clusterRoles, err := rbac.ClusterRoles().List(ctx, own)
	if err != nil {
		return nil, fmt.Errorf("list ClusterRoles: %w", err)
	}
	for i := range clusterRoles.Items {
		add("ClusterRole", "", clusterRoles.Items[i].Name)
	}
	clusterBindings, err := rbac.ClusterRoleBindings().List(ctx, own)
	if err != nil {
		return nil, fmt.Errorf("list ClusterRoleBindings: %w", err)
	}
	for i := range clusterBindings.Items {
		add("ClusterRoleBinding", "", clusterBindings.Items[i].Name)
	}
	roles, err := rbac.Roles("").List(ctx, own)
	if err != nil {
		return nil, fmt.Errorf("list Roles: %w", err)
	}
	for i := range roles.Items {
		add("Role", roles.Items[i].Namespace, roles.Items[i].Name)
	}
	bindings, err := rbac.RoleBindings("").List(ctx, own)
	if err != nil {
		return nil, fmt.Errorf("list RoleBindings: %w", err)
	}
	for i := range bindings.Items {
		add("RoleBinding", bindings.Items[i].Namespace, bindings.Items[i].Name)
	}
	return c, nil
}

// readNames reads the kinds of which only the names count.
func (c *Live) readNames(ctx context.Context, kube kubernetes.Interface) error {
	var all metav1.ListOptions
	accounts, err := kube.CoreV1().ServiceAccounts("").List(ctx, all)
	if err != nil {
		return fmt.Errorf("list ServiceAccounts: %w", err)
	}
	claims, err := kube.CoreV1().PersistentVolumeClaims("").List(ctx, all)
	if err != nil {
		return fmt.Errorf("list PersistentVolumeClaims: %w", err)
	}
	volumes, err := kube.CoreV1().PersistentVolumes().List(ctx, all)
	if err != nil {
		return fmt.Errorf("list PersistentVolumes: %w", err)
	}
	storage, err := kube.StorageV1().StorageClasses().List(ctx, all)
	if err != nil {
		return fmt.Errorf("list StorageClasses: %w", err)
	}
	priority, err := kube.SchedulingV1().PriorityClasses().List(ctx, all)
	if err != nil {
		return fmt.Errorf("list PriorityClasses: %w", err)
	}
	ingress, err := kube.NetworkingV1().IngressClasses().List(ctx, all)
	if err != nil {
		return fmt.Errorf("list IngressClasses: %w", err)
	}
	runtimes, err := kube.NodeV1().RuntimeClasses().List(ctx, all)
	if err != nil {
		return fmt.Errorf("list RuntimeClasses: %w", err)
	}
	drivers, err := kube.StorageV1().CSIDrivers().List(ctx, all)
	if err != nil {
		return fmt.Errorf("list CSIDrivers: %w", err)
	}
	// Its feature gate is off by default: then the kind is not served.
	bundles, err := kube.CertificatesV1beta1().ClusterTrustBundles().List(ctx, all)
	if err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("list ClusterTrustBundles: %w", err)
	}
	c.CSIDrivers, c.TrustBundles = map[string]storagev1.CSIDriverSpec{}, map[string]*certificatesv1beta1.ClusterTrustBundle{}
	for i := range drivers.Items {
		c.CSIDrivers[drivers.Items[i].Name] = drivers.Items[i].Spec
	}
	for i := range bundles.Items {
		c.TrustBundles[bundles.Items[i].Name] = &bundles.Items[i]
	}
	roles, err := kube.RbacV1().Roles("").List(ctx, all)
	if err != nil {
		return fmt.Errorf("list Roles: %w", err)
	}
	clusterRoles, err := kube.RbacV1().ClusterRoles().List(ctx, all)
	if err != nil {
		return fmt.Errorf("list ClusterRoles: %w", err)
	}
	c.Roles, c.ClusterRoles = namesOf(roles.Items), namesOf(clusterRoles.Items)
	c.ServiceAccounts, c.Claims = namesOf(accounts.Items), namesOf(claims.Items)
	c.StorageClasses, c.PriorityClasses = namesOf(storage.Items), namesOf(priority.Items)
	c.IngressClasses, c.RuntimeClasses = namesOf(ingress.Items), namesOf(runtimes.Items)
	if c.View != nil {
		view := *c.View // the gate's own stays as it is
		view.RuntimeClasses = map[string]*nodev1.RuntimeClass{}
		for i := range runtimes.Items {
			view.RuntimeClasses[runtimes.Items[i].Name] = &runtimes.Items[i]
		}
		c.View = &view
	}
	c.ClaimSpecs, c.Provisioners = map[string]corev1.PersistentVolumeClaimSpec{}, map[string]string{}
	for i := range claims.Items {
		c.ClaimSpecs[infra.NamespacedName(claims.Items[i].Namespace, claims.Items[i].Name)] = claims.Items[i].Spec
	}
	c.Volumes = map[string]*corev1.PersistentVolume{}
	for i := range volumes.Items {
		c.Volumes[volumes.Items[i].Name] = &volumes.Items[i]
	}
	for i := range storage.Items {
		c.Provisioners[storage.Items[i].Name] = storage.Items[i].Provisioner
		c.DefaultClass = c.DefaultClass || storage.Items[i].Annotations[simulate.DefaultClass] == "true"
	}
	return nil
}

func keysOf[V any](data map[string]V) map[string]bool {
	keys := map[string]bool{}
	for k := range data {
		keys[k] = true
	}
	return keys
}

// namesOf is generic over the item types of lists, whose pointers are objects.
func namesOf[T any, P interface {
	*T
	metav1.Object
}](items []T) map[string]bool {
	names := map[string]bool{}
	for i := range items {
		o := P(&items[i])
		names[infra.NamespacedName(o.GetNamespace(), o.GetName())] = true
	}
	return names
}

// LivePods lists the pods that a workload has in the cluster, with what the API server and controllers have added to
// them; none before there is a cluster.
func (x *Index) LivePods(o *bundle.Object) []*corev1.Pod {
	if x.Live == nil || x.Live.View == nil {
		return nil
	}
	view, kind, namespace, name := x.Live.View, o.Object.GetKind(), o.Object.GetNamespace(), o.Object.GetName()
	if kind == "Pod" {
		if p := view.BarePod(namespace, name); p != nil {
			return []*corev1.Pod{p}
		}
		return nil
	}
	return view.PodsOf[view.Live[observe.WorkloadKey(kind, namespace, name)].UID]
}
