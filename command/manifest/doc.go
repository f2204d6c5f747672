// Package manifest reads the manifests for `fairlane apply`: YAML documents with a kind, a name and a spec.
//
//	kind: fabric
//	name: lab
//	spec: {source: "ibsim:unix:lab", time_scale: 0.01}
//	---
//	kind: tenant
//	name: gold
//	fabric: lab
//	spec: {weight: 4, pkey: 0x8001, attachments: [host-001]}
//
// Reading is strict: unknown or repeated keys, values of another type or out of range, and resources that are declared
// twice are faults with file, line and field. Only the service can check names of ports.
package manifest

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"fairlane/internal/phrase"
	"fairlane/internal/yamltree"
)

// MaxBytes is the maximum size of a file.
const MaxBytes = 16 << 20

// Kind is a kind of resource.
type Kind string

// Kinds of resources, in the order in which they are applied.
const (
	KindSettings       Kind = "settings"
	KindFabric         Kind = "fabric"
	KindOptions        Kind = "options"
	KindDriftPolicy    Kind = "drift-policy"
	KindTenant         Kind = "tenant"
	KindFlows          Kind = "flows"
	KindUser           Kind = "user"
	KindServiceAccount Kind = "service-account"
)

// rule is the properties of a kind's resources.
type rule struct {
	kind     Kind
	named    bool       // they have a name
	inFabric bool       // they belong to a fabric
	spec     func() any // an empty spec
}

// rules returns the rules of all kinds, in the order in which kinds are applied.
func rules() []rule {
	return []rule{
		{KindSettings, false, false, func() any { return new(SettingsSpec) }},
		{KindFabric, true, false, func() any { return new(FabricSpec) }},
		{KindOptions, false, true, func() any { return new(OptionsSpec) }},
		{KindDriftPolicy, false, true, func() any { return new(DriftPolicySpec) }},
		{KindTenant, true, true, func() any { return new(TenantSpec) }},
		{KindFlows, false, true, func() any { return new(FlowsSpec) }},
		{KindUser, true, false, func() any { return new(UserSpec) }},
		{KindServiceAccount, true, false, func() any { return new(AccountSpec) }},
	}
}

// Kinds returns all kinds in the order in which they are applied.
func Kinds() []Kind {
	var out []Kind
	for _, r := range rules() {
		out = append(out, r.kind)
	}
	return out
}

// rule returns the rule of a kind; the zero value for an unknown kind.
func (k Kind) rule() rule {
	i := slices.Index(Kinds(), k)
	if i < 0 {
		return rule{}
	}
	return rules()[i]
}

// Place is the place where a resource was read.
type Place struct {
	File string
	Line int
}

// String returns "FILE:LINE".
func (p Place) String() string { return fmt.Sprintf("%s:%d", p.File, p.Line) }

// Resource is one document. Spec is a pointer to the type of its kind, such as *TenantSpec.
type Resource struct {
	Kind   Kind
	Name   string // empty for kinds with only one resource
	Fabric string // the fabric that it belongs to; empty if it belongs to none, or to the fabric given on the command line
	Spec   any
	At     Place
}

// ID returns the name of a resource in messages: KIND, KIND/NAME or KIND/FABRIC/NAME.
func (r *Resource) ID() string {
	parts := []string{string(r.Kind)}
	for _, p := range []string{r.Fabric, r.Name} {
		if p != "" {
			parts = append(parts, p)
		}
	}
	return strings.Join(parts, "/")
}

