package kubenode_test

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"fairlane/agent/pods/podsock"
	"fairlane/kube/kubetest"
	"fairlane/test/kubenode"
)

// images builds the images by the recipe, for the registry of the values below, and imports them.
func images(t *testing.T, n *kubenode.Node) {
	t.Helper()
	dir := t.TempDir()
	recipe := exec.CommandContext(t.Context(), "go", "run", ".", "-out", dir, "-version", "0.1.0", "-registry", "registry.example/fairlane")
	recipe.Dir, recipe.Env = "../../tools/images", append(os.Environ(), "GOFLAGS=-trimpath -buildvcs=false")
	if out, err := recipe.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	for _, name := range []string{"fairlane", "fairlane-agent", "fairlane-kube"} {
		if err := n.Import(filepath.Join(dir, name+".tar")); err != nil {
			t.Fatal(err)
		}
	}
}

// chart renders the chart with some values, creates its ConfigMaps and accounts, and returns the pod of a workload, for the node.
func chart(t *testing.T, n *kubenode.Node, workload string, set ...string) *corev1.Pod {
	t.Helper()
	args := []string{"--set", "image.registry=registry.example/fairlane,image.pullPolicy=Never,controller.cluster=lab1,controller.manager.url=https://127.0.0.1:1,controller.manager.caSecret.name="}
	for _, s := range set {
		args = append(args, "--set", s)
	}
	objects, err := kubetest.Render(t, "helm3", "../../deploy/helm/fairlane", args...)
	if err != nil {
		t.Fatal(err)
	}
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: kubetest.System, GenerateName: workload + "-"}}
	for _, u := range objects {
		switch template, found, err := unstructured.NestedMap(u.Object, "spec", "template", "spec"); {
		case err != nil:
			t.Fatal(err)
		case found && u.GetName() == workload:
			if err := runtime.DefaultUnstructuredConverter.FromUnstructured(template, &pod.Spec); err != nil {
				t.Fatal(err)
			}
		case u.GetKind() == "ConfigMap" || u.GetKind() == "ServiceAccount":
			if err := client.IgnoreAlreadyExists(cluster.Admin.Create(t.Context(), u)); err != nil {
				t.Fatal(err)
			}
		}
	}
	if len(pod.Spec.Containers) == 0 {
		t.Fatalf("the chart has no %s", workload)
	}
	pod.Spec.NodeName, pod.Spec.NodeSelector, pod.Spec.PriorityClassName, pod.Spec.TopologySpreadConstraints = n.Name, nil, "", nil
	pod.Spec.Tolerations = []corev1.Toleration{{Operator: corev1.TolerationOpExists}}
	pod.Spec.TerminationGracePeriodSeconds = new(int64(5))
	return pod
}

// onHost moves a pod to the network of its host, and its probes to a port of loopback: on the node of these tests the host has no
// route to pods, and the API server listens on loopback. The ports of the chart may be in use on this machine.
func onHost(p *corev1.Pod, port int32) {
	p.Spec.HostNetwork = true
	c := &p.Spec.Containers[0]
	c.Ports = nil
	for _, probe := range []*corev1.Probe{c.StartupProbe, c.LivenessProbe, c.ReadinessProbe} {
		switch {
		case probe != nil && probe.HTTPGet != nil:
			probe.HTTPGet.Host, probe.HTTPGet.Port = "127.0.0.1", intstr.FromInt32(port)
		case probe != nil && probe.TCPSocket != nil:
			probe.TCPSocket.Host, probe.TCPSocket.Port = "127.0.0.1", intstr.FromInt32(port)
		}
	}
}

// inCluster gives a pod on the host's network the address of the API server, since no Service leads there, and the token of its
// account, which an API server with all of its admission plugins would add.
func inCluster(t *testing.T, p *corev1.Pod) {
	t.Helper()
	host, port, err := net.SplitHostPort(strings.TrimPrefix(cluster.Config.Host, "https://"))
	if err != nil {
		t.Fatal(err)
	}
	c := &p.Spec.Containers[0]
	c.VolumeMounts = append(c.VolumeMounts, corev1.VolumeMount{Name: "token", MountPath: "/var/run/secrets/kubernetes.io/serviceaccount", ReadOnly: true})
	p.Spec.Volumes = append(p.Spec.Volumes, corev1.Volume{Name: "token", VolumeSource: corev1.VolumeSource{Projected: &corev1.ProjectedVolumeSource{Sources: []corev1.VolumeProjection{
		{ServiceAccountToken: &corev1.ServiceAccountTokenProjection{Path: "token"}},
		{ConfigMap: &corev1.ConfigMapProjection{LocalObjectReference: corev1.LocalObjectReference{Name: "kube-root-ca.crt"}}},
	}}}})
	c.Env = append(c.Env, corev1.EnvVar{Name: "KUBERNETES_SERVICE_HOST", Value: host}, corev1.EnvVar{Name: "KUBERNETES_SERVICE_PORT", Value: port})
	authority := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: kubetest.System, Name: "kube-root-ca.crt"}, Data: map[string]string{"ca.crt": string(cluster.Config.CAData)}}
	if err := client.IgnoreAlreadyExists(cluster.Admin.Create(t.Context(), authority)); err != nil {
		t.Fatal(err)
	}
}

