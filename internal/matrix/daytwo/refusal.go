package daytwo

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/bundle/rendering"
	"github.com/nvidia/aicr-action/internal/matrix/change"
	"github.com/nvidia/aicr-action/internal/matrix/compare"
	"github.com/nvidia/aicr-action/internal/util/lists"
)

// invalid matches what the API server says of an object that it does not let change:
// Deployment.apps "web" is invalid: spec.selector: Invalid value: {…}: field is immutable. Several
// errors of one object are in brackets.
var invalid = regexp.MustCompile(`([A-Z][A-Za-z0-9]*)(?:\.[a-z0-9.-]+)? "([^"]+)" is invalid: \[?([A-Za-z0-9_.\[\]()"/-]+): ((?:Invalid value|Forbidden)[^\n]*)`)

// unchangeable matches the end of such an error if it is about a change, and not about the object; of a
// custom resource, what authors of rules about changes (oldSelf) write.
var unchangeable = regexp.MustCompile(`immutable|Forbidden: updates to |Forbidden: pod updates may not|oldSelf|(?:may|must|can)(?:not| not) (?:be )?(?:change|modified|updated)|cannot change roleRef|can not be less than (?:the previous|status)|missing from spec\.versions`)

// owned matches what Helm says of an object of another release.
var owned = regexp.MustCompile(`([A-Z][A-Za-z0-9]*) "([^"]+)" in namespace "([^"]*)" exists and cannot be imported into the current release: invalid ownership metadata; (.*)`)

// ownedBy matches the release that has it, which is not named if nothing of Helm's is on it.
var ownedBy = regexp.MustCompile(`key "meta\.helm\.sh/release-name" must equal "([^"]+)": current value is "([^"]+)"`)

// ownedIn matches the namespace of the release that has it, where that is another one.
var ownedIn = regexp.MustCompile(`key "meta\.helm\.sh/release-namespace" must equal "([^"]+)": current value is "([^"]+)"`)

// noPorts matches what it says of a Service whose ports a patch has removed.
var noPorts = regexp.MustCompile(`Service "([^"]+)" is invalid: spec\.ports: Required value`)

// incomplete matches what it says of a definition whose conversion lacks something.
var incomplete = regexp.MustCompile(`CustomResourceDefinition(?:\.[a-z0-9.-]+)? "([^"]+)" is invalid: \[?spec\.conversion\.strategy: Required value`)

// unresizable matches what the API server says of a claim whose class does not let it grow.
var unresizable = regexp.MustCompile(`persistentvolumeclaims "([^"]+)" is forbidden: (only dynamically provisioned pvc can be resized[^\n]*)`)

// refusal is what a sentence of the API server or of Helm means: pattern finds the sentence, and cause
// makes a line of its groups, which is empty if the cause is another.
type refusal struct {
	pattern *regexp.Regexp
	cause   func(m []string) string
}

// refusals are the sentences that are understood, in the order in which their lines are printed.
func (b Bundles) refusals() []refusal {
	return []refusal{
		{invalid, func(m []string) string {
			if !unchangeable.MatchString(m[4]) {
				return ""
			}
			return b.immutable(m[1], m[2], m[3], m[4])
		}},
		{unresizable, func(m []string) string {
			return b.immutable("PersistentVolumeClaim", m[1], "spec.resources.requests.storage", m[2])
		}},
		{owned, func(m []string) string { return b.foreign(m[1], m[2], m[4]) }},
		{noPorts, func(m []string) string { return b.portsLost(m[1]) }},
		{allocated, func(m []string) string { return b.takenBy(m[1], m[2]) }},
		{denied, func(m []string) string { return b.byPolicy(m[1], m[2]) }},
		{contested, func(m []string) string { return b.heldBy(m[1], m[2], m[3], m[4]) }},
		{incomplete, func(m []string) string { return b.halfLeft(m[1]) }},
	}
}

// explain names, for each object that the API server or Helm did not let change, the field, the
// chart's template and what to do.
func (b Bundles) explain(text string) []string {
	var lines []string
	for _, r := range b.refusals() {
		for _, m := range r.pattern.FindAllStringSubmatch(text, -1) {
			lines = append(lines, r.cause(m))
		}
	}
	lines = slices.Concat(lines, b.stale(text), b.older(text), b.notInstalled(text))
	return lists.Unique(slices.DeleteFunc(lines, func(line string) bool { return line == "" }))
}

