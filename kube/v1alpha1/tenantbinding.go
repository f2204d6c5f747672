package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// FailPolicy says what happens to a new pod whose class the node cannot learn or apply.
//
// +kubebuilder:validation:Enum=Closed;Open
type FailPolicy string

// Fail policies.
const (
	FailClosed FailPolicy = "Closed" // the pod waits until its class is applied
	FailOpen   FailPolicy = "Open"   // the pod starts without its class, and the attachment says so
)

// LabelPrefix is the prefix of the namespace labels that a binding may select by. Only accounts with the verb bind on
// tenantbindings can change such labels.
const LabelPrefix = "tenancy.fairlane.dev/"

// FeedFinalizer keeps a deleted binding until its attachments are removed from the manager's feed.
const FeedFinalizer = "fairlane.dev/feed"

// DefaultLimit is the budget of a binding that gives none, in device settings.
const DefaultLimit = 200

// TenantBindingSpec says which namespaces belong to which tenant.
type TenantBindingSpec struct {
	// Fabric is the name of a fabric of the manager.
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$`
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="fabric cannot be changed: delete the binding and create another"
	Fabric string `json:"fabric"`
	// Tenant is the name of a tenant of the fabric.
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$`
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="tenant cannot be changed: delete the binding and create another"
	Tenant string `json:"tenant"`
	// NamespaceSelector selects namespaces by labels that only cluster administrators set.
	NamespaceSelector NamespaceSelector `json:"namespaceSelector"`
	// Class is the tenant's class that the pods get. A tenant without classes has the class "default".
	// +kubebuilder:default=default
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$`
	// +kubebuilder:validation:MaxLength=63
	// +optional
	Class string `json:"class,omitempty"`
	// FailPolicy says whether a pod waits (Closed) or starts (Open) when its class cannot be applied.
	// +kubebuilder:default=Closed
	// +optional
	FailPolicy FailPolicy `json:"failPolicy,omitempty"`
	// CachedFor is how long a node may use the class that it last read, from 1m to 720h.
	// +kubebuilder:default="24h"
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=16
	// +kubebuilder:validation:Pattern=`^([0-9]+(h|m|s))+$`
	// +kubebuilder:validation:XValidation:rule="duration(self) >= duration('1m') && duration(self) <= duration('720h')",message="cachedFor must be from 1m to 720h"
	// +optional
	CachedFor metav1.Duration `json:"cachedFor,omitempty"`
	// Limit is the largest number of device settings that one automatic rollout may change. 0 means that changes are only planned.
	// +kubebuilder:default=200
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=1000000
	// +optional
	Limit *int32 `json:"limit,omitempty"`
}

// NamespaceSelector selects namespaces by labels. All terms must match, and one must need a label to be present.
//
// +kubebuilder:validation:XValidation:rule="(has(self.matchLabels) && size(self.matchLabels) > 0) || (has(self.matchExpressions) && self.matchExpressions.exists(e, e.operator in ['In', 'Exists']))",message="namespaceSelector must have a label, or an expression with In or Exists: it would select every namespace without the label"
// +kubebuilder:validation:XValidation:rule="!has(self.matchLabels) || self.matchLabels.all(k, k.startsWith('tenancy.fairlane.dev/') || k == 'kubernetes.io/metadata.name')",message="namespaceSelector may use only keys that begin with tenancy.fairlane.dev/, and kubernetes.io/metadata.name"
// +kubebuilder:validation:XValidation:rule="!has(self.matchExpressions) || self.matchExpressions.all(e, e.key.startsWith('tenancy.fairlane.dev/') || e.key == 'kubernetes.io/metadata.name')",message="namespaceSelector may use only keys that begin with tenancy.fairlane.dev/, and kubernetes.io/metadata.name"
type NamespaceSelector struct {
	// MatchLabels lists labels with their values.
	// +kubebuilder:validation:MaxProperties=16
	// +optional
	MatchLabels map[string]string `json:"matchLabels,omitempty"`
	// MatchExpressions lists conditions on labels.
	// +kubebuilder:validation:MaxItems=16
	// +listType=atomic
	// +optional
	MatchExpressions []NamespaceRequirement `json:"matchExpressions,omitempty"`
}

// NamespaceRequirement is a condition on one label.
//
// +kubebuilder:validation:XValidation:rule="self.operator in ['In', 'NotIn'] ? has(self.values) && size(self.values) > 0 : !has(self.values) || size(self.values) == 0",message="values are needed with In and NotIn, and not allowed with Exists and DoesNotExist"
type NamespaceRequirement struct {
	// Key is the label's name.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=317
	Key string `json:"key"`
	// Operator relates the label to the values.
	// +kubebuilder:validation:Enum=In;NotIn;Exists;DoesNotExist
	Operator metav1.LabelSelectorOperator `json:"operator"`
	// Values are the values of In and NotIn.
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MaxLength=63
	// +listType=atomic
	// +optional
	Values []string `json:"values,omitempty"`
}

// BindingClass is a class of the tenant as it is in force.
type BindingClass struct {
	// Name of the class.
	Name string `json:"name"`
	// Weight of the class among the classes of the tenant, as a decimal number.
	Weight string `json:"weight"`
	// SL is the service level; absent unless the plan in force has one for all ports of the tenant.
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=15
	// +optional
	SL *int32 `json:"sl,omitempty"`
	// DSCP is the code point of RoCE packets; absent unless the plan in force has one for all ports of the tenant.
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=63
	// +optional
	DSCP *int32 `json:"dscp,omitempty"`
	// ShareOf1000 is the share of a virtual function, in thousandths of its port; absent unless it is the same on all ports.
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=1000
	// +optional
	ShareOf1000 *int32 `json:"shareOf1000,omitempty"`
	// MaxMbps is the tenant's cap in Mbit/s; absent without one.
	// +kubebuilder:validation:Minimum=0
	// +optional
	MaxMbps *int64 `json:"maxMbps,omitempty"`
}

// TenantBindingStatus is what the controller observed.
type TenantBindingStatus struct {
	// ObservedGeneration is the generation of the spec that this status is about.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	// Weight of the tenant, as a decimal number.
	// +optional
	Weight string `json:"weight,omitempty"`
	// EntitledBps is the tenant's entitlement by the plan in force, in bits per second.
	// +optional
	EntitledBps *int64 `json:"entitledBps,omitempty"`
	// DeliveredBps is the rate delivered in contended time of the last hour, in bits per second; absent when not measured.
	// +optional
	DeliveredBps *int64 `json:"deliveredBps,omitempty"`
	// ContendedSeconds is the contended time in the last hour, in seconds; absent when not measured.
	// +optional
	ContendedSeconds *int64 `json:"contendedSeconds,omitempty"`
	// PolicyRevision is the revision of the declarations from which the plan in force was compiled.
	// +optional
	PolicyRevision int64 `json:"policyRevision,omitempty"`
	// Plan is the name of the plan in force.
	// +optional
	Plan string `json:"plan,omitempty"`
	// Namespaces is the number of namespaces that the binding holds.
	Namespaces int32 `json:"namespaces"`
	// Pods is the number of pods with an attachment.
	Pods int32 `json:"pods"`
	// Ports is the number of ports that the binding claims for its tenant.
	Ports int32 `json:"ports"`
	// ClaimedBps is the sum of the rates that the scheduler booked for the binding's pods, in bits per second; absent without any.
	// +optional
	ClaimedBps *int64 `json:"claimedBps,omitempty"`
	// Classes are the classes of the tenant, with what the plan in force assigns to them.
	// +listType=map
	// +listMapKey=name
	// +optional
	Classes []BindingClass `json:"classes,omitempty"`
	// Conditions are Bound, Unambiguous, InForce and SharesHeld.
	// +listType=map
	// +listMapKey=type
	// +optional
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// Conditions of a TenantBinding.
const (
	ConditionBound       = "Bound"       // the tenant and the class exist
	ConditionUnambiguous = "Unambiguous" // no namespace is selected by two bindings
	ConditionInForce     = "InForce"     // the attachments are in the plan in force
	ConditionSharesHeld  = "SharesHeld"  // the tenant receives its share
)

// TenantBinding gives the namespaces that it selects to a tenant of a fabric.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:scope=Cluster,shortName=tb,categories=fairlane
// +kubebuilder:printcolumn:name="Fabric",type=string,JSONPath=`.spec.fabric`
// +kubebuilder:printcolumn:name="Tenant",type=string,JSONPath=`.spec.tenant`
// +kubebuilder:printcolumn:name="Class",type=string,JSONPath=`.spec.class`
// +kubebuilder:printcolumn:name="Weight",type=string,JSONPath=`.status.weight`
// +kubebuilder:printcolumn:name="Pods",type=integer,JSONPath=`.status.pods`
// +kubebuilder:printcolumn:name="Bound",type=string,JSONPath=`.status.conditions[?(@.type=="Bound")].status`
// +kubebuilder:printcolumn:name="In force",type=string,JSONPath=`.status.conditions[?(@.type=="InForce")].status`
// +kubebuilder:printcolumn:name="Shares held",type=string,JSONPath=`.status.conditions[?(@.type=="SharesHeld")].status`
// +kubebuilder:printcolumn:name="Entitled",type=integer,priority=1,JSONPath=`.status.entitledBps`
// +kubebuilder:printcolumn:name="Delivered",type=integer,priority=1,JSONPath=`.status.deliveredBps`
// +kubebuilder:printcolumn:name="Claimed",type=integer,priority=1,JSONPath=`.status.claimedBps`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type TenantBinding struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   TenantBindingSpec   `json:"spec"`
	Status TenantBindingStatus `json:"status,omitempty"`
}

// TenantBindingList is a list of bindings.
//
// +kubebuilder:object:root=true
type TenantBindingList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []TenantBinding `json:"items"`
}