// ready creates a pod and waits until it is ready; the returned function removes it.
func ready(t *testing.T, n *kubenode.Node, p *corev1.Pod) (remove func()) {
	t.Helper()
	if err := cluster.Admin.Create(t.Context(), p); err != nil {
		t.Fatal(err)
	}
	key := client.ObjectKeyFromObject(p)
	remove = func() {
		ctx := context.WithoutCancel(t.Context())
		if t.Failed() {
			t.Log(n.Output(p.Name))
		}
		if err := client.IgnoreNotFound(cluster.Admin.Delete(ctx, p)); err != nil {
			t.Error(err)
		}
		kubetest.Eventually(t, time.Minute, func() string {
			if err := cluster.Admin.Get(ctx, key, p); err == nil {
				return "pod " + p.Name + " stays"
			}
			return ""
		})
	}
	t.Cleanup(remove)
	kubetest.Eventually(t, 2*time.Minute, func() string {
		var now corev1.Pod
		if err := cluster.Admin.Get(t.Context(), key, &now); err != nil {
			return err.Error()
		}
		if slices.ContainsFunc(now.Status.Conditions, func(c corev1.PodCondition) bool {
			return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
		}) {
			return ""
		}
		return fmt.Sprintf("pod %s is not ready: %+v %+v", p.Name, now.Status.InitContainerStatuses, now.Status.ContainerStatuses)
	})
	return remove
}

// TestTheChartsPodsRunOnANode runs the pods of the chart on a node, from images of the recipe, with exactly the rights of the chart.
// The machine has no RDMA device: what is tested is that each process starts, reaches what it must, and leaves nothing behind.
func TestTheChartsPodsRunOnANode(t *testing.T) {
	if os.Getenv(kubetest.HelmFolder) == "" {
		t.Fatal(kubetest.HelmFolder + " is not set: run make kube")
	}
	n := kubenode.Start(t, cluster, "node-4")
	images(t, n)

	t.Run("manager", func(t *testing.T) {
		p := chart(t, n, "fairlane", "manager.enabled=true,manager.tls.enabled=false,manager.persistence.enabled=false")
		onHost(p, 18470)
		p.Spec.Containers[0].Env = append(p.Spec.Containers[0].Env, corev1.EnvVar{Name: "FAIRLANE_LISTEN", Value: "127.0.0.1:18470"}, corev1.EnvVar{Name: "FAIRLANE_OPERATIONS_LISTEN", Value: "127.0.0.1:19470"})
		ready(t, n, p)
	})
	t.Run("controller", func(t *testing.T) {
		token := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: kubetest.System, Name: "fairlane-manager"}, StringData: map[string]string{"token": "fl_test"}}
		if err := client.IgnoreAlreadyExists(cluster.Admin.Create(t.Context(), token)); err != nil {
			t.Fatal(err)
		}
		p := chart(t, n, "fairlane-kube")
		onHost(p, 18081)
		c := &p.Spec.Containers[0]
		c.Args = append(c.Args, "--webhook-port=19443", "--health=127.0.0.1:18081", "--metrics=0")
		inCluster(t, p)
		ready(t, n, p)
	})
	t.Run("agent and plugin", func(t *testing.T) { checkAgentPods(t, n) })
}

// checkAgentPods installs the agent and the plugin on the node, and restores the node.
func checkAgentPods(t *testing.T, n *kubenode.Node) {
	const state = "/var/lib/fairlane-agent"
	bin := filepath.Join(n.Dir, "cni-bin")
	if err := os.Mkdir(bin, 0o755); err != nil {
		t.Fatal(err)
	}
	p := chart(t, n, "fairlane-agent", "agent.cni.binDir="+bin)
	inCluster(t, p)
	remove := ready(t, n, p)
	if out, err := exec.CommandContext(t.Context(), filepath.Join(bin, "fairlane-cni"), "version").CombinedOutput(); err != nil || !strings.HasPrefix(string(out), "fairlane-cni ") {
		t.Errorf("the plugin: %v, %s", err, out)
	}
	kubetest.Eventually(t, time.Minute, func() string { // bindings come from the API server, with the account of the chart
		s, err := podsock.NewClient(podsock.DefaultSocket).Status(t.Context())
		if err != nil || !s.Loaded {
			return fmt.Sprintf("status %+v, %v: %s", s, err, n.Output(p.Name))
		}
		return ""
	})
	if out := n.Output(p.Name); !strings.Contains(out, podsock.DefaultSocket) || strings.Contains(out, `"addr":"[::]`) {
		t.Errorf("the agent's log is %s", out)
	}
	remove()
	if entries, err := os.ReadDir(state); err != nil || len(entries) == 0 {
		t.Errorf("the agent kept no state: %v, %v", entries, err)
	}
	p = chart(t, n, "fairlane-agent", "agent.cni.binDir="+bin+",agent.remove=true")
	inCluster(t, p)
	ready(t, n, p)
	for _, dir := range []string{bin, state} {
		if entries, err := os.ReadDir(dir); err != nil || len(entries) > 0 {
			t.Errorf("%s has %v, %v", dir, entries, err)
		}
	}
}