// portsLost says why a patch has removed every port of a Service; empty if not for a number that two of
// them have.
func (b Bundles) portsLost(name string) string {
	o := find(b.Before, "Service", name)
	if o == nil {
		return ""
	}
	n := portTwice(o.Object)
	if n == "" {
		return ""
	}
	return fmt.Sprintf("Service %s: port %s was there twice, with two protocols (%s), and a client-side apply tells ports apart by their number alone, so that its patch removes them all; delete the Service before the upgrade, or apply it with kubectl apply --server-side", name, n, place(b.Before, o, "spec.ports"))
}

// portTwice is a number that two ports of a Service have; empty if none is there twice.
func portTwice(svc *unstructured.Unstructured) string {
	ports, _, _ := unstructured.NestedSlice(svc.Object, "spec", "ports")
	seen := map[string]bool{}
	for _, p := range ports {
		one, _ := p.(map[string]any)
		number := fmt.Sprint(one["port"])
		if seen[number] {
			return number
		}
		seen[number] = true
	}
	return ""
}

// immutable says which field cannot be changed, where it is, and what to do.
func (b Bundles) immutable(kind, name, field, said string) string {
	old, now := changed(b.Before, b.Now, kind, name)
	if kind == "Service" && strings.HasPrefix(field, "spec.clusterIPs") {
		field = "spec.clusterIP" // which charts set, and of which the API server makes the list
	}
	fields := changedBelow(old, now, strings.TrimRight(field, "[]0123456789"))
	at := field
	if top, _, below := strings.Cut(field, "."); len(fields) == 0 && below { // the API server calls it something else, as a CSIDriver's attachRequired
		if fields = changedBelow(old, now, top); len(fields) > 0 {
			field, at = top, top
		}
	}
	if field == "spec" && len(fields) > 0 {
		at = head(fields[0])
	}
	line, place := fmt.Sprintf("%s %s: %s cannot be changed", kind, name, at), head(at)
	if kind == "StatefulSet" && at == "spec" {
		line = fmt.Sprintf("%s %s: of its spec only replicas, template, updateStrategy and a few more can be changed (volumeClaimTemplates, serviceName and selector cannot)", kind, name)
	}
	if strings.Contains(said, "missing from spec.versions") {
		line = fmt.Sprintf("%s %s: version %s cannot be left out of spec.versions: status.storedVersions has it, so that objects may be stored in it", kind, name, quoted(said))
		place = "spec.versions"
	}
	if now != nil {
		line += fmt.Sprintf("; component %s, template %s", now.Component, b.place(now, place))
	}
	for i, f := range fields {
		if i == mostFields {
			line += fmt.Sprintf("; and %d more", len(fields)-i)
			break
		}
		line += "; it changes " + f
	}
	if len(fields) == 0 && now != nil && rendering.HasSyncOption(now.Object.GetAnnotations(), replaces) {
		return line + "; the bundle changes nothing of that, but Argo CD replaces the whole object (" + rendering.ArgoSyncOptions + ": " + replaces + "), and so takes away what the cluster has filled in; leave that option out"
	}
	return line + "; " + remedy(kind, at, said)
}

// replaces is the option by which Argo CD writes an object as kubectl replace does, and not as kubectl apply.
const replaces = "Replace=true"

// changedBelow lists the fields at a path, and below it, that differ and that the API server does not let
// change, with both values.
func changedBelow(old, now *bundle.Object, path string) (fields []string) {
	if old == nil || now == nil {
		return nil
	}
	kind := now.Object.GetKind()
	for _, f := range compare.Fields(old.Object.Object, now.Object.Object) {
		if !strings.HasPrefix(f.Path, path) || mayChange(kind, f.Path) {
			continue
		}
		text := f.Path
		if kind != "Secret" && kind != "ConfigMap" {
			f = change.Veiled(f)
			text += ": " + f.From + ", then " + f.To
		}
		fields = append(fields, text)
	}
	return fields
}

// mostFields is how many changed fields a line names.
const mostFields = 3

// mayChange reports whether the API server lets a field of a refused spec change.
func mayChange(kind, path string) bool {
	may := map[string][]string{
		"StatefulSet":           {"replicas", "ordinals", "template", "updateStrategy", "revisionHistoryLimit", "persistentVolumeClaimRetentionPolicy", "minReadySeconds"},
		"PersistentVolumeClaim": {"volumeAttributesClassName"},
	}
	return slices.ContainsFunc(may[kind], func(f string) bool { return path == "spec."+f || strings.HasPrefix(path, "spec."+f+".") })
}

// head is the first two parts of a path: spec.volumeClaimTemplates of
// spec.volumeClaimTemplates[0].spec.
func head(path string) string {
	path, _, _ = strings.Cut(path, ": ")
	parts := strings.SplitN(path, ".", 3)
	if len(parts) < 2 {
		return path
	}
	second, _, _ := strings.Cut(parts[1], "[")
	return parts[0] + "." + second
}

