package kubetest_test

import (
	"context"
	"fmt"
	"io/fs"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	agentcluster "fairlane/agent/cluster"
	"fairlane/agent/pods"
	"fairlane/agent/pods/podsock"
	"fairlane/kube/kubetest"
	"fairlane/kube/v1alpha1"
)

// hostDevices are the devices of a node without hardware: each is on the port of its physical function, and keeps its rate.
type hostDevices struct {
	mu    sync.Mutex
	rates map[string]uint32 // Mbit/s by device
}

func (d *hostDevices) Refresh(context.Context) (int, error) { return 2, nil }

func (d *hostDevices) Find(_ context.Context, q pods.Query) (podsock.Device, error) {
	return podsock.Device{ID: q.ID, PF: "0000:3b:00.0", Port: "0x0200000000010000:1", Link: "Ethernet"}, nil
}

func (d *hostDevices) Read(_ context.Context, of podsock.Device) (podsock.Settings, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return podsock.Settings{MaxMbps: new(d.rates[of.ID])}, nil
}

func (d *hostDevices) Apply(_ context.Context, of podsock.Device, l podsock.Levers) (pods.Applied, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if l.MaxMbps == nil {
		return pods.Applied{}, nil
	}
	d.rates[of.ID] = *l.MaxMbps
	return pods.Applied{Settings: podsock.Settings{MaxMbps: l.MaxMbps}}, nil
}

func (d *hostDevices) Restore(_ context.Context, of podsock.Device, s podsock.Settings) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if s.MaxMbps != nil {
		d.rates[of.ID] = *s.MaxMbps
	}
	return nil
}

func (d *hostDevices) Counters(context.Context, podsock.Device) (map[string]uint64, error) {
	return nil, nil
}

// Identify and Gone implement pods.Namespaces: the pods of the test have no sandbox.
func (d *hostDevices) Identify(string) (string, error) { return "", fs.ErrNotExist }
func (d *hostDevices) Gone(string, string) bool        { return false }
func (d *hostDevices) rate(device string) (mbps uint32) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.rates[device]
}

// agent runs the node agent's part for the cluster, with the rights of its own account.
func agent(t *testing.T, node string, devices *hostDevices) *pods.Table {
	t.Helper()
	log := slog.New(slog.DiscardHandler)
	on, err := agentcluster.New(agentcluster.Options{Config: cluster.As(t, "fairlane-agent", node), Node: node, Every: time.Second, Log: log})
	if err != nil {
		t.Fatal(err)
	}
	table, err := pods.Open(pods.Options{Dir: t.TempDir(), Version: "test", BootID: "boot", Bindings: on, Devices: devices, Namespaces: devices, Now: time.Now, Log: log})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	var group sync.WaitGroup
	group.Go(func() { table.Run(ctx, time.Second) })
	group.Go(func() { on.Run(ctx, table) })
	t.Cleanup(func() { stop(); group.Wait() })
	return table
}

// boundNamespace is a namespace whose binding has the classes default, bulk and express of 10, 20 and 30 Gbit/s.
func boundNamespace(t *testing.T, name string) string {
	t.Helper()
	const label = v1alpha1.LabelPrefix + "tenant"
	b := &v1alpha1.TenantBinding{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: v1alpha1.TenantBindingSpec{
		Fabric: "lab", Tenant: name, Class: "default", CachedFor: metav1.Duration{Duration: time.Hour}, FailPolicy: v1alpha1.FailClosed, NamespaceSelector: v1alpha1.NamespaceSelector{MatchLabels: map[string]string{label: name}},
	}}
	if err := cluster.Admin.Create(t.Context(), b); err != nil {
		t.Fatal(err)
	}
	for i, class := range []string{"default", "bulk", "express"} {
		b.Status.Classes = append(b.Status.Classes, v1alpha1.BindingClass{Name: class, Weight: "1", MaxMbps: new(int64(i+1) * 10_000)})
	}
	if err := cluster.Admin.Status().Update(t.Context(), b); err != nil {
		t.Fatal(err)
	}
	return cluster.Namespace(t, name, map[string]string{label: name})
}

// opaque is configuration of Fairlane's that names a class.
func opaque(class string) resourcev1.DeviceConfiguration {
	return resourcev1.DeviceConfiguration{Opaque: &resourcev1.OpaqueDeviceConfiguration{Driver: v1alpha1.Group, Parameters: runtime.RawExtension{Raw: []byte(`{"class":"` + class + `"}`)}}}
}

