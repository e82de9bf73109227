package main

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	goruntime "runtime"
	"strings"
	"sync"
	"time"
	_ "unsafe" // go:linkname

	cadvisorapi "github.com/google/cadvisor/info/v1"
	cadvisorapiv2 "github.com/google/cadvisor/info/v2"
	_ "github.com/moby/sys/userns"
	noop "go.opentelemetry.io/otel/trace/noop"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/uuid"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	clientset "k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/record"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
	apitest "k8s.io/cri-api/pkg/apis/testing"
	kubeletapp "k8s.io/kubernetes/cmd/kubelet/app"
	"k8s.io/kubernetes/cmd/kubelet/app/options"
	"k8s.io/kubernetes/pkg/api/legacyscheme"
	"k8s.io/kubernetes/pkg/kubelet"
	kubeletconfig "k8s.io/kubernetes/pkg/kubelet/apis/config"
	"k8s.io/kubernetes/pkg/kubelet/cadvisor"
	"k8s.io/kubernetes/pkg/kubelet/cm"
	podconfig "k8s.io/kubernetes/pkg/kubelet/config"
	kubecontainer "k8s.io/kubernetes/pkg/kubelet/container"
	kubeletutil "k8s.io/kubernetes/pkg/kubelet/util"
	"k8s.io/kubernetes/pkg/util/oom"
	"k8s.io/kubernetes/pkg/volume"
	"k8s.io/kubernetes/pkg/volume/util/hostutil"
	"k8s.io/kubernetes/pkg/volume/util/subpath"
	"k8s.io/mount-utils"
)

// In a user namespace a kubelet goes on without /dev/kmsg, which an ordinary user may not read.
//
//go:linkname inUserNS github.com/moby/sys/userns.inUserNS
var inUserNS func() bool

const node = "decides"

// askKubelet starts one kubelet whose container runtime, mounts and API server are made up, gives it the pods, and waits
// until each runs or something has been said of it.
func askKubelet(ctx context.Context, q *question, all map[string]*read, to *answer) error {
	a := &answers{node: node, pods: map[string]*v1.Pod{}, objects: map[string]map[string]runtime.Object{}, status: map[string]v1.PodStatus{}, writes: map[string]int{}, watched: map[string]bool{}}
	a.add(kubernetes)
	var pods []*v1.Pod
	names := map[string]string{}
	for name, r := range all {
		p := simplified(r.pod)
		key := p.Namespace + "/" + p.Name
		if names[key] != "" {
			return fmt.Errorf("inputs %s and %s have the same pod %s", names[key], name, key)
		}
		names[key], a.pods[key], pods = name, p, append(pods, p)
		for _, o := range r.objects {
			a.add(o)
		}
	}
	if len(pods) == 0 {
		return nil
	}
	events, err := startKubelet(ctx, q.Root, a, pods)
	if err != nil {
		return err
	}
	begin, settled := time.Now(), map[string]time.Time{}
	// Some never are decided, e.g. without a driver that attaches a volume: they end it when nothing else changes.
	// With many, more than a few seconds pass at times until a kubelet comes to the next.
	changed, before, quiet := begin, -1, max(6*time.Second, min(time.Duration(len(names))*50*time.Millisecond, 20*time.Second))
	for time.Since(begin) < q.limit() && time.Since(changed) < quiet {
		time.Sleep(100 * time.Millisecond)
		open := 0
		for key := range names {
			word, reason, _ := a.state(key, events)
			if word == "undecided" {
				delete(settled, key)
				open++
			} else if settled[key].IsZero() {
				settled[key] = time.Now()
				open++
			} else if word == "refused" && time.Since(settled[key]) < patience(reason) {
				open++
			}
		}
		if open == 0 {
			break
		}
		if open != before {
			changed, before = time.Now(), open
		}
	}
	for key, name := range names {
		word, reason, message := a.state(key, events)
		to.Verdicts[name] = verdict{Word: word, Reason: reason, Message: message}
	}
	to.Requests = a.writes
	return nil
}

// patience is how long something that a kubelet tries again has to stay as it is.
func patience(reason string) time.Duration {
	if strings.HasPrefix(reason, "Failed") {
		return 4 * time.Second
	}
	return time.Second
}

