package everyday

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/infra/simulate"
	"github.com/nvidia/aicr-action/internal/matrix/refs/problem/problemtest"
	"github.com/nvidia/aicr-action/internal/result/reason"
)

// What every deployer and a simulated cluster take, and what does not work on a real one.
func TestFind_Silent(t *testing.T) {
	const web = "---\napiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web, namespace: x}\nspec: {selector: {matchLabels: {app: web}}, template: {metadata: {labels: {app: web}}, spec: {serviceAccountName: op, containers: [{name: c, image: i, args: [--driver=a.csi.example.com]}]}}}\n"
	const role = "---\napiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRoleBinding\nmetadata: {name: b}\nroleRef: {kind: ClusterRole, name: r}\nsubjects: [{kind: ServiceAccount, name: op, namespace: x}]\n"
	policy := func(name, spec string) string {
		return "---\napiVersion: networking.k8s.io/v1\nkind: NetworkPolicy\nmetadata: {name: " + name + ", namespace: x}\nspec: {" + spec + "}\n"
	}
	account := func(more string) string {
		return "---\napiVersion: v1\nkind: ServiceAccount\nmetadata: {name: op, namespace: x}\n" + more
	}
	job := func(spec, pod string) string {
		return "---\napiVersion: batch/v1\nkind: Job\nmetadata: {name: j, namespace: x}\nspec: {" + spec + "template: {spec: {" + pod + "containers: [{name: c}]}}}\n"
	}
	storage := func(name, by, def string) string {
		return "---\napiVersion: storage.k8s.io/v1\nkind: StorageClass\nmetadata: {name: " + name + ", annotations: {storageclass.kubernetes.io/is-default-class: '" + def + "'}}\nprovisioner: " + by + "\n"
	}
	claim := func(class string) string {
		return "---\napiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {name: d, namespace: x}\nspec: {storageClassName: " + class + ", accessModes: [ReadWriteOnce]}\n"
	}
	priority := func(name, def string) string {
		return "---\napiVersion: scheduling.k8s.io/v1\nkind: PriorityClass\nmetadata: {name: " + name + "}\nvalue: 1\nglobalDefault: " + def + "\n"
	}
	made := func(kind, meta string) string {
		return "---\napiVersion: v1\nkind: " + kind + "\nmetadata: {name: o, namespace: x, " + meta + "}\n"
	}
	ingress := func(spec string) string {
		return "---\napiVersion: networking.k8s.io/v1\nkind: Ingress\nmetadata: {name: i, namespace: x}\nspec: {" + spec + "}\n"
	}
	creates := "---\napiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRole\nmetadata: {name: r}\nrules: [{apiGroups: [''], resources: [persistentvolumes], verbs: [get, create]}]\n"
	for name, c := range map[string]struct {
		objects, want string
		fault         reason.Reason
	}{
		"everything is closed":       {policy("deny", "podSelector: {}, policyTypes: [Ingress]") + web, "lets nothing reach the pods of Deployment x/web, to which Service x/web leads", ""},
		"one opens":                  {policy("deny", "podSelector: {}") + policy("open", "podSelector: {matchLabels: {app: web}}, ingress: [{}]") + web, "", ""},
		"one of others":              {policy("deny", "podSelector: {matchLabels: {app: db}}, policyTypes: [Ingress]") + web, "", ""},
		"Cilium may open":            {policy("deny", "podSelector: {}") + "---\napiVersion: cilium.io/v2\nkind: CiliumNetworkPolicy\nmetadata: {name: open, namespace: x}\n" + web, "", ""},
		"no way out":                 {policy("deny", "podSelector: {}, policyTypes: [Egress]") + role + web, "lets the pods of Deployment x/web reach nothing, and no other NetworkPolicy does; their ServiceAccount has ClusterRole r", ""},
		"no way out, and no role":    {policy("deny", "podSelector: {}, policyTypes: [Egress]") + web, "", ""},
		"a way out":                  {policy("deny", "podSelector: {}, policyTypes: [Egress], egress: [{}]") + role + web, "", ""},
		"no token, role nearby":      {account("automountServiceAccountToken: false\n") + strings.NewReplacer("ClusterRoleBinding", "RoleBinding", "{name: b}", "{name: b, namespace: x}", ", namespace: x}]", "}]").Replace(role) + web, "has ServiceAccount op, which has ClusterRole r, and its pods get no token", ""},
		"no token":                   {account("automountServiceAccountToken: false\n") + role + web, "has ServiceAccount op, which has ClusterRole r, and its pods get no token", ""},
		"no token, and no role":      {account("automountServiceAccountToken: false\n") + web, "", ""},
		"a token":                    {account("") + role + web, "", ""},
		"a token of the pod's":       {account("automountServiceAccountToken: false\n") + role + strings.Replace(web, "serviceAccountName: op", "serviceAccountName: op, automountServiceAccountToken: true", 1), "", ""},
		"a token in a volume":        {account("automountServiceAccountToken: false\n") + role + strings.Replace(web, "serviceAccountName: op", "serviceAccountName: op, volumes: [{name: t, projected: {sources: [{serviceAccountToken: {path: t}}]}}]", 1), "", ""},
		"no time at all":             {job("activeDeadlineSeconds: 1, ", ""), "must end 1 s after it has started", reason.WorkloadFailed},
		"little time":                {job("activeDeadlineSeconds: 600, ", "activeDeadlineSeconds: 5, "), "must end 5 s after it has started", ""},
		"time":                       {job("activeDeadlineSeconds: 10, ", ""), "", ""},
		"a start that is missed":     {"apiVersion: batch/v1\nkind: CronJob\nmetadata: {name: j, namespace: x}\nspec: {schedule: '* * * * *', startingDeadlineSeconds: 5, jobTemplate: {}}\n", "has startingDeadlineSeconds: 5", ""},
		"late":                       {strings.Replace(web, "spec: {", "spec: {minReadySeconds: 5000, ", 1), "has minReadySeconds: 5000, so that a pod is available only 83 minutes after it is ready", ""},
		"not late":                   {strings.Replace(web, "spec: {", "spec: {minReadySeconds: 60, ", 1), "", ""},
		"two default StorageClasses": {storage("a", "disk.csi.azure.com", "true") + storage("b", "disk.csi.azure.com", "true"), "is the default of the cluster, and so is StorageClass a", ""},
		"one default StorageClass":   {storage("a", "disk.csi.azure.com", "true") + storage("b", "disk.csi.azure.com", "false"), "", ""},
		"two default priorities":     {priority("a", "true") + priority("b", "true"), "is the default of the cluster, and so is PriorityClass a", reason.DeployFailed},
		"one default priority":       {priority("a", "false") + priority("b", "true"), "", ""},
		"nobody provisions":          {storage("a", "csi.example.com", "false") + claim("a"), "claim d is of StorageClass a, and nothing in the recipe is its provisioner, csi.example.com", reason.SchedulingFailed},
		"a provider provisions":      {storage("a", "efs.csi.aws.com", "false") + claim("a"), "", ""},
		"the cluster provisions":     {storage("a", "files.example.com", "false") + claim("a"), "", ""},
		"a workload provisions":      {storage("a", "a.csi.example.com", "false") + claim("a") + web, "", ""},
		"a role provisions":          {storage("a", "csi.example.com", "false") + claim("a") + creates, "", ""},
		"a driver provisions":        {storage("a", "csi.example.com", "false") + claim("a") + "---\napiVersion: storage.k8s.io/v1\nkind: CSIDriver\nmetadata: {name: csi.example.com}\n", "", ""},
		"a class of the cluster's":   {claim("standard"), "", ""},
		"a finalizer":                {made("ConfigMap", "finalizers: [example.com/keep]"), "has the finalizer example.com/keep", ""},
		"a finalizer of Kubernetes'": {made("ConfigMap", "finalizers: [kubernetes.io/pv-protection, foregroundDeletion, service.k8s.aws/resources]"), "", ""},
		"everybody's account":        {"apiVersion: v1\nkind: ServiceAccount\nmetadata: {name: default, namespace: x}\n", "is Kubernetes' own: the controller manager makes it in every namespace", ""},
		"a weight":                   {made("ConfigMap", "annotations: {helm.sh/hook: pre-install, helm.sh/hook-weight: first}"), `has helm.sh/hook-weight: "first", which is no number`, ""},
		"a wave":                     {made("ConfigMap", "annotations: {argocd.argoproj.io/sync-wave: '1.5'}"), `has argocd.argoproj.io/sync-wave: "1.5", which is no number`, ""},
		"numbers":                    {made("ConfigMap", "annotations: {argocd.argoproj.io/sync-wave: '-1', helm.sh/hook-weight: '5'}"), "", ""},
		"an Ingress of no class":     {ingress(""), "names no IngressClass (spec.ingressClassName)", ""},
		"an Ingress of a class":      {ingress("ingressClassName: a"), "", ""},
		"an Ingress of the default":  {ingress("") + "---\napiVersion: networking.k8s.io/v1\nkind: IngressClass\nmetadata: {name: a, annotations: {ingressclass.kubernetes.io/is-default-class: 'true'}}\n", "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			e := &bundle.Expectation{Objects: problemtest.Objects(t, "c", c.objects)}
			found := Find(e, Cluster{
				Services:     []corev1.Service{{ObjectMeta: metav1.ObjectMeta{Namespace: "x", Name: "web"}, Spec: corev1.ServiceSpec{Selector: map[string]string{"app": "web"}}}},
				Provisioners: map[string]string{"standard": simulate.Provisioner, "files": "files.example.com"},
			})
			check(t, found, c.want)
			if len(found) == 1 && found[0].Reason != c.fault {
				t.Errorf("reason %q, want %q", found[0].Reason, c.fault)
			}
		})
	}
}

