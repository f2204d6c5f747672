package cluster

import (
	"context"
	"log/slog"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	kubelet "k8s.io/kubelet/pkg/apis/podresources/v1"

	"fairlane/agent/pods/podsock"
)

func pod(uid string) *corev1.Pod {
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: "trainer-0", UID: types.UID(uid)}}
}

func slice(driver, pool string, devices map[string]map[resourcev1.QualifiedName]string) *resourcev1.ResourceSlice {
	s := &resourcev1.ResourceSlice{Spec: resourcev1.ResourceSliceSpec{Driver: driver, Pool: resourcev1.ResourcePool{Name: pool}}}
	for name, attributes := range devices {
		d := resourcev1.Device{Name: name, Attributes: map[resourcev1.QualifiedName]resourcev1.DeviceAttribute{}}
		for k, v := range attributes {
			d.Attributes[k] = resourcev1.DeviceAttribute{StringValue: &v}
		}
		s.Spec.Devices = append(s.Spec.Devices, d)
	}
	return s
}

func claimFor(p *corev1.Pod, results ...resourcev1.DeviceRequestAllocationResult) *resourcev1.ResourceClaim {
	return &resourcev1.ResourceClaim{
		ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: "nics"},
		Status: resourcev1.ResourceClaimStatus{
			ReservedFor: []resourcev1.ResourceClaimConsumerReference{{Resource: "pods", Name: p.Name, UID: p.UID}},
			Allocation:  &resourcev1.AllocationResult{Devices: resourcev1.DeviceAllocationResult{Results: results}},
		},
	}
}

// devices is the node's inventory: one driver with the standard attribute, one with its own, and one of other devices.
func inventory() []*resourcev1.ResourceSlice {
	return []*resourcev1.ResourceSlice{
		slice("dra.net", "node1", map[string]map[resourcev1.QualifiedName]string{"nic0": {"dra.net/pciAddress": "0000:3B:00.2"}, "nic1": {"dra.net/pciAddress": "../../etc"}}),
		slice("sriov.example.org", "node1", map[string]map[resourcev1.QualifiedName]string{"vf7": {"resource.kubernetes.io/pciBusID": "0000:3b:00.7", "dra.net/pciAddress": "0000:ff:00.0"}}),
		slice("sound.example.org", "node1", map[string]map[resourcev1.QualifiedName]string{"card": {"model": "0000:00:1f.3"}}),
	}
}

func TestDevicesOfAClaim(t *testing.T) {
	p := pod("u1")
	claim := claimFor(p,
		resourcev1.DeviceRequestAllocationResult{Request: "nic", Driver: "dra.net", Pool: "node1", Device: "nic0"},
		resourcev1.DeviceRequestAllocationResult{Request: "vf", Driver: "sriov.example.org", Pool: "node1", Device: "vf7"},
		resourcev1.DeviceRequestAllocationResult{Request: "nic", Driver: "dra.net", Pool: "node1", Device: "nic1"},             // no address
		resourcev1.DeviceRequestAllocationResult{Request: "nic", Driver: "dra.net", Pool: "node2", Device: "nic0"},             // another pool
		resourcev1.DeviceRequestAllocationResult{Request: "sound", Driver: "sound.example.org", Pool: "node1", Device: "card"}, // not a network device
		resourcev1.DeviceRequestAllocationResult{Request: "see", Driver: "dra.net", Pool: "node1", Device: "nic0", AdminAccess: new(true)},
		resourcev1.DeviceRequestAllocationResult{Request: "part", Driver: "dra.net", Pool: "node1", Device: "nic0", ShareID: new(types.UID("s1")),
			ConsumedCapacity: map[resourcev1.QualifiedName]resource.Quantity{"dra.net/bandwidth": resource.MustParse("10G"), "queues": resource.MustParse("4")}},
	)
	claim.Status.Devices = []resourcev1.AllocatedDeviceStatus{{Driver: "dra.net", Pool: "node1", Device: "nic0", NetworkData: &resourcev1.NetworkDeviceData{InterfaceName: "net1"}}}
	of := func(name, device string) podsock.Attachment {
		return podsock.Attachment{Key: podsock.Key{Network: "nics", ContainerID: "u1", Interface: name}, Pod: podsock.Pod{Namespace: "a", Name: "trainer-0", UID: "u1"}, Device: device}
	}
	part := of("device6", "")
	part.SharedDevice, part.ClaimedBps = "0000:3b:00.2", 10_000_000_000
	want := []podsock.Attachment{of("net1", "0000:3b:00.2"), of("device1", "0000:3b:00.7"), part}
	got := attachmentsOf(p, claim, inventory())
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	for i := range got {
		if err := got[i].Check(); err != nil {
			t.Errorf("the table would refuse %v: %v", got[i].Key, err)
		}
	}
}