func (a *answers) add(o runtime.Object) {
	if s, ok := o.(*v1.Service); ok && len(s.Spec.Ports) == 0 {
		s.Spec.ClusterIP = v1.ClusterIPNone // the API server takes no other without ports
	} else if ok && s.Spec.ClusterIP == "" && s.Spec.Type != v1.ServiceTypeExternalName {
		s.Spec.ClusterIP = "10.96.0.2" // as the API server does it
	}
	m, err := meta.Accessor(o)
	kinds, _, err2 := legacyscheme.Scheme.ObjectKinds(o)
	if err != nil || err2 != nil {
		return
	}
	resource, _ := meta.UnsafeGuessKindToResource(kinds[0])
	if a.objects[resource.Resource] == nil {
		a.objects[resource.Resource] = map[string]runtime.Object{}
	}
	a.objects[resource.Resource][m.GetNamespace()+"/"+m.GetName()] = o
}

// simplified is a copy on the node, without what a scheduler, a probe or the host would have to answer.
func simplified(p *v1.Pod) *v1.Pod {
	p = p.DeepCopy()
	p.UID, p.Spec.NodeName = uuid.NewUUID(), node
	if p.Annotations == nil {
		p.Annotations = map[string]string{}
	}
	p.Annotations["kubernetes.io/config.source"] = "api"
	s := &p.Spec
	s.NodeSelector, s.Affinity, s.ResourceClaims, s.RuntimeClassName, s.TopologySpreadConstraints = nil, nil, nil, nil, nil
	s.Resources = nil // the limits of a pod are a group of processes, which there is none of here
	if s.SecurityContext != nil {
		s.SecurityContext.AppArmorProfile = nil
	}
	for _, list := range [][]v1.Container{s.InitContainers, s.Containers} {
		for i := range list {
			c := &list[i]
			c.Resources.Claims, c.ReadinessProbe, c.LivenessProbe, c.StartupProbe = nil, nil, nil, nil
			if c.ImagePullPolicy == v1.PullNever {
				c.ImagePullPolicy = v1.PullIfNotPresent // whether the node has the image is the node's matter
			}
			if len(p.Spec.ImagePullSecrets) > 0 {
				c.ImagePullPolicy = v1.PullAlways // else no login is read
			}
			if c.SecurityContext != nil {
				c.SecurityContext.AppArmorProfile = nil
			}
			if l := c.Lifecycle; l != nil && l.PostStart != nil && !unnamedPort(c, l.PostStart) {
				l.PostStart = &v1.LifecycleHandler{Exec: &v1.ExecAction{Command: []string{"true"}}}
			}
			if s.HostNetwork {
				c.Ports = nil
			}
			for j := range c.Ports {
				c.Ports[j].HostPort = 0
			}
		}
	}
	for i := range s.Volumes {
		v := &s.Volumes[i]
		if v.HostPath != nil {
			v.HostPath.Type = nil
		}
		if v.PersistentVolumeClaim != nil || v.Ephemeral != nil {
			v.VolumeSource = v1.VolumeSource{EmptyDir: &v1.EmptyDirVolumeSource{}}
		}
		if v.Projected != nil {
			kept := v.Projected.Sources[:0]
			for _, from := range v.Projected.Sources {
				if from.ServiceAccountToken == nil && from.ClusterTrustBundle == nil && from.PodCertificate == nil {
					kept = append(kept, from)
				}
			}
			if len(kept) < len(v.Projected.Sources) {
				p.Annotations[leftOut+v.Name] = "yes"
			}
			v.Projected.Sources = kept
		}
	}
	return p
}

// unnamedPort reports whether a hook asks a port by a name that the container gives to none: only then nothing is called.
func unnamedPort(c *v1.Container, h *v1.LifecycleHandler) bool {
	if h.HTTPGet == nil || h.HTTPGet.Port.Type != intstr.String {
		return false
	}
	for _, p := range c.Ports {
		if p.Name == h.HTTPGet.Port.StrVal {
			return false
		}
	}
	return true
}