// Specs by kind. Rates are in bit/s; omitted keys have their defaults.
type (
	// SettingsSpec is the settings of the service.
	SettingsSpec struct {
		Shares struct {
			IntervalS *int `json:"interval_s"`
			WindowMs  *int `json:"window_ms"`
			Keep      *int `json:"keep"`
		} `json:"shares"`
		Tasks struct {
			Keep  *int `json:"keep"`
			Limit *int `json:"limit"`
		} `json:"tasks"`
	}
	// FabricSpec is a fabric and its source.
	FabricSpec struct {
		Source    string   `json:"source" want:"manifest.want-source"`
		Plane     *string  `json:"plane"`
		TimeScale *float64 `json:"time_scale"`
		Counters  *string  `json:"counters"`
		// Prerequisites is "report" or "repair".
		Prerequisites *string `json:"prerequisites"`
	}
	// OptionsSpec is the compiler's options of a fabric.
	OptionsSpec struct {
		Mode          *string        `json:"mode"`
		CCTLaw        *string        `json:"cct_law"`
		PerQP         *string        `json:"per_qp"`
		Plane         *string        `json:"plane"`
		Profile       *string        `json:"profile"`
		Lever         *string        `json:"lever"`
		Classes       []TrafficClass `json:"classes"`
		ReservedSLs   []int          `json:"reserved_sls"`
		TableEntries  *int           `json:"table_entries"`
		TimerRestart  *bool          `json:"timer_restart"`
		VLArbitration *bool          `json:"vl_arbitration"`
	}
	// TrafficClass is a traffic class that the site provides for tenants.
	TrafficClass struct {
		DSCP  int `json:"dscp"`
		Queue int `json:"queue"`
	}
	// DriftPolicySpec is a fabric's policy for checking and repairing drift; times are in seconds.
	DriftPolicySpec struct {
		Policy          *string `json:"policy"`
		IntervalS       *int    `json:"interval_s"`
		QuarantineAfter *int    `json:"quarantine_after"`
		WindowS         *int    `json:"window_s"`
		ReleaseS        *int    `json:"release_s"`
	}
	// TenantSpec is a tenant, with the keys of tenant files.
	TenantSpec struct {
		Weight      Weight       `json:"weight" want:"manifest.want-weight"`
		Guarantee   Rate         `json:"guarantee"`
		Cap         Rate         `json:"cap"`
		PKey        PKey         `json:"pkey"`
		Classes     []Class      `json:"classes"`
		Attachments []Attachment `json:"attachments"`
	}
	// Class is a traffic class of a tenant.
	Class struct {
		Name   string `json:"name" want:"manifest.want-class"`
		Weight Weight `json:"weight" want:"manifest.want-weight"`
	}
	// Attachment is a port of a tenant: its name, or its name and a service level.
	Attachment struct {
		Port string `json:"port" want:"manifest.want-port"`
		SL   *int   `json:"sl"`
	}
	// FlowsSpec is the declared traffic of a fabric.
	FlowsSpec []Flow
	// Flow is traffic from each source to each other destination.
	Flow struct {
		Tenant string `json:"tenant" want:"manifest.want-tenant"`
		Class  string `json:"class"`
		From   Ports  `json:"from" want:"manifest.want-ports"`
		To     Ports  `json:"to" want:"manifest.want-ports"`
		QPs    *int   `json:"qps"`
		Demand Rate   `json:"demand"`
	}
	// UserSpec is a person. Passwords are not accepted in manifests.
	UserSpec struct {
		DisplayName string  `json:"display_name"`
		Roles       []Grant `json:"roles"`
		Disabled    bool    `json:"disabled"`
	}
	// AccountSpec is a service account. With a tenant, it belongs to that tenant of the resource's fabric. Without one,
	// its role applies to the resource's fabric or, without a fabric, to everything.
	AccountSpec struct {
		DisplayName string `json:"display_name"`
		Role        string `json:"role" want:"manifest.want-role"`
		Tenant      string `json:"tenant"`
	}
)

// InFabric sets the fabric of resources that need one and name none, and checks that no resource is declared twice. If
// fabric is empty, it uses the only declared fabric.
func InFabric(list []Resource, fabric string) error {
	if fabric == "" {
		var names []string
		for i := range list {
			if list[i].Kind == KindFabric {
				names = append(names, list[i].Name)
			}
		}
		if len(names) == 1 {
			fabric = names[0]
		}
	}
	var faults []error
	seen := map[string]Place{}
	for i := range list {
		r := &list[i]
		account, _ := r.Spec.(*AccountSpec)
		if r.Fabric == "" && (r.Kind.rule().inFabric || account != nil && account.Tenant != "") {
			if r.Fabric = fabric; fabric == "" {
				faults = append(faults, &yamltree.Fault{File: r.At.File, Line: r.At.Line, Field: "fabric", Said: yamltree.Missing(phrase.Of("manifest.want-fabric"))})
				continue
			}
		}
		id := r.ID()
		if account != nil {
			id += "@" + account.Tenant
		}
		if at, twice := seen[id]; twice {
			faults = append(faults, &yamltree.Fault{File: r.At.File, Line: r.At.Line, Field: "name", Said: phrase.Of("manifest.twice", "id", r.ID(), "at", at)})
		}
		seen[id] = r.At
	}
	return yamltree.Join(faults)
}

// Sort orders resources by their dependencies; resources of one kind keep the order of the files.
func Sort(list []Resource) {
	order := Kinds()
	slices.SortStableFunc(list, func(a, b Resource) int {
		return cmp.Compare(slices.Index(order, a.Kind), slices.Index(order, b.Kind))
	})
}
