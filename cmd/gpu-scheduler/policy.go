package main

import (
	"context"
	"fmt"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// How often it is looked whether the policy is in force: until it is, and then.
const (
	policySoon  = 250 * time.Millisecond
	policyLater = 10 * time.Second
)

// watchPolicy tells Ready whether the policy is in force, until ctx ends. An API server acts by a
// policy up to a second after it has it, and pods that are made before that lack the variable for
// good.
func (s *Scheduler) watchPolicy(ctx context.Context) {
	was, said := false, ""
	for ctx.Err() == nil {
		err := s.inForce(ctx)
		if is := err == nil; is != was && ctx.Err() == nil {
			if failed := s.Ready(is); failed != nil {
				s.Log.Error("say that this scheduler is ready, or not", "ready", is, "err", failed)
			} else if was = is; is {
				s.Log.Info("ready: the API server sets " + visibleDevices)
				said = ""
			}
		}
		pause := policyLater
		if err != nil || !was {
			pause = policySoon
		}
		if err != nil && err.Error() != said && ctx.Err() == nil {
			said = err.Error()
			s.Log.Warn("not ready", "err", err)
		}
		select {
		case <-ctx.Done():
		case <-time.After(pause):
		}
	}
}

// inForce creates a pod as a dry run, and checks that the API server adds its GPUs.
func (s *Scheduler) inForce(ctx context.Context) error {
	e := s.Map[0]
	pod, err := s.Client.CoreV1().Pods(s.Namespace).Create(ctx, s.probe(e), metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
	if err != nil {
		return fmt.Errorf("make a pod as a dry run, to see whether the API server sets %s: %w", visibleDevices, err)
	}
	if err := seesDevices(pod, e); err != nil {
		return fmt.Errorf("the API server does not set %s by this scheduling map yet: is the MutatingAdmissionPolicy there, with its binding?", visibleDevices)
	}
	return nil
}

// probe is a pod that every Pod Security Standard accepts. It is never made.
func (s *Scheduler) probe(e Entry) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{GenerateName: "dry-run-", Namespace: s.Namespace, Labels: map[string]string{appsv1.PodIndexLabel: fmt.Sprint(e.PodIndex)}},
		Spec: corev1.PodSpec{
			SchedulerName: s.Name,
			SecurityContext: &corev1.PodSecurityContext{RunAsNonRoot: new(true), SeccompProfile: &corev1.SeccompProfile{
				Type: corev1.SeccompProfileTypeRuntimeDefault,
			}},
			Containers: []corev1.Container{{Name: "dry-run", Image: "dry-run", SecurityContext: &corev1.SecurityContext{
				AllowPrivilegeEscalation: new(false), Capabilities: &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}},
			}}},
		},
	}
}
