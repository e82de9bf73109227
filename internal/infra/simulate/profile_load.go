package simulate

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/nvidia/aicr-action/internal/infra"
	"github.com/nvidia/aicr-action/internal/util/yamlx"
)

// The header of a profile's file.
const (
	profileAPIVersion = "aicr.nvidia.com/v1alpha1"
	ProfileKind       = "KWOKNodeProfile"

	maxProfile = 1 << 20 // bytes of a file
)

// LoadProfiles reads every *.yaml in dir of fsys, strictly. Errors have file and line; all of them
// are joined.
func LoadProfiles(fsys fs.FS, dir string) ([]Profile, error) { return loadProfiles(fsys, dir, dir) }

// LayerProfiles reads the profiles at the top of fsys, which messages call root, or those of its
// directories, and puts them over others. A profile takes the place of the one with its name, and of the one for the same service,
// kind of node and accelerator; the others stay. If it is the default of its service, no other one
// of the service is. A directory without a profile is an error: it is not the one that was meant.
func LayerProfiles(under []Profile, fsys fs.FS, root string) ([]Profile, error) {
	over, err := readBelow(fsys, root)
	if err != nil {
		return nil, err
	}
	if len(over) == 0 {
		return nil, fmt.Errorf("%s has no *.yaml file, at its top or in a directory there; name a directory of %s documents", root, ProfileKind)
	}
	var all []Profile
	for _, p := range under {
		replaced := slices.ContainsFunc(over, func(o Profile) bool { return o.Metadata.Name == p.Metadata.Name || o.key() == p.key() })
		if replaced {
			for i := range over {
				if over[i].key() == p.key() && over[i].upstream {
					over[i].over(p)
				}
			}
			continue
		}
		if slices.ContainsFunc(over, func(o Profile) bool { return o.Spec.Default && o.Spec.Criteria.Service == p.Spec.Criteria.Service }) {
			p.Spec.Default = false
		}
		all = append(all, p)
	}
	return append(all, over...), nil
}

// key is what no two profiles have in common: what a recipe chooses them by.
func (p *Profile) key() string {
	s := p.Spec
	if s.NodeType == nodeTypeSystem {
		return "service " + s.Criteria.Service + ", system nodes"
	}
	return "service " + s.Criteria.Service + ", accelerator " + orAny(s.Criteria.Accelerator)
}

func loadProfiles(fsys fs.FS, dir, display string) ([]Profile, error) {
	files, err := fs.ReadDir(fsys, dir)
	if err != nil {
		return nil, fmt.Errorf("read the node profiles in %s: %w", display, err)
	}
	var all []Profile
	var problems []error
	for _, f := range files {
		shown := path.Join(display, f.Name())
		switch path.Ext(f.Name()) {
		case ".yaml":
		case ".yml":
			problems = append(problems, fmt.Errorf("%s: node profiles are read from files that end in .yaml; rename it", shown))
			continue
		default:
			continue
		}
		raw, err := readProfile(fsys, path.Join(dir, f.Name()), f)
		if err != nil {
			problems = append(problems, fmt.Errorf("read node profile %s: %w", shown, err))
			continue
		}
		p, found := parseProfile(shown, raw)
		problems = append(problems, found...)
		if len(found) == 0 {
			all = append(all, *p)
		}
	}
	return all, errors.Join(append(problems, together(all)...)...)
}

// readProfile refuses what may come from elsewhere: with a pull request's profiles, messages would
// otherwise quote files of the machine.
func readProfile(fsys fs.FS, name string, entry fs.DirEntry) ([]byte, error) {
	if !entry.Type().IsRegular() {
		return nil, errors.New("it is not a plain file, and a symbolic link may lead out of the directory; replace it with a copy")
	}
	info, err := entry.Info()
	if err != nil {
		return nil, err
	}
	if info.Size() > maxProfile {
		return nil, fmt.Errorf("it has %d bytes, and no profile has more than %d; remove it", info.Size(), maxProfile)
	}
	return fs.ReadFile(fsys, name)
}

// together checks what takes more than one profile to check.
func together(all []Profile) []error {
	var problems []error
	first := map[string]string{} // what, and where it was first
	for i := range all {
		p := &all[i]
		claims := []string{"named " + p.Metadata.Name, "for " + p.key()}
		if p.Spec.Default {
			claims = append(claims, "the default of service "+p.Spec.Criteria.Service)
		}
		for _, c := range claims {
			if at, ok := first[c]; ok {
				problems = append(problems, fmt.Errorf("%s: a profile %s is already at %s; remove or change one of them", p.Origin, c, at))
				break
			}
			first[c] = p.Origin
		}
	}
	return problems
}