func TestFind_VariablesAndSubdomain(t *testing.T) {
	env := func(more ...corev1.EnvVar) []corev1.EnvVar { return more }
	for name, c := range map[string]struct {
		pod  corev1.PodSpec
		want string
	}{
		"a later variable":        {corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Env: env(corev1.EnvVar{Name: "A", Value: "x-$(B)"}, corev1.EnvVar{Name: "B"})}}}, "variable A of container c has $(B), which comes after it"},
		"an earlier variable":     {corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Env: env(corev1.EnvVar{Name: "B"}, corev1.EnvVar{Name: "A", Value: "$(B)"})}}}, ""},
		"no variable":             {corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Env: env(corev1.EnvVar{Name: "A", Value: "$(B)"})}}}, "variable A of container c has $(B), which the container does not have"},
		"one that is escaped":     {corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Env: env(corev1.EnvVar{Name: "A", Value: "$$(B)"})}}}, ""},
		"one of a ConfigMap":      {corev1.PodSpec{Containers: []corev1.Container{{Name: "c", EnvFrom: []corev1.EnvFromSource{{}}, Args: []string{"$(B)"}}}}, ""},
		"one of a Service":        {corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Args: []string{"$(KUBERNETES_SERVICE_HOST)"}}}}, ""},
		"an argument":             {corev1.PodSpec{InitContainers: []corev1.Container{{Name: "i", Args: []string{"--name=$(POD_NAME)"}}}}, "argument --name=$(POD_NAME) of container i has $(POD_NAME), a variable that the container does not have"},
		"a script":                {corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Args: []string{"echo $(DATE)"}}}}, ""},
		"a Service for nobody":    {corev1.PodSpec{Subdomain: "nope"}, "names Service x/nope (subdomain), which does not exist"},
		"one that has an address": {corev1.PodSpec{Subdomain: "web"}, "names Service x/web (subdomain), which is not headless"},
		"a headless Service":      {corev1.PodSpec{Subdomain: "none"}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			e := &bundle.Expectation{Workloads: []bundle.Workload{{Kind: "Deployment", Namespace: "x", Name: "w", PodSpec: c.pod}}}
			check(t, Find(e, Cluster{Services: []corev1.Service{
				{ObjectMeta: metav1.ObjectMeta{Namespace: "x", Name: "web"}, Spec: corev1.ServiceSpec{ClusterIP: "10.0.0.1"}},
				{ObjectMeta: metav1.ObjectMeta{Namespace: "x", Name: "none"}, Spec: corev1.ServiceSpec{ClusterIP: "None"}},
			}}), c.want)
		})
	}
}

