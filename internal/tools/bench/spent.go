package main

import (
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/google/pprof/profile"
)

// profileMarks are those of the table of what CPU time is spent on.
var profileMarks = marks{"<!-- made by `make bench-profile UPDATE=1` -->\n", "<!-- end of what `make bench-profile` made -->\n"}

// purpose is what a process spends time on: a sample belongs to the first purpose of which a
// function of its stack has one of the patterns in its name.
type purpose struct {
	name string
	has  []string
}

// purposes are a process's.
func purposes(process string) []purpose {
	garbage := purpose{"collecting garbage", []string{"runtime.gcBgMarkWorker", "runtime.gcAssistAlloc", "runtime.bgsweep", "runtime.bgscavenge"}}
	scheduling := purpose{"Go's scheduler and timers", []string{"runtime.mcall", "runtime.schedule", "runtime.findRunnable", "runtime.sysmon", "runtime.mstart"}}
	return append(append([]purpose{garbage}, work(process)...), scheduling)
}

// work are the purposes that are a process's own.
func work(process string) []purpose {
	switch process {
	case "kube-apiserver":
		return []purpose{
			{"OpenAPI documents", []string{"k8s.io/kube-openapi/", "/controller/openapi", "/controllers/openapi", "gnostic-models"}},
			{"CRDs: controllers and handlers of a new kind", []string{"k8s.io/apiextensions-apiserver/pkg/controller/", ".(*crdHandler).getOrCreateServingInfoFor", "k8s.io/apiextensions-apiserver/pkg/registry/customresourcedefinition"}},
			{"start-up", []string{"main.main", "k8s.io/apiserver/pkg/server.(*GenericAPIServer).InstallAPIGroup", "runtime.doInit"}},
			{"patches and updates", []string{"handlers.PatchResource", "handlers.UpdateResource", "handlers.(*patcher)", "generic/registry.(*Store).Update"}},
			{"creations and deletions", []string{"handlers.createHandler", "handlers.DeleteResource", "handlers.DeleteCollection", "generic/registry.(*Store).Create", "generic/registry.(*Store).Delete"}},
			{"reads and lists", []string{"handlers.getResourceHandler", "handlers.ListResource"}},
			{"watches", []string{"handlers.(*WatchServer)", "handlers.serveWatchHandler", "storage/cacher.(*cacheWatcher)", "storage/cacher.(*Cacher).dispatch", "storage/etcd3.(*watchChan)", "storage/cacher.(*watchCache)", "client-go/tools/cache."}},
			{"discovery", []string{"endpoints/discovery"}},
			{"HTTP, TLS and authentication of requests", []string{"net/http.", "golang.org/x/net/http2", "crypto/tls"}},
			{"etcd's client", []string{"google.golang.org/grpc", "go.etcd.io/etcd/client"}},
		}
	case "argocd-application-controller":
		return []purpose{
			{"comparing Applications with the cluster", []string{".CompareAppState"}},
			{"operations (syncs)", []string{".processAppOperationQueueItem"}},
			{"other work on Applications", []string{".processAppRefreshQueueItem", ".processProjectQueueItem", ".processAppHydrateQueueItem"}},
			{"its cache of the cluster", []string{"gitops-engine/pkg/cache.", "argo-cd/v3/controller/cache."}},
			{"watches", []string{"client-go/tools/cache.(*Reflector)", "client-go/rest/watch", "apimachinery/pkg/watch."}},
			{"HTTP and TLS", []string{"net/http.", "golang.org/x/net/http2", "crypto/tls"}},
		}
	case "argocd-repo-server":
		return []purpose{
			{"reading rendered manifests", []string{"utils/kube.SplitYAML"}},
			{"charts: pulling, unpacking, rendering", []string{".helmTemplate", "argo-cd/v3/util/helm.", "argo-cd/v3/util/oci.", "oras.land/", "argo-cd/v3/util/io/files"}},
			{"the rest of a request for manifests", []string{"argo-cd/v3/reposerver"}},
		}
	default: // Flux's controllers
		return []purpose{
			{"rendering and applying releases", []string{"helm.sh/helm/v4/pkg/action", "helm.sh/helm/v3/pkg/action", "helm-controller/internal/action"}},
			{"other reconciliation", []string{"controller-runtime/pkg/internal/controller.(*Controller"}},
			{"watches", []string{"client-go/tools/cache.(*Reflector)", "client-go/rest/watch", "apimachinery/pkg/watch."}},
		}
	}
}