// document is a profile's file with the lines of its keys.
type document struct {
	file string
	root *yaml.Node
}

// at is file:line of a key, or of the nearest one above it that exists.
func (d document) at(keys ...string) string {
	n, line := d.root, 0
	for _, key := range keys {
		if n == nil || n.Kind != yaml.MappingNode {
			break
		}
		var next *yaml.Node
		for i := 0; i+1 < len(n.Content); i += 2 {
			if n.Content[i].Value == key {
				next, line = n.Content[i+1], n.Content[i].Line
			}
		}
		n = next
	}
	if line == 0 {
		return d.file
	}
	return fmt.Sprintf("%s:%d", d.file, line)
}

var unknownField = regexp.MustCompile(`^field (\S+) not found in type \S+$`)

func parseProfile(file string, raw []byte) (*Profile, []error) {
	docs, err := yamlx.Documents(raw)
	switch {
	case err != nil:
		return nil, placed(file, err)
	case len(docs) == 0:
		return nil, []error{fmt.Errorf("%s: the file is empty; write a %s document or remove the file", file, ProfileKind)}
	case len(docs) > 1:
		return nil, []error{fmt.Errorf("%s:%d: a second YAML document starts here, and only the first would be used; write one profile to a file", file, docs[1].Line)}
	}
	d := document{file, docs[0].Content[0]}
	if isUpstream(d) {
		return parseUpstream(d)
	}
	var p Profile
	if err := yamlx.DecodeStrict(raw, &p); err != nil {
		return nil, placed(file, err)
	}
	p.Origin = d.at("metadata", "name")
	return &p, p.check(d)
}

// placed gives the YAML library's complaints their places.
func placed(file string, err error) []error {
	var problems []error
	for _, problem := range yamlx.Problems(err) {
		at, text := file, problem.Text
		if problem.Line > 0 {
			at = fmt.Sprintf("%s:%d", file, problem.Line)
		}
		if m := unknownField.FindStringSubmatch(text); m != nil {
			text = fmt.Sprintf("unknown field %q; remove it or correct its name", m[1])
		}
		problems = append(problems, fmt.Errorf("%s: %s", at, text))
	}
	return problems
}

// check is everything by which a profile cannot make a node that the API server takes and that a
// recipe can be run on.
func (p *Profile) check(d document) []error {
	var problems []error
	add := func(at, format string, args ...any) {
		problems = append(problems, fmt.Errorf("%s: "+format, append([]any{at}, args...)...))
	}
	s := &p.Spec
	if p.Kind != ProfileKind {
		add(d.at("kind"), "kind is %q, want %s", p.Kind, ProfileKind)
		return problems // the rest would be about another format
	}
	if p.APIVersion != profileAPIVersion {
		add(d.at("apiVersion"), "apiVersion is %q, want %s", p.APIVersion, profileAPIVersion)
	}
	if p.Metadata.Name == "" {
		add(d.at("metadata"), "metadata.name is empty; give the profile a name")
	}
	if s.NodeType != nodeTypeSystem && s.NodeType != nodeTypeAccelerated {
		add(d.at("spec", "nodeType"), "spec.nodeType is %q, want %s or %s", s.NodeType, nodeTypeSystem, nodeTypeAccelerated)
	}
	if !set(s.Criteria.Service) {
		add(d.at("spec", "criteria"), "spec.criteria.service is empty; say which service's nodes these are, e.g. eks")
	}
	for _, field := range []struct{ name, value string }{
		{"instanceType", s.InstanceType}, {"architecture", s.Architecture}, {"operatingSystem", s.OperatingSystem}, {"region", s.Region},
	} {
		if field.value == "" {
			add(d.at("spec", field.name), "spec.%s is empty; the node has a label of it", field.name)
		} else if wrong := validation.IsValidLabelValue(field.value); len(wrong) > 0 {
			add(d.at("spec", field.name), "spec.%s %q cannot be a label of a node: %s", field.name, field.value, wrong[0])
		}
	}
	if len(s.Zones) == 0 {
		add(d.at("spec", "zones"), "spec.zones is empty; name at least one")
	}
	for _, zone := range s.Zones {
		if wrong := validation.IsValidLabelValue(zone); len(wrong) > 0 || zone == "" {
			add(d.at("spec", "zones"), "spec.zones has %q, which cannot be a label of a node", zone)
		}
	}
	problems = append(problems, p.checkLabels(d)...)
	problems = append(problems, p.checkTaints(d)...)
	problems = append(problems, p.checkAdmission(d)...)
	for i, class := range s.StorageClasses {
		if wrong := validation.IsDNS1123Subdomain(class); len(wrong) > 0 {
			add(d.at("spec", "storageClasses"), "spec.storageClasses[%d] is %q, which cannot be the name of a StorageClass: %s", i, class, wrong[0])
		}
	}
	if wrong := validation.IsDNS1123Subdomain(s.DefaultStorageClass); s.DefaultStorageClass != "" && len(wrong) > 0 {
		add(d.at("spec", "defaultStorageClass"), "spec.defaultStorageClass is %q; want the name of the class for claims that name none, or %s: %s", s.DefaultStorageClass, noDefaultClass, wrong[0])
	}
	if s.LoadBalancer != "" && s.LoadBalancer != noLoadBalancer {
		add(d.at("spec", "loadBalancer"), "spec.loadBalancer is %q; want %s, or leave it out where the provider gives Services of type LoadBalancer their addresses", s.LoadBalancer, noLoadBalancer)
	}
	problems = append(problems, p.checkCapacity(d)...)
	problems = append(problems, p.checkGPU(d)...)
	return append(problems, p.checkGroups(d)...)
}