// heard are a pod's events that are no good news.
type heard struct {
	mu     sync.Mutex
	events map[string][2]string // the last reason and message
}

// state is what has become of a pod so far.
func (a *answers) state(key string, h *heard) (word, reason, message string) {
	a.mu.Lock()
	s := a.status[key]
	a.mu.Unlock()
	if s.Reason != "" {
		return "refused", s.Reason, s.Message
	}
	if s.Phase == v1.PodSucceeded {
		return "starts", "", ""
	}
	statuses := append(append([]v1.ContainerStatus{}, s.InitContainerStatuses...), s.ContainerStatuses...)
	waiting := len(s.ContainerStatuses) == 0
	for _, c := range statuses {
		w := c.State.Waiting
		if w != nil && w.Reason != "PodInitializing" && w.Reason != "ContainerCreating" {
			return "refused", w.Reason, "container " + c.Name + ": " + w.Message
		}
		waiting = waiting || w != nil
	}
	h.mu.Lock()
	e, said := h.events[key]
	h.mu.Unlock()
	if !waiting && s.Phase == v1.PodRunning && e[0] != "FailedPostStartHook" {
		return "starts", "", ""
	}
	if said {
		return "refused", e[0], e[1]
	}
	return "undecided", "", ""
}

func startKubelet(ctx context.Context, root string, a *answers, pods []*v1.Pod) (*heard, error) {
	inUserNS = func() bool { return true }
	if err := utilfeature.DefaultMutableFeatureGate.Set("KubeletInUserNamespace=true,WatchListClient=false"); err != nil { // lists are answered, streams of them are not
		return nil, err
	}
	root, err := filepath.Abs(cmp.Or(root, os.TempDir()))
	if err != nil {
		return nil, err
	}
	if err := os.Chdir(root); err != nil {
		return nil, err
	}
	client, err := clientset.NewForConfig(&rest.Config{Host: "http://nowhere.invalid", Transport: a, QPS: -1, ContentConfig: rest.ContentConfig{ContentType: "application/json", AcceptContentTypes: "application/json"}})
	if err != nil {
		return nil, err
	}
	f, c, err := settings(root)
	if err != nil {
		return nil, err
	}
	plugins, err := kubeletapp.ProbeVolumePlugins(ctx, utilfeature.DefaultFeatureGate)
	if err != nil {
		return nil, err
	}
	fake := apitest.NewFakeRuntimeService()
	fake.FakeStatus = &runtimeapi.RuntimeStatus{Conditions: []*runtimeapi.RuntimeCondition{{Type: runtimeapi.RuntimeReady, Status: true}, {Type: runtimeapi.NetworkReady, Status: true}}}
	h := &heard{events: map[string][2]string{}}
	b := record.NewBroadcaster(record.WithContext(ctx))
	b.StartEventWatcher(func(e *v1.Event) {
		if e.Type == v1.EventTypeNormal || e.InvolvedObject.Kind != "Pod" {
			return
		}
		// None of these keeps the containers from starting.
		if e.Reason == "FailedToRetrieveImagePullSecret" || e.Reason == "DNSConfigForming" || e.Reason == "InvalidEnvironmentVariableNames" {
			return
		}
		h.mu.Lock()
		defer h.mu.Unlock()
		h.events[e.InvolvedObject.Namespace+"/"+e.InvolvedObject.Name] = [2]string{e.Reason, e.Message}
	})
	deps := &kubelet.Dependencies{
		KubeClient: client, HeartbeatClient: client, EventClient: client.CoreV1(),
		Recorder:             b.NewRecorder(legacyscheme.Scheme, v1.EventSource{Component: "kubelet", Host: node}),
		RemoteRuntimeService: &containers{FakeRuntimeService: fake, a: a, logs: filepath.Join(root, "logs")}, RemoteImageService: images{apitest.NewFakeImageService()},
		CAdvisorInterface: machine{}, OSInterface: system{root: root}, ContainerManager: resources{cm.NewStubContainerManagerWithDevicePluginResource(v1.ResourceList{})},
		VolumePlugins: withoutHost(plugins), OOMAdjuster: oom.NewFakeOOMAdjuster(), Mounter: &mount.FakeMounter{}, Subpather: &subpath.FakeSubpath{}, HostUtil: files{hostutil.NewFakeHostUtil(nil)},
		PodStartupLatencyTracker: kubeletutil.NewPodStartupLatencyTracker(), NodeStartupLatencyTracker: kubeletutil.NewNodeStartupLatencyTracker(), TracerProvider: noop.NewTracerProvider(),
	}
	deps.PodConfig = podconfig.NewPodConfig(deps.Recorder, deps.PodStartupLatencyTracker)
	if err := kubeletapp.RunKubelet(ctx, &options.KubeletServer{KubeletFlags: *f, KubeletConfiguration: *c}, deps); err != nil {
		return nil, err
	}
	if err := a.hasRead("services", "nodes"); err != nil { // it makes no variables of Services before
		return nil, err
	}
	send(deps.PodConfig.Channel(ctx, "api"), pods)
	return h, nil
}

