package why

import (
	"fmt"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/result"
)

// provenance returns where the parts of a workload's pod spec come from. Without a workload it
// returns nothing.
type provenance struct{ w *bundle.Workload }

// source is a line of a recipe's file behind a refusal.
type source struct {
	place result.Place
	set   bool // whether the line sets the value; otherwise it only declares the component
}

func pathSource(vp bundle.ValuePath) source {
	return source{result.Place{File: vp.Origin.File, Line: vp.Origin.Line, Path: vp.Path}, vp.Set}
}

// placeOf returns the place to open first: a line that sets a value comes before one that only
// declares the component.
func placeOf(all []source) result.Place {
	var first result.Place
	for _, s := range all {
		switch {
		case s.place.Line == 0:
		case s.set:
			return s.place
		case first.Line == 0:
			first = s.place
		}
	}
	return first
}

// sources returns what set the subject of a refusal, one line each, and the places in these lines.
func (p *provenance) sources(r *Refusal) (lines []string, places []source) {
	if p.w == nil {
		return nil, nil
	}
	var what, part string
	var values []bundle.SteeringSource
	var paths []bundle.ValuePath
	switch r.Kind {
	case refusalNodeSelector:
		what = fmt.Sprintf("nodeSelector %s=%s", r.Key, r.Wanted)
		part = "selector"
		if class := p.byClass(r.Key); class != "" {
			return []string{fmt.Sprintf("%s: scheduling.nodeSelector of RuntimeClass %s, from which the API server adds it (runtimeClassName: %s)", what, class, p.w.In("spec", "runtimeClassName"))}, nil
		}
		values, paths = p.values(bundle.FieldNodeSelector, r.Key), p.selectorPaths(r.Key)
	case refusalNodeAffinity:
		what, part, values = "node affinity", "affinity", p.values(bundle.FieldAffinity, "")
	case refusalNodeName:
		what, part, values = "nodeName "+r.Wanted, "node name", p.values(bundle.FieldNodeName, "")
	case refusalTaint:
		what, part, paths = "tolerations", "tolerations", p.w.TolerationPaths
		if len(paths) == 0 {
			for _, vp := range p.w.ForgottenPaths {
				line := "tolerations: value path %s brings them, and the tolerationPaths of component %s lack it (%s)"
				if vp.Lacking {
					line = "tolerations: value path %s would bring them, and the bundle does not set it for component %s (%s)"
				}
				lines = append(lines, fmt.Sprintf(line, vp.Path, p.w.Component, vp.Origin))
				places = append(places, pathSource(vp))
			}
		}
	case refusalClaim:
		what, part = "claim "+r.Key, "resourceClaims"
	case refusalResource:
		what, part, values = r.Key, "resources", p.resourceValues(r.Key)
		if corev1.ResourceName(r.Key) == corev1.ResourcePods {
			return nil, nil
		}
		if r.filled != "" {
			return []string{fmt.Sprintf("%s: the default of %s; %s of the template asks for none", r.Key, r.filled, strings.Join(r.into, ", "))}, nil
		}
	default:
		return nil, nil
	}
	if p.w.Built != nil {
		return p.built(what, part)
	}
	for _, v := range values {
		line := what + ": " + setText(v)
		if v.Lost != "" {
			line += ", where null does not reach Helm"
		}
		lines = append(lines, line)
		places = append(places, source{result.Place{File: v.Origin.File, Line: v.Origin.Line, Path: v.Path}, true})
	}
	if len(lines) == 0 {
		for _, vp := range paths {
			lines = append(lines, what+": "+pathText(vp))
			places = append(places, pathSource(vp))
		}
	}
	if len(lines) == 0 && p.w.Template != "" {
		if at, ok := p.w.Origin(p.field(r)...); ok {
			return append(lines, fmt.Sprintf("%s: in %s", what, at)), append(places, source{result.Place{File: at.File, Line: at.Line}, true})
		}
		lines = append(lines, fmt.Sprintf("%s: %s; no value of the recipe and no path of the registry reaches it", what, p.w.In(p.field(r)...)))
	}
	return lines, places
}

// field is where a pod template has the subject of a refusal.
func (p *provenance) field(r *Refusal) []string {
	switch r.Kind {
	case refusalNodeSelector:
		return []string{"spec", "nodeSelector", r.Key}
	case refusalNodeAffinity:
		return []string{"spec", "affinity", "nodeAffinity"}
	case refusalNodeName:
		return []string{"spec", "nodeName"}
	case refusalTaint:
		return []string{"spec", "tolerations"}
	case refusalClaim:
		return []string{"spec", "resourceClaims"}
	case refusalResource:
		return p.resourceField(r.Key)
	}
	return []string{"spec"}
}

// resourceField is where the first container that asks for a resource does so.
func (p *provenance) resourceField(name string) []string {
	lists := map[string][]corev1.Container{"containers": p.w.PodSpec.Containers, "initContainers": p.w.PodSpec.InitContainers}
	for _, list := range []string{"containers", "initContainers"} {
		for i, c := range lists[list] {
			at := []string{"spec", list, strconv.Itoa(i), "resources"}
			if _, ok := c.Resources.Requests[corev1.ResourceName(name)]; ok {
				return append(at, "requests", name)
			}
			if _, ok := c.Resources.Limits[corev1.ResourceName(name)]; ok {
				return append(at, "limits", name)
			}
		}
	}
	return []string{"spec", "containers"}
}

