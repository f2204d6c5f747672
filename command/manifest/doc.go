// Package manifest reads files of resources, as `fairlane apply` takes them: YAML documents with a kind, a name and a
// spec.
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
// Reading is strict: an unknown or repeated key, a value of another type or out of its range, and a resource that is
// declared twice are faults with file, line and field. Whether names of ports are right only the service can say.
package manifest

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"fairlane/internal/phrase"
	"fairlane/internal/yamltree"
)

// MaxBytes bounds a file.
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

// rule is what holds for the resources of a kind.
type rule struct {
	kind     Kind
	named    bool       // they have a name of their own
	inFabric bool       // they belong to a fabric
	spec     func() any // an empty spec
}

// rules are in the order in which kinds are applied.
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

// rule is the rule of a kind; its zero value for a kind that does not exist.
func (k Kind) rule() rule {
	i := slices.Index(Kinds(), k)
	if i < 0 {
		return rule{}
	}
	return rules()[i]
}

// Place is where a resource was read.
type Place struct {
	File string
	Line int
}

// String prints "FILE:LINE".
func (p Place) String() string { return fmt.Sprintf("%s:%d", p.File, p.Line) }

// Resource is one document. Spec is a pointer to the type of its kind, such as *TenantSpec.
type Resource struct {
	Kind   Kind
	Name   string // empty where there is but one
	Fabric string // what it belongs to; empty where it belongs to none, or to the fabric that the command names
	Spec   any
	At     Place
}

// ID is how a resource is called in messages: KIND, KIND/NAME or KIND/FABRIC/NAME.
func (r *Resource) ID() string {
	parts := []string{string(r.Kind)}
	for _, p := range []string{r.Fabric, r.Name} {
		if p != "" {
			parts = append(parts, p)
		}
	}
	return strings.Join(parts, "/")
}

// Specs by kind. Rates are in bit/s; what is left out has its default.
type (
	// SettingsSpec are what the service does by itself.
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
	// FabricSpec is a fabric and where it is found.
	FabricSpec struct {
		Source    string   `json:"source" want:"manifest.want-source"`
		Plane     *string  `json:"plane"`
		TimeScale *float64 `json:"time_scale"`
		Counters  *string  `json:"counters"`
		// Prerequisites is "report" or "repair".
		Prerequisites *string `json:"prerequisites"`
	}
	// OptionsSpec are the compiler's options of a fabric.
	OptionsSpec struct {
		Mode          *string `json:"mode"`
		CCTLaw        *string `json:"cct_law"`
		PerQP         *string `json:"per_qp"`
		Plane         *string `json:"plane"`
		Profile       *string `json:"profile"`
		ReservedSLs   []int   `json:"reserved_sls"`
		TableEntries  *int    `json:"table_entries"`
		TimerRestart  *bool   `json:"timer_restart"`
		VLArbitration *bool   `json:"vl_arbitration"`
	}
	// DriftPolicySpec says how drift is looked for on a fabric and what is done about it; times are in seconds.
	DriftPolicySpec struct {
		Policy          *string `json:"policy"`
		IntervalS       *int    `json:"interval_s"`
		QuarantineAfter *int    `json:"quarantine_after"`
		WindowS         *int    `json:"window_s"`
		ReleaseS        *int    `json:"release_s"`
	}
	// TenantSpec is a tenant, with the keys that tenant files have.
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
	// Attachment is a port a tenant sits on: its name alone, or with a service level.
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
	// AccountSpec is a service account. With a tenant it belongs to that tenant of the resource's fabric; without one its role
	// holds on the resource's fabric or, without a fabric, on everything.
	AccountSpec struct {
		DisplayName string `json:"display_name"`
		Role        string `json:"role" want:"manifest.want-role"`
		Tenant      string `json:"tenant"`
	}
)

// InFabric gives the resources that need a fabric and name none the one that is given, and checks that nothing is
// declared twice. Without a fabric to give, the one fabric that is declared is taken.
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

// Sort orders resources as they depend on each other; those of a kind stay in the order of the files.
func Sort(list []Resource) {
	order := Kinds()
	slices.SortStableFunc(list, func(a, b Resource) int {
		return cmp.Compare(slices.Index(order, a.Kind), slices.Index(order, b.Kind))
	})
}