// inventory publishes the devices of a node, as their driver does: virtual functions, and one that claims share.
func inventory(t *testing.T, node string) {
	t.Helper()
	address := func(a string) map[resourcev1.QualifiedName]resourcev1.DeviceAttribute {
		return map[resourcev1.QualifiedName]resourcev1.DeviceAttribute{"resource.kubernetes.io/pciBusID": {StringValue: &a}}
	}
	s := &resourcev1.ResourceSlice{ObjectMeta: metav1.ObjectMeta{Name: node + "-nics"}, Spec: resourcev1.ResourceSliceSpec{
		Driver: "dra.net", NodeName: &node, Pool: resourcev1.ResourcePool{Name: node, ResourceSliceCount: 1},
		Devices: []resourcev1.Device{
			{Name: "vf2", Attributes: address("0000:3b:00.2")}, {Name: "vf3", Attributes: address("0000:3b:00.3")},
			{
				Name: "port", Attributes: address("0000:3b:00.0"), AllowMultipleAllocations: new(true),
				Capacity: map[resourcev1.QualifiedName]resourcev1.DeviceCapacity{"bandwidth": {Value: resource.MustParse("100G")}},
			},
		},
	}}
	if err := cluster.Admin.Create(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	for name, class := range map[string]string{node + "-plain": "", node + "-bulk": "bulk"} {
		c := &resourcev1.DeviceClass{ObjectMeta: metav1.ObjectMeta{Name: name}}
		if class != "" {
			c.Spec.Config = []resourcev1.DeviceClassConfiguration{{DeviceConfiguration: opaque(class)}}
		}
		if err := cluster.Admin.Create(t.Context(), c); err != nil {
			t.Fatal(err)
		}
	}
}

// podWithClaim creates a pod on a node, and its claim of one device as the scheduler and the driver complete it. rate is what the
// claim consumes of a shared device.
func podWithClaim(t *testing.T, namespace, name, node, deviceClass, device, rate string) *corev1.Pod {
	t.Helper()
	ctx := t.Context()
	request := resourcev1.DeviceRequest{Name: "nic", Exactly: &resourcev1.ExactDeviceRequest{DeviceClassName: deviceClass, AllocationMode: resourcev1.DeviceAllocationModeExactCount, Count: 1}}
	claim := &resourcev1.ResourceClaim{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}, Spec: resourcev1.ResourceClaimSpec{Devices: resourcev1.DeviceClaim{
		Requests: []resourcev1.DeviceRequest{request},
		Config:   []resourcev1.DeviceClaimConfiguration{{DeviceConfiguration: opaque("express")}}, // by the author of the pod
	}}}
	if err := cluster.Admin.Create(ctx, claim); err != nil {
		t.Fatal(err)
	}
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}, Spec: corev1.PodSpec{
		NodeName: node, ResourceClaims: []corev1.PodResourceClaim{{Name: "nic", ResourceClaimName: &claim.Name}},
		Containers: []corev1.Container{{Name: "c", Image: "none", ImagePullPolicy: corev1.PullNever, Resources: corev1.ResourceRequirements{Claims: []corev1.ResourceClaim{{Name: "nic"}}}}},
	}}
	if err := cluster.Admin.Create(ctx, pod); err != nil {
		t.Fatal(err)
	}
	of := &resourcev1.DeviceClass{}
	if err := cluster.Admin.Get(ctx, client.ObjectKey{Name: deviceClass}, of); err != nil {
		t.Fatal(err)
	}
	var config []resourcev1.DeviceAllocationConfiguration
	for _, c := range of.Spec.Config {
		config = append(config, resourcev1.DeviceAllocationConfiguration{Source: resourcev1.AllocationConfigSourceClass, DeviceConfiguration: c.DeviceConfiguration})
	}
	for _, c := range claim.Spec.Devices.Config {
		config = append(config, resourcev1.DeviceAllocationConfiguration{Source: resourcev1.AllocationConfigSourceClaim, DeviceConfiguration: c.DeviceConfiguration})
	}
	result := resourcev1.DeviceRequestAllocationResult{Request: "nic", Driver: "dra.net", Pool: node, Device: device}
	if rate != "" {
		result.ShareID = new(types.UID("8f2f6c06-3d0b-4f4f-9d3c-" + fmt.Sprintf("%012d", time.Now().UnixNano()%1e12)))
		result.ConsumedCapacity = map[resourcev1.QualifiedName]resource.Quantity{"bandwidth": resource.MustParse(rate)}
	}
	claim.Status = resourcev1.ResourceClaimStatus{
		ReservedFor: []resourcev1.ResourceClaimConsumerReference{{Resource: "pods", Name: pod.Name, UID: pod.UID}},
		Allocation:  &resourcev1.AllocationResult{Devices: resourcev1.DeviceAllocationResult{Results: []resourcev1.DeviceRequestAllocationResult{result}, Config: config}},
	}
	if rate == "" {
		claim.Status.Devices = []resourcev1.AllocatedDeviceStatus{{Driver: "dra.net", Pool: node, Device: device, NetworkData: &resourcev1.NetworkDeviceData{InterfaceName: "net1"}}}
	}
	if err := cluster.Admin.Status().Update(ctx, claim); err != nil {
		t.Fatal(err)
	}
	if got := claim.Status.Allocation.Devices.Results[0]; rate != "" && (got.ShareID == nil || len(got.ConsumedCapacity) != 1) {
		t.Fatalf("the API server dropped what the claim consumes: %+v", got)
	}
	return pod
}