func pathText(vp bundle.ValuePath) string {
	if vp.Set {
		return fmt.Sprintf("value path %s, set in %s", vp.Path, vp.Origin)
	}
	return fmt.Sprintf("value path %s, set by the harness only (component declared in %s)", vp.Path, vp.Origin)
}

func (p *provenance) values(field, key string) []bundle.SteeringSource {
	if p.w == nil {
		return nil
	}
	var found []bundle.SteeringSource
	for _, v := range p.w.Values {
		if v.Field == field && v.Key == key {
			found = append(found, v)
		}
	}
	return found
}

// resourceValues returns the values behind a pod's requests, including limits, which alone are
// requests too. For an extended resource such as nvidia.com/gpu, both must be equal.
func (p *provenance) resourceValues(name string) []bundle.SteeringSource {
	requests, limits := p.values(bundle.FieldRequests, name), p.values(bundle.FieldLimits, name)
	if len(requests) > 0 && !strings.Contains(name, "/") {
		return requests
	}
	return append(requests, limits...)
}

// selectorPaths returns the registry's paths that can have set the key: the harness's own key comes
// through all of them, another one only through a path that the recipe sets.
func (p *provenance) selectorPaths(key string) []bundle.ValuePath {
	var found []bundle.ValuePath
	for _, vp := range p.w.SelectorPaths {
		if vp.Set || bundle.IsNodeTypeLabel(key) {
			found = append(found, vp)
		}
	}
	return found
}

// template is where a field of the pod spec is set.
func (p *provenance) template(field string) string {
	if at := p.whereBuilt("node name"); at != "" {
		return at
	}
	if p.w == nil || p.w.Template == "" {
		return "in its pod template"
	}
	return "in " + p.w.In("spec", field)
}

// whereField returns the place to edit a value of the recipe. For a value that only the chart sets,
// a new one at that place has an effect only if the chart supports it, which the reader has to
// check.
func (p *provenance) whereField(field, key, what string) string {
	if values := p.values(field, key); len(values) > 0 {
		return placesOf(values)
	}
	return p.templateOnly(what, "spec", podParts[what][0])
}

// templateOnly returns the place of a field that no value of the recipe reaches: its line in the
// recipe's manifest, or the chart's template.
func (p *provenance) templateOnly(what string, field ...string) string {
	if at := p.whereBuilt(what); at != "" {
		return at
	}
	if p.w == nil || p.w.Template == "" {
		return p.template("")
	}
	if at, ok := p.w.Origin(field...); ok {
		return "in " + at.String()
	}
	return fmt.Sprintf("in %s (no value of the recipe reaches its %s)", p.w.In("spec", podParts[what][0]), what)
}

func placesOf(values []bundle.SteeringSource) string {
	var places []string
	for _, v := range values {
		if v.Default {
			places = append(places, fmt.Sprintf("at %s of the component (declared in %s), in place of the chart's default", v.Path, v.Origin))
			continue
		}
		places = append(places, fmt.Sprintf("at %s in %s", v.Path, v.Origin))
	}
	return strings.Join(places, " and ")
}

func (p *provenance) whereSelector(key string) string {
	if values := p.values(bundle.FieldNodeSelector, key); len(values) > 0 || p.w == nil {
		return p.whereField(bundle.FieldNodeSelector, key, "selector")
	}
	return p.wherePaths(p.selectorPaths(key), "selector", "spec", "nodeSelector", key)
}

func (p *provenance) whereTolerations() string {
	if p.w == nil {
		return p.template("tolerations")
	}
	if len(p.w.TolerationPaths) == 0 && len(p.w.ForgottenPaths) > 0 {
		var names []string
		for _, vp := range p.w.ForgottenPaths {
			names = append(names, vp.Path)
		}
		if p.w.ForgottenPaths[0].Lacking {
			return fmt.Sprintf("by setting %s in the values of component %s in %s", strings.Join(names, " or "), p.w.Component, p.w.ForgottenPaths[0].Origin)
		}
		return fmt.Sprintf("by naming %s in the tolerationPaths of component %s in %s", strings.Join(names, " or "), p.w.Component, p.w.ForgottenPaths[0].Origin)
	}
	return p.wherePaths(p.w.TolerationPaths, "tolerations", "spec", "tolerations")
}

func (p *provenance) whereResource(name string) string {
	if values := p.resourceValues(name); len(values) > 0 {
		return placesOf(values)
	}
	if p.w == nil {
		return p.template("containers")
	}
	return p.templateOnly("resources", p.resourceField(name)...)
}

// wherePaths returns the places to edit a field that the registry's paths set; without one, the
// place of the field itself.
func (p *provenance) wherePaths(paths []bundle.ValuePath, what string, field ...string) string {
	var places []string
	for _, vp := range paths {
		place := fmt.Sprintf("at %s in %s", vp.Path, vp.Origin)
		if !vp.Set {
			place = fmt.Sprintf("at %s of component %s (declared in %s)", vp.Path, p.w.Component, vp.Origin)
		}
		places = append(places, place)
	}
	if len(places) == 0 {
		return p.templateOnly(what, field...)
	}
	return strings.Join(places, " and ")
}