// send is generic since the channel's type has no name outside of its package.
func send[T ~struct{ Pods []*v1.Pod }](to chan<- T, pods []*v1.Pod) {
	to <- T(struct{ Pods []*v1.Pod }{pods})
}

// settings are a kubelet's that listens nowhere, evicts nothing and touches no cgroup.
func settings(root string) (*options.KubeletFlags, *kubeletconfig.KubeletConfiguration, error) {
	for _, dir := range []string{"logs", "kubelet"} {
		if err := os.MkdirAll(filepath.Join(root, dir), 0o700); err != nil {
			return nil, nil, err
		}
	}
	f := options.NewKubeletFlags()
	f.RootDirectory, f.HostnameOverride, f.CertDirectory = filepath.Join(root, "kubelet"), node, filepath.Join(root, "kubelet", "pki")
	f.MaxContainerCount, f.MaxPerPodContainerCount, f.NodeLabels = 100, 2, map[string]string{"kubernetes.io/os": goruntime.GOOS}
	c, err := options.NewKubeletConfiguration()
	if err != nil {
		return nil, nil, err
	}
	c.EnableServer, c.ReadOnlyPort, c.Address, c.RegisterNode = false, 0, "127.0.0.1", false
	c.StaticPodPath, c.PodLogsDir, c.ContainerRuntimeEndpoint, c.ResolverConfig = "", filepath.Join(root, "logs"), "unix:///nowhere", ""
	c.MakeIPTablesUtilChains, c.CgroupsPerQOS, c.CgroupRoot, c.EnforceNodeAllocatable = false, false, "", nil
	c.EvictionHard, c.EvictionSoft, c.EnableControllerAttachDetach, c.LocalStorageCapacityIsolation = nil, nil, true, true
	c.ImageGCHighThresholdPercent, c.ImageGCLowThresholdPercent, c.ImageMaximumGCAge.Duration = 100, 80, 0
	c.MaxPods, c.MaxOpenFiles, c.RegistryPullQPS, c.EventRecordQPS = 10000, 1024, 0, 0
	c.ClusterDNS, c.ClusterDomain, c.ProviderID = []string{"10.96.0.10"}, "cluster.local", "decides://"+node
	c.ConfigMapAndSecretChangeDetectionStrategy = kubeletconfig.GetChangeDetectionStrategy
	c.FailSwapOn = false
	return f, c, nil
}

// withoutHost leaves out plugins that call programs of the machine.
func withoutHost(all []volume.VolumePlugin) (kept []volume.VolumePlugin) {
	for _, p := range all {
		if name := p.GetPluginName(); name != "kubernetes.io/iscsi" && name != "kubernetes.io/fc" {
			kept = append(kept, p)
		}
	}
	return kept
}

// containers run without a process. Init containers, and those of pods that are not started again, end at once.
type containers struct {
	*apitest.FakeRuntimeService
	a    *answers
	logs string
}

