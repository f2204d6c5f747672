package admission

import (
	"slices"
	"strconv"

	corev1 "k8s.io/api/core/v1"

	"fairlane/kube/v1alpha1"
)

// Variables from which libraries read the service level of InfiniBand.
var slVariables = []string{"NCCL_IB_SL", "UCX_IB_SL", "NVSHMEM_IB_SL", "EP_OVERRIDE_RDMA_SL", "MC_IB_SL"}

// Variables from which libraries read the traffic class of RoCE: the DSCP in the upper six of eight bits.
var tcVariables = []string{"NCCL_IB_TC", "UCX_IB_TRAFFIC_CLASS", "NVSHMEM_IB_TRAFFIC_CLASS", "MC_IB_TC"}

// environment returns the variables for the binding's class, none while the plan in force assigns it no uniform value.
func environment(b *v1alpha1.TenantBinding) []corev1.EnvVar {
	i := slices.IndexFunc(b.Status.Classes, func(c v1alpha1.BindingClass) bool { return c.Name == b.Spec.Class })
	if i < 0 {
		return nil
	}
	var env []corev1.EnvVar
	add := func(names []string, value int32) {
		for _, n := range names {
			env = append(env, corev1.EnvVar{Name: n, Value: strconv.Itoa(int(value))})
		}
	}
	if sl := b.Status.Classes[i].SL; sl != nil {
		add(slVariables, *sl)
	}
	if dscp := b.Status.Classes[i].DSCP; dscp != nil {
		add(tcVariables, *dscp<<2)
	}
	return env
}

// inject adds the variables to the containers that do not set them, and returns warnings about those that it left alone.
func inject(pod *corev1.PodSpec, env []corev1.EnvVar) []string {
	if len(env) == 0 {
		return nil
	}
	var warnings []string
	for _, all := range [][]corev1.Container{pod.InitContainers, pod.Containers} {
		for i := range all {
			c := &all[i]
			if len(c.EnvFrom) > 0 { // a variable in env would win over one from there, which cannot be seen here
				warnings = append(warnings, saidEnvFrom(c.Name, env))
				continue
			}
			for _, e := range env {
				if !slices.ContainsFunc(c.Env, func(have corev1.EnvVar) bool { return have.Name == e.Name }) {
					c.Env = append(c.Env, e)
				}
			}
		}
	}
	return warnings
}