func TestAClaimThatThePodDoesNotHoldGivesNothing(t *testing.T) {
	nic := resourcev1.DeviceRequestAllocationResult{Request: "nic", Driver: "dra.net", Pool: "node1", Device: "nic0"}
	for name, claim := range map[string]*resourcev1.ResourceClaim{
		"reserved for another pod": claimFor(pod("u2"), nic),
		"not allocated": func() *resourcev1.ResourceClaim {
			c := claimFor(pod("u1"), nic)
			c.Status.Allocation = nil
			return c
		}(),
		"of another namespace": func() *resourcev1.ResourceClaim {
			c := claimFor(pod("u1"), nic)
			c.Namespace = "b"
			return c
		}(),
	} {
		t.Run(name, func(t *testing.T) {
			if got := attachmentsOf(pod("u1"), claim, inventory()); len(got) != 0 {
				t.Errorf("found %v, want none", got)
			}
		})
	}
}

func TestOnlyADeviceClassAssignsAClass(t *testing.T) {
	config := func(source resourcev1.AllocationConfigSource, driver, class string, requests ...string) resourcev1.DeviceAllocationConfiguration {
		return resourcev1.DeviceAllocationConfiguration{Source: source, Requests: requests, DeviceConfiguration: resourcev1.DeviceConfiguration{
			Opaque: &resourcev1.OpaqueDeviceConfiguration{Driver: driver, Parameters: runtime.RawExtension{Raw: []byte(`{"class":"` + class + `"}`)}},
		}}
	}
	const class, claim = resourcev1.AllocationConfigSourceClass, resourcev1.AllocationConfigSourceClaim
	for name, c := range map[string]struct {
		config []resourcev1.DeviceAllocationConfiguration
		want   string
	}{
		"of the device class":         {[]resourcev1.DeviceAllocationConfiguration{config(class, "fairlane.dev", "bulk")}, "bulk"},
		"of the claim":                {[]resourcev1.DeviceAllocationConfiguration{config(claim, "fairlane.dev", "express")}, ""},
		"of the claim, then of class": {[]resourcev1.DeviceAllocationConfiguration{config(claim, "fairlane.dev", "express"), config(class, "fairlane.dev", "bulk")}, "bulk"},
		"for another driver":          {[]resourcev1.DeviceAllocationConfiguration{config(class, "dra.net", "express")}, ""},
		"for another request":         {[]resourcev1.DeviceAllocationConfiguration{config(class, "fairlane.dev", "express", "storage")}, ""},
		"for this request":            {[]resourcev1.DeviceAllocationConfiguration{config(class, "fairlane.dev", "bulk", "nic")}, "bulk"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := classOf(c.config, "nic/fast"); got != c.want {
				t.Errorf("class %q, want %q", got, c.want)
			}
		})
	}
}

func TestDevicesByTheKubeletsList(t *testing.T) {
	p := &kubelet.PodResources{Namespace: "a", Name: "trainer-0", Containers: []*kubelet.ContainerResources{
		{Name: "main", Devices: []*kubelet.ContainerDevices{
			{ResourceName: "nvidia.com/vf", DeviceIds: []string{"0000:3b:00.2"}},
			{ResourceName: "nvidia.com/gpu", DeviceIds: []string{"GPU-5c12"}},
			{ResourceName: "rdma/shared", DeviceIds: []string{"17"}},
		}},
		{Name: "side", Devices: []*kubelet.ContainerDevices{{ResourceName: "nvidia.com/sf", DeviceIds: []string{"mlx5_core.sf.4"}}}},
	}}
	of := func(network, name, device string) podsock.Attachment {
		return podsock.Attachment{Key: podsock.Key{Network: network, ContainerID: "u1", Interface: name}, Pod: podsock.Pod{Namespace: "a", Name: "trainer-0", UID: "u1"}, Device: device}
	}
	got := devicesOf(p, podsock.Pod{Namespace: "a", Name: "trainer-0", UID: "u1"})
	if d := cmp.Diff([]podsock.Attachment{of("nvidia.com.vf", "device0", "0000:3b:00.2"), of("nvidia.com.sf", "device1", "mlx5_core.sf.4")}, got); d != "" {
		t.Error(d)
	}
	for i := range got {
		if err := got[i].Check(); err != nil {
			t.Errorf("the table would refuse %v: %v", got[i].Key, err)
		}
	}
}