// CreateContainer fails for a subPath that a volume of a Secret, a ConfigMap or fields of the pod does not have. A kubelet
// makes an empty directory there, and starts a container that does not find its file.
func (r *containers) CreateContainer(ctx context.Context, sandbox string, c *runtimeapi.ContainerConfig, s *runtimeapi.PodSandboxConfig) (string, error) {
	p := r.a.pods[s.GetMetadata().GetNamespace()+"/"+s.GetMetadata().GetName()]
	for _, m := range c.Mounts {
		_, rest, _ := strings.Cut(m.HostPath, "/volumes/kubernetes.io~")
		parts := strings.SplitN(rest, "/", 3)
		if len(parts) < 3 || p == nil || parts[2] == "" || mayLack(p, parts[0], parts[1]) {
			continue
		}
		if _, err := os.Stat(m.HostPath); err != nil {
			return "", fmt.Errorf("volume %s has no %s (subPath)", parts[1], parts[2])
		}
	}
	return r.FakeRuntimeService.CreateContainer(ctx, sandbox, c, s)
}

// mayLack reports whether a volume is of another kind, is optional, or lacks what simplified left out.
func mayLack(p *v1.Pod, plugin, name string) bool {
	if plugin == "empty-dir" || p.Annotations[leftOut+name] != "" {
		return true
	}
	for i := range p.Spec.Volumes {
		v := &p.Spec.Volumes[i]
		if v.Name != name {
			continue
		}
		optional := []*bool{}
		switch {
		case v.Secret != nil:
			optional = append(optional, v.Secret.Optional)
		case v.ConfigMap != nil:
			optional = append(optional, v.ConfigMap.Optional)
		case v.Projected != nil:
			for _, s := range v.Projected.Sources {
				if s.Secret != nil {
					optional = append(optional, s.Secret.Optional)
				}
				if s.ConfigMap != nil {
					optional = append(optional, s.ConfigMap.Optional)
				}
			}
		default:
			return v.DownwardAPI == nil
		}
		for _, o := range optional {
			if o != nil && *o {
				return true
			}
		}
		return false
	}
	return true
}

// leftOut begins the annotation of a pod whose projected volume has no token in the copy.
const leftOut = "decides/"

// StartContainer starts one.
func (r *containers) StartContainer(ctx context.Context, id string) error {
	if err := r.FakeRuntimeService.StartContainer(ctx, id); err != nil {
		return err
	}
	r.Lock()
	labels := r.Containers[id].Labels
	r.Unlock()
	p := r.a.pods[labels["io.kubernetes.pod.namespace"]+"/"+labels["io.kubernetes.pod.name"]]
	if p == nil {
		return nil
	}
	ends := p.Spec.RestartPolicy != v1.RestartPolicyAlways
	for _, c := range p.Spec.InitContainers {
		if c.Name == labels["io.kubernetes.container.name"] {
			ends = c.RestartPolicy == nil || *c.RestartPolicy != v1.ContainerRestartPolicyAlways
		}
	}
	if ends {
		time.AfterFunc(50*time.Millisecond, func() {
			r.Lock()
			defer r.Unlock()
			if c := r.Containers[id]; c != nil {
				c.State, c.FinishedAt, c.Reason = runtimeapi.ContainerState_CONTAINER_EXITED, time.Now().UnixNano(), "Completed"
			}
		})
	}
	return nil
}

// Status says that the runtime can do all that a kubelet may ask.
func (r *containers) Status(ctx context.Context, verbose bool) (*runtimeapi.StatusResponse, error) {
	s, err := r.FakeRuntimeService.Status(ctx, verbose)
	if err == nil {
		s.RuntimeHandlers = []*runtimeapi.RuntimeHandler{{Features: &runtimeapi.RuntimeHandlerFeatures{RecursiveReadOnlyMounts: true, UserNamespaces: true}}}
		s.Features = &runtimeapi.RuntimeFeatures{SupplementalGroupsPolicy: true}
	}
	return s, err
}

// images have an ordinary user: without one a kubelet takes them for root's.
type images struct{ *apitest.FakeImageService }

// ImageStatus is that of an image.
func (i images) ImageStatus(ctx context.Context, spec *runtimeapi.ImageSpec, verbose bool) (*runtimeapi.ImageStatusResponse, error) {
	s, err := i.FakeImageService.ImageStatus(ctx, spec, verbose)
	if err == nil && s.Image != nil {
		s.Image.Uid = &runtimeapi.Int64Value{Value: 65532}
	}
	return s, err
}

