// Karpenter with its KWOK provider, for groups of simulated nodes. It differs from the provider's own
// main package in this: each NodePool has the one instance type of its own file, so that two groups may
// have the same one; nothing of a node is reserved, so that it has what its profile says; the limit of
// nodes holds within a batch of pods; a node has the name of its NodeClaim; the health probe listens on
// 127.0.0.1 and metrics nowhere; and every pod is told of its node.
package main

import (
	"context"
	"errors"
	"fmt"
	"log"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/flowcontrol"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"

	kwok "sigs.k8s.io/karpenter/kwok/cloudprovider"
	kwokoptions "sigs.k8s.io/karpenter/kwok/options"
	v1 "sigs.k8s.io/karpenter/pkg/apis/v1"
	"sigs.k8s.io/karpenter/pkg/cloudprovider"
	"sigs.k8s.io/karpenter/pkg/cloudprovider/overlay"
	"sigs.k8s.io/karpenter/pkg/controllers"
	"sigs.k8s.io/karpenter/pkg/controllers/provisioning/scheduling"
	"sigs.k8s.io/karpenter/pkg/controllers/state"
	"sigs.k8s.io/karpenter/pkg/operator"
	"sigs.k8s.io/karpenter/pkg/utils/resources"
)

// typesDir is the environment variable with a directory that has GROUP.json for each group: an
// instance-types file of the KWOK provider with one instance type. GROUP is the name of the NodePool.
const typesDir = "GROUP_INSTANCE_TYPES"

func main() {
	scheduling.PodNominationRateLimiter = flowcontrol.NewFakeAlwaysRateLimiter() // else of many pods some would not be told which node is made for them
	ctrl.NewManager = newManager
	ctx, op := operator.NewOperator()
	groups, err := readGroups(ctx, os.Getenv(typesDir), op.GetClient())
	if err != nil {
		log.Fatalf("read the groups of nodes: %v", err)
	}
	undecorated := &provider{CloudProvider: kwok.NewCloudProvider(ctx, op.GetClient(), nil), groups: groups}
	decorated := overlay.Decorate(undecorated, op.GetClient(), op.InstanceTypeStore)
	cluster := state.NewCluster(op.Clock, op.GetClient(), decorated)
	op.WithControllers(ctx, controllers.NewControllers(
		ctx, op.Manager, op.Clock, op.GetClient(), op.EventRecorder, decorated, undecorated, cluster, op.InstanceTypeStore,
	)...).Start(ctx)
}

// newManager is the manager of the operator, which has flags for ports and none for addresses.
func newManager(config *rest.Config, o ctrl.Options) (ctrl.Manager, error) {
	_, port, err := net.SplitHostPort(o.HealthProbeBindAddress)
	if err != nil {
		return nil, err
	}
	if _, err := strconv.Atoi(port); err != nil {
		return nil, err
	}
	o.HealthProbeBindAddress, o.Metrics = net.JoinHostPort("127.0.0.1", port), server.Options{BindAddress: "0"}
	return manager.New(config, o)
}

// group is what the nodes of a NodePool are made of.
type group struct {
	provider *kwok.CloudProvider
	types    []*cloudprovider.InstanceType
}

func readGroups(ctx context.Context, dir string, kube client.Client) (map[string]group, error) {
	files, err := filepath.Glob(filepath.Join(dir, "*.json"))
	if err != nil {
		return nil, err
	}
	if dir == "" || len(files) == 0 {
		return nil, fmt.Errorf("%s=%q has no GROUP.json", typesDir, dir)
	}
	groups := map[string]group{}
	for _, file := range files {
		types, err := kwok.ConstructInstanceTypes(kwokoptions.ToContext(ctx, &kwokoptions.Options{InstanceTypesFilePath: file}))
		if err != nil {
			return nil, err
		}
		if len(types) != 1 {
			return nil, fmt.Errorf("%s has %d instance types, want 1", file, len(types))
		}
		types[0].Overhead = &cloudprovider.InstanceTypeOverhead{}
		whole := &wholeNodes{Client: kube, capacity: types[0].Capacity.DeepCopy()}
		types[0].Capacity[resources.Node] = resource.MustParse("1") // else the limit of nodes is for what was there before a batch of pods, and not for what is made for it
		groups[strings.TrimSuffix(filepath.Base(file), ".json")] = group{kwok.NewCloudProvider(ctx, whole, types), types}
	}
	return groups, nil
}

// provider is the KWOK provider with the instance types of each NodePool.
type provider struct {
	*kwok.CloudProvider
	groups map[string]group
}

func (p *provider) Create(ctx context.Context, claim *v1.NodeClaim) (*v1.NodeClaim, error) {
	g, ok := p.groups[claim.Labels[v1.NodePoolLabelKey]]
	if !ok {
		return nil, cloudprovider.NewInsufficientCapacityError(errors.New("its NodePool is of no group"))
	}
	made, err := g.provider.Create(ctx, claim)
	if err == nil {
		made.Name, made.Status.NodeName, made.Status.ProviderID = claim.Name, claim.Name, providerPrefix+claim.Name
	}
	return made, err
}

func (p *provider) GetInstanceTypes(_ context.Context, pool *v1.NodePool) ([]*cloudprovider.InstanceType, error) {
	return p.groups[pool.Name].types, nil
}

// providerPrefix is before a node's name in the ID by which the KWOK provider finds it.
const providerPrefix = "kwok://"

// wholeNodes gives new nodes the capacity of their instance type, and the name of their NodeClaim, which is their
// host name. The KWOK provider gives them what the pods ask for that they are made for, and a random name.
type wholeNodes struct {
	client.Client
	capacity corev1.ResourceList
}

func (w *wholeNodes) Create(ctx context.Context, o client.Object, opts ...client.CreateOption) error {
	if node, ok := o.(*corev1.Node); ok {
		node = node.DeepCopy() // the provider reads it meanwhile
		node.Name = node.Labels[corev1.LabelHostname]
		node.Spec.ProviderID = providerPrefix + node.Name
		node.Status.Capacity = w.capacity.DeepCopy()
		node.Status.Allocatable = w.capacity.DeepCopy()
		o = node
	}
	return w.Client.Create(ctx, o, opts...)
}