func (p *Profile) checkLabels(d document) []error {
	var problems []error
	check := func(set map[string]string, at func(key string) string) {
		for _, key := range slices.Sorted(maps.Keys(set)) {
			if wrong := append(validation.IsQualifiedName(key), validation.IsValidLabelValue(set[key])...); len(wrong) > 0 {
				problems = append(problems, fmt.Errorf("%s: %s: %q cannot be a label of a node: %s", at(key), key, set[key], wrong[0]))
			}
		}
	}
	check(p.Spec.Labels, func(key string) string { return d.at("spec", "labels", key) })
	for _, rack := range p.Spec.Racks {
		check(rack, func(string) string { return d.at("spec", "racks") })
	}
	return problems
}

func (p *Profile) checkTaints(d document) []error {
	var problems []error
	at := d.at("spec", "taints")
	effects := []corev1.TaintEffect{corev1.TaintEffectNoSchedule, corev1.TaintEffectPreferNoSchedule, corev1.TaintEffectNoExecute}
	for i, t := range p.Spec.Taints {
		if wrong := append(validation.IsQualifiedName(t.Key), validation.IsValidLabelValue(t.Value)...); len(wrong) > 0 {
			problems = append(problems, fmt.Errorf("%s: spec.taints[%d]: %s=%s cannot be a taint of a node: %s", at, i, t.Key, t.Value, wrong[0]))
		}
		if !slices.Contains(effects, corev1.TaintEffect(t.Effect)) {
			problems = append(problems, fmt.Errorf("%s: spec.taints[%d].effect is %q; want one of %v", at, i, t.Effect, effects))
		}
		if t.Key == KwokTaint {
			problems = append(problems, fmt.Errorf("%s: spec.taints[%d] is %s, which simulated nodes have of themselves; remove it", at, i, KwokTaint))
		}
		if slices.ContainsFunc(p.Spec.Taints[:i], func(o Taint) bool { return o.Key == t.Key && o.Effect == t.Effect }) {
			problems = append(problems, fmt.Errorf("%s: spec.taints[%d]: %s:%s is in the list twice; remove one of them", at, i, t.Key, t.Effect))
		}
	}
	if len(p.Spec.Taints) > 0 && p.Spec.Untainted {
		problems = append(problems, fmt.Errorf("%s: spec.taints beside spec.untainted; remove one of them", at))
	}
	return problems
}

// checkAdmission rejects plug-ins whose effect on placement the gate does not know, and those that
// need a configuration of their own.
func (p *Profile) checkAdmission(d document) []error {
	var problems []error
	for i, name := range p.Spec.AdmissionPlugins {
		if name != infra.ExtendedResourceToleration {
			problems = append(problems, fmt.Errorf("%s: spec.admissionPlugins[%d] is %q; want %s", d.at("spec", "admissionPlugins"), i, name, infra.ExtendedResourceToleration))
		}
	}
	return problems
}