// recorded is a table with one record, which counts the attachments that it is given.
type recorded struct {
	record podsock.Record
	added  int
}

func (r *recorded) Add(_ context.Context, a podsock.Attachment, _ podsock.Source) (podsock.Record, error) {
	r.added++
	r.record.Assigned, r.record.ClaimedBps = a.Assigned, a.ClaimedBps
	return r.record, nil
}

func (*recorded) Reconcile(context.Context, podsock.Source, func(*podsock.Record) bool) (int, error) {
	return 0, nil
}
func (r *recorded) List(context.Context, bool) []podsock.Record { return []podsock.Record{r.record} }
func (*recorded) Changed() <-chan struct{}                      { return nil }

func TestAClaimsClassReachesTheRecordOfAnotherSourceOnce(t *testing.T) {
	of := func(container, uid, class string) podsock.Attachment {
		return podsock.Attachment{Key: podsock.Key{Network: "n", ContainerID: container, Interface: "net1"}, Pod: podsock.Pod{Namespace: "a", Name: "trainer-0", UID: uid}, Device: "0000:3b:00.2", Assigned: class}
	}
	rated := func(a podsock.Attachment, bps int64) podsock.Attachment {
		a.ClaimedBps = bps
		return a
	}
	for name, c := range map[string]struct {
		record, claim podsock.Attachment
		want          int
	}{
		"the binding's class, by CNI":         {of("sandbox", "u1", ""), of("u1", "u1", "bulk"), 1},
		"the class of the DeviceClass":        {of("sandbox", "u1", "bulk"), of("u1", "u1", "bulk"), 0},
		"another class":                       {of("sandbox", "u1", "express"), of("u1", "u1", "bulk"), 1},
		"a claim without a class":             {of("sandbox", "u1", ""), of("u1", "u1", ""), 0},
		"the claim's own record":              {of("u1", "u1", "bulk"), of("u1", "u1", "bulk"), 0},
		"a rate that is news":                 {of("u1", "u1", ""), rated(of("u1", "u1", ""), 5), 1},
		"another pod's record of this device": {of("sandbox", "u2", "bulk"), of("u1", "u1", "bulk"), 1},
	} {
		t.Run(name, func(t *testing.T) {
			table := &recorded{record: podsock.Record{Attachment: c.record, Source: podsock.SourceCNI}}
			on := &Cluster{log: slog.New(slog.DiscardHandler)}
			on.attach(t.Context(), table, c.claim, podsock.SourceClaim)
			if table.added != c.want {
				t.Fatalf("added %d times, want %d", table.added, c.want)
			}
			table.record.Pod = c.claim.Pod
			on.attach(t.Context(), table, c.claim, podsock.SourceClaim) // the next round
			if table.added != c.want {
				t.Errorf("added again in the next round")
			}
		})
	}
}

func TestTheRateAmongConsumedCapacities(t *testing.T) {
	for name, c := range map[string]struct {
		consumed map[resourcev1.QualifiedName]string
		want     int64
	}{
		"none":                    {nil, 0},
		"of no domain":            {map[resourcev1.QualifiedName]string{"bandwidth": "10G"}, 10_000_000_000},
		"of a domain":             {map[resourcev1.QualifiedName]string{"dra.net/bandwidth": "400G"}, 400_000_000_000},
		"binary":                  {map[resourcev1.QualifiedName]string{"bandwidth": "1Ki"}, 1024},
		"others":                  {map[resourcev1.QualifiedName]string{"dra.net/queues": "8", "bandwidth.example.org/queues": "3"}, 0},
		"none of it":              {map[resourcev1.QualifiedName]string{"bandwidth": "0"}, 0},
		"less than a bit/s":       {map[resourcev1.QualifiedName]string{"bandwidth": "1m"}, 1},
		"negative":                {map[resourcev1.QualifiedName]string{"bandwidth": "-5G"}, 0},
		"more than a port can be": {map[resourcev1.QualifiedName]string{"bandwidth": "9E"}, 1_000_000_000_000_000},
	} {
		t.Run(name, func(t *testing.T) {
			consumed := map[resourcev1.QualifiedName]resource.Quantity{}
			for k, v := range c.consumed {
				consumed[k] = resource.MustParse(v)
			}
			if got := bandwidthOf(consumed); got != c.want {
				t.Errorf("found %d bit/s, want %d", got, c.want)
			}
		})
	}
}