// system is this machine's below the root, and empty elsewhere: the fake runtime gives no log's path, and a kubelet
// would remove the files of the working directory.
type system struct {
	kubecontainer.RealOS
	root string
}

func (s system) own(path string) bool { return strings.HasPrefix(path, s.root+"/") }

// Glob finds files.
func (s system) Glob(pattern string) ([]string, error) {
	if !s.own(pattern) {
		return nil, nil
	}
	return s.RealOS.Glob(pattern)
}

// Remove removes a file.
func (s system) Remove(path string) error {
	if !s.own(path) {
		return nil
	}
	return s.RealOS.Remove(path)
}

// RemoveAll removes a directory.
func (s system) RemoveAll(path string) error {
	if !s.own(path) {
		return nil
	}
	return s.RealOS.RemoveAll(path)
}

// MkdirAll makes a directory.
func (s system) MkdirAll(path string, mode os.FileMode) error {
	if !s.own(path) {
		return nil
	}
	return s.RealOS.MkdirAll(path, mode)
}

// Symlink makes a link.
func (s system) Symlink(old, path string) error {
	if !s.own(path) {
		return nil
	}
	return s.RealOS.Symlink(old, path)
}

// files are those of a host that has all of them.
type files struct{ *hostutil.FakeHostUtil }

// PathExists is true.
func (files) PathExists(string) (bool, error) { return true, nil }

// GetMode is a directory's.
func (files) GetMode(string) (os.FileMode, error) { return 0o755 | os.ModeDir, nil }

// machine has more than any pod requests.
type machine struct{ cadvisor.Interface }

// MachineInfo is that of the machine.
func (machine) MachineInfo() (*cadvisorapi.MachineInfo, error) {
	return &cadvisorapi.MachineInfo{NumCores: 100000, MemoryCapacity: 1 << 50, BootID: "b", MachineID: "m", SystemUUID: "s",
		HugePages: []cadvisorapi.HugePagesInfo{{PageSize: 2 << 10, NumPages: 1 << 30}, {PageSize: 1 << 20, NumPages: 1 << 30}}}, nil
}

// VersionInfo is that of its kernel.
func (machine) VersionInfo() (*cadvisorapi.VersionInfo, error) {
	return &cadvisorapi.VersionInfo{KernelVersion: "6.8.0", ContainerOsVersion: "Ubuntu 24.04"}, nil
}

// Start does nothing.
func (machine) Start() error { return nil }

// ContainerInfoV2 is of none.
func (machine) ContainerInfoV2(string, cadvisorapiv2.RequestOptions) (map[string]cadvisorapiv2.ContainerInfo, error) {
	return map[string]cadvisorapiv2.ContainerInfo{}, nil
}

// GetRequestedContainersInfo is of none.
func (machine) GetRequestedContainersInfo(string, cadvisorapiv2.RequestOptions) (map[string]*cadvisorapi.ContainerInfo, error) {
	return map[string]*cadvisorapi.ContainerInfo{}, nil
}

func disk() cadvisorapiv2.FsInfo { return cadvisorapiv2.FsInfo{Capacity: 1 << 50, Available: 1 << 50} }

// ImagesFsInfo is a large disk.
func (machine) ImagesFsInfo(context.Context) (cadvisorapiv2.FsInfo, error) { return disk(), nil }

// RootFsInfo is a large disk.
func (machine) RootFsInfo() (cadvisorapiv2.FsInfo, error) { return disk(), nil }

// ContainerFsInfo is a large disk.
func (machine) ContainerFsInfo(context.Context) (cadvisorapiv2.FsInfo, error) { return disk(), nil }

// GetDirFsInfo is a large disk.
func (machine) GetDirFsInfo(string) (cadvisorapiv2.FsInfo, error) { return disk(), nil }

type resources struct{ cm.ContainerManager }

// GetCapacity is that of the disk.
func (resources) GetCapacity(bool) v1.ResourceList {
	return v1.ResourceList{v1.ResourceEphemeralStorage: *resource.NewQuantity(1<<50, resource.BinarySI)}
}