// quoted is the version in what the API server says.
func quoted(said string) string {
	_, rest, _ := strings.Cut(said, `"`)
	name, _, _ := strings.Cut(rest, `"`)
	return name
}

func remedy(kind, at, said string) string {
	switch {
	case strings.Contains(said, "missing from spec.versions"):
		return "keep the version, not served if need be, until every object is stored in another one and status.storedVersions does not name it any more (a storage version migration)"
	case kind == "StatefulSet" && strings.HasPrefix(at, "spec.volumeClaimTemplates"):
		return "delete it with --cascade=orphan before the upgrade, which creates it again: pods and claims stay, and claims keep their size until each is changed itself"
	case kind == "StatefulSet":
		return "it must be deleted before the upgrade, which creates it again (with --cascade=orphan its pods stay), or get a new name"
	case kind == "PersistentVolumeClaim" && strings.Contains(said, "dynamically provisioned"):
		return "its StorageClass lacks allowVolumeExpansion in this cluster; set that in the class, or give the claim a new name and copy the data"
	case kind == "PersistentVolumeClaim":
		return "of a claim only the size can be changed, once it is bound, and only to a larger one; give the claim a new name and copy the data, since deleting it deletes them"
	case kind == "Service" && at == "spec.clusterIP":
		return "it must be deleted before the upgrade, which creates it again with another address, or get a new name: a Service keeps its address, and one without stays without"
	case kind == "CustomResourceDefinition":
		return "it would have to be deleted before the upgrade, and every object of its kind with it: keep the field, or give the kind a new name"
	}
	return "it must be deleted before the upgrade, or get a new name"
}

// foreign says whose object it is that Helm does not let a release take over, and how it is handed
// over.
func (b Bundles) foreign(kind, name, said string) string {
	line := fmt.Sprintf("%s %s is in the cluster already", kind, name)
	old, now := find(b.Before, kind, name), find(b.Now, kind, name)
	if now != nil {
		line += fmt.Sprintf(", and component %s has it too (%s)", now.Component, b.place(now, ""))
	}
	from := ""
	if m := ownedBy.FindStringSubmatch(said); m != nil {
		from = m[2]
		line += fmt.Sprintf("; it belongs to release %s", from)
	} else if m := ownedIn.FindStringSubmatch(said); m != nil && now != nil {
		return line + fmt.Sprintf("; it belongs to release %s in namespace %s, where the component was before, and which stays: a release does not move; before the upgrade remove that one (helm uninstall %[1]s --namespace %[2]s), or annotate its objects with another namespace: meta.helm.sh/release-namespace=%[3]s", now.Release, m[2], m[1])
	} else {
		line += "; it is not marked as any release's"
		if old != nil && old.Hook {
			line += ", since it was a hook before (" + old.Template + ")"
		} else if old != nil && old.InCRDs() {
			line += ", since it was in the chart's crds/ before (" + old.Template + ")"
		} else if now != nil && old == nil {
			if by, _ := madeBy(b.Before, now.Object); by != nil {
				line += fmt.Sprintf(", since the operator of %s made it (component %s, %s)", by.Ref(), by.Component, b.was(by))
			}
		}
	}
	if old != nil && now != nil && old.Component != now.Component {
		line += fmt.Sprintf(", as component %s had it before (%s)", old.Component, old.Template)
	}
	line += ", and Helm takes nothing over by itself"
	if now == nil {
		return line
	}
	line += fmt.Sprintf("; before the upgrade label it app.kubernetes.io/managed-by=Helm and annotate it meta.helm.sh/release-name=%s, meta.helm.sh/release-namespace=%s", now.Release, namespaceOf(b.Now, now.Release))
	switch {
	case from == "":
	case namespaceOf(b.Now, from) == "":
		line += fmt.Sprintf(", and with helm.sh/resource-policy=keep: otherwise helm uninstall %s, which is not part of the recipe any more, deletes it%s", from, withItsObjects(kind))
	default:
		line += fmt.Sprintf(", and with helm.sh/resource-policy=keep: otherwise the upgrade of %s deletes it%s", from, withItsObjects(kind))
	}
	return line
}

func withItsObjects(kind string) string {
	if kind == "CustomResourceDefinition" {
		return ", and every object of its kind"
	}
	return ""
}

func namespaceOf(b *bundle.Bundle, release string) string {
	for _, r := range b.Expectation.Releases {
		if r.Name == release {
			return r.Namespace
		}
	}
	return ""
}
