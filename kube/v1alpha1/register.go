package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Group is the API group of Fairlane's objects; custom verbs of its resources hold special rights (see deploy/kubernetes).
const Group = "fairlane.dev"

// GroupVersion is the group and version of the objects of this package.
var GroupVersion = schema.GroupVersion{Group: Group, Version: "v1alpha1"}

// AddToScheme registers the objects of this package.
func AddToScheme(s *runtime.Scheme) error {
	s.AddKnownTypes(GroupVersion, &TenantBinding{}, &TenantBindingList{}, &FabricAttachment{}, &FabricAttachmentList{})
	metav1.AddToGroupVersion(s, GroupVersion)
	return nil
}