func TestFind_GoverningAndSnapshots(t *testing.T) {
	set := func(service, replicas string) string {
		return "apiVersion: apps/v1\nkind: StatefulSet\nmetadata: {name: db, namespace: x}\nspec: {serviceName: " + service + ", replicas: " + replicas + ", template: {metadata: {labels: {app: db}}, spec: {containers: [{name: c}]}}}\n"
	}
	const shot, class = "apiVersion: snapshot.storage.k8s.io/v1\nkind: VolumeSnapshot\nmetadata: {name: s, namespace: x}\nspec: {volumeSnapshotClassName: fast}\n", "---\napiVersion: snapshot.storage.k8s.io/v1\nkind: VolumeSnapshotClass\nmetadata: {name: fast}\n"
	for name, c := range map[string]struct{ objects, want string }{
		"a headless Service":      {set("none", "2"), ""},
		"one that has an address": {set("web", "2"), "names Service x/web (spec.serviceName), which is not headless (clusterIP: None)"},
		"for one pod":             {set("web", "1"), ""},
		"of other pods":           {set("others", "2"), "names Service x/others (spec.serviceName), which selects pods with app=web, and its own are none of them"},
		"one that is not there":   {set("nope", "2"), ""}, // another check's
		"a class that none makes": {shot, "is of VolumeSnapshotClass fast, which nothing in the recipe makes"},
		"a class of the recipe":   {shot + class, ""},
		"the default class":       {strings.Replace(shot, "volumeSnapshotClassName: fast", "", 1), ""},
	} {
		t.Run(name, func(t *testing.T) {
			e := &bundle.Expectation{Objects: problemtest.Objects(t, "c", c.objects)}
			service := func(name, ip, app string) corev1.Service {
				return corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "x", Name: name}, Spec: corev1.ServiceSpec{ClusterIP: ip, Selector: map[string]string{"app": app}}}
			}
			check(t, Find(e, Cluster{Services: []corev1.Service{service("web", "10.0.0.1", "db"), service("none", "None", "db"), service("others", "None", "web")}}), c.want)
		})
	}
}
