package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// NodeLabel is the label of a FabricAttachment with the name of its node, by which node agents and listings select.
const NodeLabel = "fairlane.dev/node"

// Source is how the node agent learned of an attachment.
//
// +kubebuilder:validation:Enum=CNI;Claim;PodResources
type Source string

// Sources of attachments.
const (
	SourceCNI          Source = "CNI"          // a call of the CNI plugin
	SourceClaim        Source = "Claim"        // an allocated ResourceClaim
	SourcePodResources Source = "PodResources" // the kubelet's list of devices in use
)

// AttachedPod names a pod.
type AttachedPod struct {
	// Name of the pod, in the attachment's namespace.
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name"`
	// UID of the pod.
	UID types.UID `json:"uid"`
}

// AttachedDevice names a device of the node.
type AttachedDevice struct {
	// ID is the PCI address or the name of the auxiliary device.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=64
	ID string `json:"id"`
	// RDMA is the name of the RDMA device, as on the host.
	// +kubebuilder:validation:MaxLength=64
	// +optional
	RDMA string `json:"rdma,omitempty"`
	// Netdev is the name of the network device, as on the host.
	// +kubebuilder:validation:MaxLength=64
	// +optional
	Netdev string `json:"netdev,omitempty"`
	// PF is the physical function of a virtual function.
	// +kubebuilder:validation:MaxLength=64
	// +optional
	PF string `json:"pf,omitempty"`
	// VF is the index of the virtual function on its physical function; absent for other devices.
	// +kubebuilder:validation:Minimum=0
	// +optional
	VF *int32 `json:"vf,omitempty"`
	// GUID of the device.
	// +kubebuilder:validation:MaxLength=32
	// +optional
	GUID string `json:"guid,omitempty"`
	// Port is the fabric's port, as GUID:PORT or HOST:PORT. Attachments without one are not reported to the manager.
	// +kubebuilder:validation:MaxLength=100
	// +optional
	Port string `json:"port,omitempty"`
}

// FabricAttachmentSpec is one pod's presence on one port, as its node's agent found it.
//
// +kubebuilder:validation:XValidation:rule="self.node == oldSelf.node && self.pod == oldSelf.pod && self.interface == oldSelf.interface",message="an attachment cannot move to another pod, node or interface"
type FabricAttachmentSpec struct {
	// Pod that has the device.
	Pod AttachedPod `json:"pod"`
	// Node on which the pod runs.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Node string `json:"node"`
	// Network is the name of the CNI network or of the resource claim.
	// +kubebuilder:validation:MaxLength=253
	// +optional
	Network string `json:"network,omitempty"`
	// Interface is the name of the interface in the pod, or of the request in the claim.
	// +kubebuilder:validation:MaxLength=63
	// +optional
	Interface string `json:"interface,omitempty"`
	// ContainerID is the id of the pod's sandbox.
	// +kubebuilder:validation:MaxLength=128
	// +optional
	ContainerID string `json:"containerID,omitempty"`
	// Source is how the attachment was found.
	Source Source `json:"source"`
	// Binding is the name of the TenantBinding by which the class was applied; empty in a namespace without one.
	// +kubebuilder:validation:MaxLength=253
	// +optional
	Binding string `json:"binding,omitempty"`
	// Class is the class that was requested for the device.
	// +kubebuilder:validation:MaxLength=63
	// +optional
	Class string `json:"class,omitempty"`
	// Device is what was attached.
	Device AttachedDevice `json:"device"`
	// ClaimedBps is the rate that the scheduler booked of the device for the pod's claim, in bits per second; absent without one.
	// Pods that share a claim have one rate together.
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=1000000000000000
	// +optional
	ClaimedBps *int64 `json:"claimedBps,omitempty"`
}

// DeviceClass is what a device was given, what was read back from it, or what a plan has for it. A value that does not apply is absent.
type DeviceClass struct {
	// MaxMbps is the maximum rate in Mbit/s; 0 means unlimited.
	// +optional
	MaxMbps *int64 `json:"maxMbps,omitempty"`
	// ShareOf1000 is the share in thousandths of the port.
	// +optional
	ShareOf1000 *int32 `json:"shareOf1000,omitempty"`
	// TOS is the default traffic class of connections.
	// +optional
	TOS *int32 `json:"tos,omitempty"`
	// SL is the service level.
	// +optional
	SL *int32 `json:"sl,omitempty"`
	// PKey is the partition key, such as 0x8001.
	// +kubebuilder:validation:MaxLength=6
	// +optional
	PKey string `json:"pkey,omitempty"`
}

// FabricAttachmentStatus is what was planned, applied and measured. The node agent writes all but the plan and the rates.
type FabricAttachmentStatus struct {
	// Planned is what the plan in force has for the tenant on the attachment's port: the service level on InfiniBand, the share on
	// RoCE, which all attachments of the tenant there divide; 0 where the port is not divided. Absent before the port is in a plan.
	// +optional
	Planned *DeviceClass `json:"planned,omitempty"`
	// Applied is what the agent set.
	// +optional
	Applied *DeviceClass `json:"applied,omitempty"`
	// ReadBack is what the agent last read from the device.
	// +optional
	ReadBack *DeviceClass `json:"readBack,omitempty"`
	// Drift is true when the device does not hold what was applied.
	// +optional
	Drift bool `json:"drift,omitempty"`
	// Reason says, in a sentence, why the class is not applied or not enforced.
	// +kubebuilder:validation:MaxLength=1024
	// +optional
	Reason string `json:"reason,omitempty"`
	// EntitledBps is the tenant's entitlement on the attachment's port, in bits per second, which all attachments of the tenant
	// there share. Absent when the port is not contended.
	// +optional
	EntitledBps *int64 `json:"entitledBps,omitempty"`
	// DeliveredBps is what the tenant received on the port, in bits per second; absent when not measured.
	// +optional
	DeliveredBps *int64 `json:"deliveredBps,omitempty"`
	// Conditions of the attachment, by the node agent.
	// +listType=map
	// +listMapKey=type
	// +optional
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// FabricAttachment is one pod's presence on one port of a fabric. Its owner is the pod; its writer is the agent of the node.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:shortName=fa,categories=fairlane
// +kubebuilder:printcolumn:name="Pod",type=string,JSONPath=`.spec.pod.name`
// +kubebuilder:printcolumn:name="Node",type=string,JSONPath=`.spec.node`
// +kubebuilder:printcolumn:name="Interface",type=string,JSONPath=`.spec.interface`
// +kubebuilder:printcolumn:name="Device",type=string,JSONPath=`.spec.device.id`
// +kubebuilder:printcolumn:name="Class",type=string,JSONPath=`.spec.class`
// +kubebuilder:printcolumn:name="Drift",type=boolean,JSONPath=`.status.drift`
// +kubebuilder:printcolumn:name="Entitled",type=integer,JSONPath=`.status.entitledBps`
// +kubebuilder:printcolumn:name="Delivered",type=integer,JSONPath=`.status.deliveredBps`
// +kubebuilder:printcolumn:name="Port",type=string,priority=1,JSONPath=`.spec.device.port`
// +kubebuilder:printcolumn:name="Reason",type=string,priority=1,JSONPath=`.status.reason`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type FabricAttachment struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   FabricAttachmentSpec   `json:"spec"`
	Status FabricAttachmentStatus `json:"status,omitempty"`
}

// FabricAttachmentList is a list of attachments.
//
// +kubebuilder:object:root=true
type FabricAttachmentList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []FabricAttachment `json:"items"`
}