// checkCapacity: a node without capacity would take no pod, and the failure would be blamed on the
// recipe.
func (p *Profile) checkCapacity(d document) []error {
	capacity := p.Spec.Capacity
	if len(capacity) == 0 {
		return []error{fmt.Errorf("%s: spec.capacity is missing, so that no pod fits on the node; say at least cpu, memory and pods", d.at("spec", "capacity"))}
	}
	var problems []error
	for _, need := range []string{"cpu", "memory", "pods"} {
		if capacity[need] == "" {
			problems = append(problems, fmt.Errorf("%s: spec.capacity.%s is missing, so that no pod fits on the node", d.at("spec", "capacity"), need))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(capacity)) {
		at, text := d.at("spec", "capacity", name), capacity[name]
		q, err := resource.ParseQuantity(text)
		switch {
		case text == "":
		case err != nil:
			problems = append(problems, fmt.Errorf("%s: spec.capacity.%s is %q: %w", at, name, text, err))
		case q.Sign() <= 0:
			problems = append(problems, fmt.Errorf("%s: spec.capacity.%s is %q; want more than 0", at, name, text))
		case name == infra.GPUResource && (p.Spec.GPU == nil || q.CmpInt64(int64(p.Spec.GPU.Count)) != 0):
			problems = append(problems, fmt.Errorf("%s: spec.capacity.%s is %q, which is not spec.gpu.count; remove it, the node has it from there", at, name, text))
		}
		if wrong := validation.IsQualifiedName(name); len(wrong) > 0 {
			problems = append(problems, fmt.Errorf("%s: spec.capacity: %q is not the name of a resource: %s", at, name, wrong[0]))
		}
	}
	return problems
}

var driverVersion = regexp.MustCompile(`^\d+\.\d+(\.\d+)*$`)

func (p *Profile) checkGPU(d document) []error {
	var problems []error
	add := func(key, format string, args ...any) {
		problems = append(problems, fmt.Errorf("%s: "+format, append([]any{d.at("spec", "gpu", key)}, args...)...))
	}
	g, accelerated := p.Spec.GPU, p.Spec.NodeType == nodeTypeAccelerated
	switch {
	case g == nil && accelerated:
		return []error{fmt.Errorf("%s: spec.gpu is missing on an accelerated profile", d.at("spec", "nodeType"))}
	case g == nil:
		return nil
	case !accelerated:
		return []error{fmt.Errorf("%s: spec.gpu is on a profile whose nodeType is not %s", d.at("spec", "gpu"), nodeTypeAccelerated)}
	}
	cut := slices.ContainsFunc(slices.Collect(maps.Keys(p.Spec.Capacity)), func(name string) bool { return strings.HasPrefix(name, migPrefix) })
	if g.Count < 0 || g.Count == 0 && !cut {
		add("count", "spec.gpu.count is %d; want 1 or more, or 0 for GPUs that are all cut into MIG devices, which spec.capacity has (nvidia.com/mig-1g.10gb)", g.Count)
	}
	if g.MemoryMiB < 1 {
		add("memoryMiB", "spec.gpu.memoryMiB is %d; want the memory of one GPU in MiB", g.MemoryMiB)
	}
	if wrong := validation.IsValidLabelValue(g.Product); g.Product == "" || len(wrong) > 0 {
		add("product", "spec.gpu.product is %q; want the value of the label nvidia.com/gpu.product, e.g. NVIDIA-H100-80GB-HBM3", g.Product)
	}
	if !driverVersion.MatchString(g.Driver) {
		add("driver", "spec.gpu.driver is %q; want a version like 580.105.08", g.Driver)
	}
	return problems
}

func set(criterion string) bool { return criterion != "" && criterion != "any" }

// known says what there are profiles for: of the service's accelerators if it has any, else the
// services.
func known(all []Profile, service string) string {
	var accelerators, services []string
	for i := range all {
		c := all[i].Spec.Criteria
		services = append(services, c.Service)
		if c.Service == service && all[i].Spec.NodeType == nodeTypeAccelerated {
			accelerators = append(accelerators, c.Accelerator)
		}
	}
	sorted := func(list []string) string {
		return strings.Join(slices.Compact(slices.Sorted(slices.Values(list))), ", ")
	}
	if len(accelerators) > 0 {
		return "service " + service + " has profiles for: " + sorted(accelerators)
	}
	if len(services) == 0 {
		return "there are no profiles at all"
	}
	return "there are profiles for the services " + sorted(services)
}