func TestClaimsOfPodsBecomeAttachments(t *testing.T) {
	t.Parallel()
	const node = "dra-1"
	ns, devices := boundNamespace(t, "dra"), &hostDevices{rates: map[string]uint32{}}
	inventory(t, node)
	table := agent(t, node, devices)
	// CNI reports the second device before the claim is complete.
	first := podsock.Attachment{
		Key: podsock.Key{Network: "rdma", ContainerID: "sandbox3", Interface: "net1"}, Pod: podsock.Pod{Namespace: ns, Name: "third", UID: "later"}, Device: "0000:3b:00.3",
	}
	podWithClaim(t, ns, "exclusive", node, node+"-bulk", "vf2", "")
	podWithClaim(t, ns, "sharing-a", node, node+"-plain", "port", "40G")
	podWithClaim(t, ns, "sharing-b", node, node+"-plain", "port", "5G")

	want := map[string]string{
		"exclusive": "Claim 0000:3b:00.2 net1 bulk 0 bit/s", "sharing-a": "Claim 0000:3b:00.0 device0 default 40000000000 bit/s", "sharing-b": "Claim 0000:3b:00.0 device0 default 5000000000 bit/s",
	}
	expect := func() {
		t.Helper()
		kubetest.Eventually(t, 30*time.Second, func() string {
			var list v1alpha1.FabricAttachmentList
			if err := cluster.Admin.List(t.Context(), &list, client.InNamespace(ns)); err != nil {
				return err.Error()
			}
			got := map[string]string{}
			for _, a := range list.Items {
				rate := int64(0)
				if a.Spec.ClaimedBps != nil {
					rate = *a.Spec.ClaimedBps
				}
				got[a.Spec.Pod.Name] += fmt.Sprintf("%s %s %s %s %d bit/s", a.Spec.Source, a.Spec.Device.ID, a.Spec.Interface, a.Spec.Class, rate)
				if a.Spec.Device.Port != "0x0200000000010000:1" {
					return fmt.Sprintf("%s is on port %q", a.Name, a.Spec.Device.Port)
				}
			}
			if !maps.Equal(got, want) {
				return fmt.Sprintf("found %v, want %v", got, want)
			}
			return ""
		})
	}
	expect()
	if err := cluster.Admin.DeleteAllOf(t.Context(), &v1alpha1.FabricAttachment{}, client.InNamespace(ns)); err != nil {
		t.Fatal(err)
	}
	expect() // the agent writes them again
	if got := []uint32{devices.rate("0000:3b:00.2"), devices.rate("0000:3b:00.0")}; !slices.Equal(got, []uint32{20_000, 0}) {
		t.Errorf("rates are %v, want that of the DeviceClass, and none on the shared device", got)
	}

	// CNI before the claim, and after it: the class of the DeviceClass stays.
	third := podWithClaim(t, ns, "third", node, node+"-bulk", "vf3", "")
	first.Pod.UID = string(third.UID)
	if _, err := table.Add(t.Context(), first, podsock.SourceCNI); err != nil {
		t.Fatal(err)
	}
	var exclusive corev1.Pod
	if err := cluster.Admin.Get(t.Context(), client.ObjectKey{Namespace: ns, Name: "exclusive"}, &exclusive); err != nil {
		t.Fatal(err)
	}
	after := first
	after.ContainerID, after.Device, after.Pod.Name, after.Pod.UID = "sandbox2", "0000:3b:00.2", "exclusive", string(exclusive.UID)
	if _, err := table.Add(t.Context(), after, podsock.SourceCNI); err != nil {
		t.Fatal(err)
	}
	want["exclusive"], want["third"] = "CNI 0000:3b:00.2 net1 bulk 0 bit/s", "CNI 0000:3b:00.3 net1 bulk 0 bit/s"
	expect()
	if got := devices.rate("0000:3b:00.3"); got != 20_000 {
		t.Errorf("the rate is %d, want that of the DeviceClass", got)
	}
}
