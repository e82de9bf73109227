package apiproxy

import "cmp"

// object is what is read of an object to tell whether it is settled.
type object struct {
	Kind     string `json:"kind"`
	Metadata struct {
		Namespace         string            `json:"namespace"`
		ResourceVersion   string            `json:"resourceVersion"`
		Generation        int64             `json:"generation"`
		DeletionTimestamp string            `json:"deletionTimestamp"`
		Labels            map[string]string `json:"labels"`
		Annotations       map[string]string `json:"annotations"`
	} `json:"metadata"`
	Spec struct {
		Replicas       *int64 `json:"replicas"`
		Suspend        bool   `json:"suspend"`
		UpdateStrategy struct {
			Type string `json:"type"`
		} `json:"updateStrategy"`
	} `json:"spec"`
	Status objectStatus `json:"status"`
}

type objectStatus struct {
	ObservedGeneration     *int64 `json:"observedGeneration"`
	Phase                  string `json:"phase"`
	Replicas               int64  `json:"replicas"`
	UpdatedReplicas        int64  `json:"updatedReplicas"`
	CurrentReplicas        int64  `json:"currentReplicas"`
	ReadyReplicas          int64  `json:"readyReplicas"`
	AvailableReplicas      int64  `json:"availableReplicas"`
	DesiredNumberScheduled *int64 `json:"desiredNumberScheduled"`
	UpdatedNumberScheduled int64  `json:"updatedNumberScheduled"`
	NumberAvailable        int64  `json:"numberAvailable"`
	NumberReady            int64  `json:"numberReady"`
	Conditions             []struct {
		Type   string `json:"type"`
		Status string `json:"status"`
		Reason string `json:"reason"`
	} `json:"conditions"`
}

// release is the release that the object belongs to: by the labels that helm-controller gives, by Helm's annotations, or its namespace.
func (o *object) release() string {
	const flux, helm = "helm.toolkit.fluxcd.io/", "meta.helm.sh/release-"
	for _, from := range []struct {
		in     map[string]string
		prefix string
	}{{o.Metadata.Labels, flux}, {o.Metadata.Annotations, helm}} {
		if name := from.in[from.prefix+"name"]; name != "" {
			return from.in[from.prefix+"namespace"] + "/" + name
		}
	}
	return o.Metadata.Namespace
}

// condition is the status of a condition, and its reason; both are empty if it is not there.
func (o *object) condition(kind string) (status, reason string) {
	for _, c := range o.Status.Conditions {
		if c.Type == kind {
			return c.Status, c.Reason
		}
	}
	return "", ""
}

func (o *object) is(condition string) bool {
	status, _ := o.condition(condition)
	return status == "True"
}

// settled reports whether waiting for the object will not change what helm-controller makes of it (kstatus): it is ready, has failed or is
// being deleted. Where this differs from kstatus, a read is held for nothing, or not held: the answer is the API server's in any case.
func (o *object) settled() bool {
	s := &o.Status
	observed := s.ObservedGeneration != nil && *s.ObservedGeneration == o.Metadata.Generation
	switch {
	case o.Metadata.DeletionTimestamp != "" || o.is("Stalled"):
		return true
	case s.ObservedGeneration != nil && !observed || o.is("Reconciling"):
		return false
	}
	want := int64(1)
	if o.Spec.Replicas != nil {
		want = *o.Spec.Replicas
	}
	switch o.Kind {
	case "Deployment":
		_, why := o.condition("Progressing")
		return why == "ProgressDeadlineExceeded" || observed && o.is("Available") && why == "NewReplicaSetAvailable" &&
			s.Replicas == want && s.UpdatedReplicas == want && s.ReadyReplicas >= want && s.AvailableReplicas >= want
	case "StatefulSet":
		return o.Spec.UpdateStrategy.Type == "OnDelete" ||
			observed && s.Replicas == want && s.ReadyReplicas >= want && max(s.UpdatedReplicas, s.CurrentReplicas) >= want
	case "ReplicaSet":
		return observed && s.Replicas == want && s.ReadyReplicas >= want && s.AvailableReplicas >= want
	case "DaemonSet":
		if !observed || s.DesiredNumberScheduled == nil {
			return false
		}
		return min(s.UpdatedNumberScheduled, s.NumberAvailable, s.NumberReady) >= *s.DesiredNumberScheduled
	case "Job":
		return o.is("Complete") || o.is("Failed") || o.Spec.Suspend
	case "Pod":
		if s.Phase == "Succeeded" || s.Phase == "Failed" {
			return true
		}
		return o.is("Ready") && o.Metadata.Annotations["helm.sh/hook"] == "" // a hook's pod has to end
	case "PersistentVolumeClaim":
		return s.Phase == "Bound"
	case "CustomResourceDefinition":
		established, why := o.condition("Established")
		names, _ := o.condition("NamesAccepted")
		return established == "True" || names == "False" || established == "False" && why != "Installing"
	}
	ready, _ := o.condition("Ready")
	return cmp.Or(ready, "True") == "True"
}