// spent are the CPU times of one process, by purpose; what has none is under rest.
func spent(process string, profiles []*profile.Profile) (byPurpose map[string]time.Duration, sum time.Duration) {
	byPurpose = map[string]time.Duration{}
	all := purposes(process)
	for _, one := range profiles {
		value := slices.IndexFunc(one.SampleType, func(t *profile.ValueType) bool { return t.Type == "cpu" })
		if value < 0 {
			continue
		}
		for _, s := range one.Sample {
			d := time.Duration(s.Value[value])
			sum += d
			byPurpose[purposeOf(all, s)] += d
		}
	}
	return byPurpose, sum
}

const rest = "the rest"

func purposeOf(all []purpose, s *profile.Sample) string {
	for _, p := range all {
		for _, l := range s.Location {
			for _, line := range l.Line {
				if line.Function != nil && slices.ContainsFunc(p.has, func(part string) bool { return strings.Contains(line.Function.Name, part) }) {
					return p.name
				}
			}
		}
	}
	return rest
}

// benchProfile runs a recipe through each lane and says what the CPU time of its processes is spent
// on.
func benchProfile(ctx context.Context, dir string, lanes, args []string, stderr io.Writer) (string, error) {
	bin, err := buildMatrix(ctx, dir, stderr)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	fmt.Fprintf(&b, "| `matrix run %s -d LANE` | process | CPU time | of it |\n|---|---|--:|---|\n", strings.Join(args, " "))
	var counts strings.Builder
	fmt.Fprint(&counts, "| lane | requests | the most frequent |\n|---|--:|---|\n")
	for _, lane := range lanes {
		all, err := profileLane(ctx, bin, lane, args, stderr)
		if err != nil {
			return "", err
		}
		for _, of := range all {
			if line := spentRow(lane, of); line != "" {
				b.WriteString(line)
			}
			if of.requests != nil {
				counts.WriteString(requestsRow(lane, of.requests))
			}
		}
	}
	return b.String() + "\n" + counts.String(), nil
}

// profileLane runs one lane while its processes are profiled.
func profileLane(ctx context.Context, bin, lane string, args []string, stderr io.Writer) ([]*profiled, error) {
	var all []*profiled
	_, err := runMatrix(ctx, bin, append(slices.Clone(args), "--deployer", lane), stderr, func(ctx context.Context, pid int) { all = new(profiler).watch(ctx, pid) })
	return all, err
}

// least is the CPU time from which a process has a row.
const least = time.Second

func spentRow(lane string, of *profiled) string {
	byPurpose, sum := spent(of.name, of.profiles)
	if sum < least {
		return ""
	}
	var parts []string
	for _, name := range byValue(byPurpose) {
		if percent := 100 * float64(byPurpose[name]) / float64(sum); percent >= 1 {
			parts = append(parts, fmt.Sprintf("%s %.0f %%", name, percent))
		}
	}
	return fmt.Sprintf("| %s | %s | %s | %s |\n", lane, of.name, seconds(sum), strings.Join(parts, ", "))
}

// mostFrequent is how many kinds of requests a row names.
const mostFrequent = 10

func requestsRow(lane string, counts map[string]float64) string {
	var sum float64
	for _, n := range counts {
		sum += n
	}
	names := byValue(counts)
	var parts []string
	for _, name := range names[:min(mostFrequent, len(names))] {
		parts = append(parts, fmt.Sprintf("%.0f %s", counts[name], name))
	}
	return fmt.Sprintf("| %s | %.0f | %s |\n", lane, sum, strings.Join(parts, ", "))
}

// byValue are a map's keys, the largest value first.
func byValue[V time.Duration | float64](m map[string]V) []string {
	return slices.SortedFunc(maps.Keys(m), func(a, b string) int {
		if m[a] != m[b] {
			if m[a] > m[b] {
				return -1
			}
			return 1
		}
		return strings.Compare(a, b)
	})
}
