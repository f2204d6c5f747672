package authz

import (
	"slices"

	"fairlane/tenants"
)

// Object is a kind of object to which rights apply.
type Object string

// Objects.
const (
	Fabric         Object = "fabric"
	Tenant         Object = "tenant"
	Class          Object = "class"
	Attachment     Object = "attachment"
	Feed           Object = "feed"
	Flow           Object = "flow"
	Policy         Object = "policy"
	Plan           Object = "plan"
	Rollout        Object = "rollout"
	Device         Object = "device"
	Share          Object = "share"
	Simulation     Object = "simulation"
	Calibration    Object = "calibration"
	Event          Object = "event"
	Audit          Object = "audit"
	User           Object = "user"
	Member         Object = "member"
	ServiceAccount Object = "service-account"
	Silence        Object = "silence"
	Maintenance    Object = "maintenance"
	Settings       Object = "settings"
	Diagnostics    Object = "diagnostics"
)

// Objects lists all objects with their meaning, in the order of the table.
func Objects() []ObjectInfo {
	return []ObjectInfo{
		{Fabric, "fabrics with their sources, discovered topologies and link use"},
		{Tenant, "tenants with weight, guarantee, cap and partition"},
		{Class, "classes inside a tenant"},
		{Attachment, "ports that a tenant is attached to"},
		{Feed, "ports that outside systems claim for tenants; run: rollouts that only feeds caused"},
		{Flow, "declared traffic"},
		{Policy, "revisions of the declarations"},
		{Plan, "compiled settings of all devices"},
		{Rollout, "rollouts of plans to devices"},
		{Device, "switches and adapters: desired, observed, drift, repair"},
		{Share, "delivered against entitled shares"},
		{Simulation, "simulated runs"},
		{Calibration, "device profiles measured in simulation"},
		{Event, "events, listed and streamed"},
		{Audit, "who changed what, hash-chained"},
		{User, "accounts of people, their roles and their sign-in"},
		{Member, "who has which role in a tenant or on a fabric"},
		{ServiceAccount, "accounts of programs and their tokens"},
		{Silence, "silences of alerts"},
		{Maintenance, "announced maintenance of a fabric"},
		{Settings, "settings of the service"},
		{Diagnostics, "metrics, profiles and self-checks of the service"},
	}
}

// OfService reports whether an object belongs to the service rather than to a fabric: a role on a fabric or a tenant
// gives no right on it.
func OfService(o Object) bool {
	return slices.Contains([]Object{Simulation, Calibration, Audit, User, Silence, Settings, Diagnostics}, o)
}

// ObjectInfo is an object with its meaning.
type ObjectInfo struct {
	Object Object
	About  string
}

// Action is a kind of access.
type Action string

// Actions. Run covers what accesses devices or uses minutes of processor time.
const (
	Read  Action = "read"
	Write Action = "write"
	Run   Action = "run"
)

// Actions lists all actions.
func Actions() []Action { return []Action{Read, Write, Run} }

// Right is the actions that a role may perform on an object.
type Right struct {
	Object  Object
	Actions []Action
}

// Table lists the rights of a role, in the order of Objects; nil for an unknown role. Everything else is denied.
func Table(r tenants.Role) []Right {
	rw, rwr := []Action{Read, Write}, Actions()
	r1 := []Action{Read}
	switch r {
	case tenants.RoleFabricAdmin: // everything
		all := make([]Right, 0, len(Objects()))
		for _, o := range Objects() {
			all = append(all, Right{o.Object, rwr})
		}
		return all
	case tenants.RoleOperator: // runs the fabrics; does not manage access
		return []Right{
			{Fabric, rwr}, {Tenant, rw}, {Class, rw}, {Attachment, rw}, {Feed, rwr}, {Flow, rw}, {Policy, rw}, {Plan, rwr}, {Rollout, rwr},
			{Device, rwr}, {Share, rwr}, {Simulation, rwr}, {Calibration, rwr}, {Event, r1}, {Audit, r1}, {Member, r1},
			{Silence, rw}, {Maintenance, rw}, {Settings, r1}, {Diagnostics, r1},
		}
	case tenants.RoleAuditor: // reads everything, changes nothing, accesses no device
		all := make([]Right, 0, len(Objects()))
		for _, o := range Objects() {
			if o.Object != Diagnostics {
				all = append(all, Right{o.Object, r1})
			}
		}
		return all
	case tenants.RoleFeeder: // claims ports for tenants, plans, and rolls out what only feeds changed
		return []Right{
			{Fabric, r1}, {Tenant, r1}, {Class, r1}, {Attachment, r1}, {Feed, rwr}, {Flow, r1}, {Policy, r1}, {Plan, rw}, {Rollout, r1},
			{Share, r1}, {Event, r1},
		}
	case tenants.RoleTenantAdmin: // its own tenant: the division of its share, and its members
		return []Right{
			{Tenant, r1}, {Class, rw}, {Attachment, r1}, {Flow, r1}, {Share, r1}, {Event, r1}, {Member, rw}, {ServiceAccount, rw},
		}
	case tenants.RoleTenantViewer: // its own tenant, read only
		return []Right{{Tenant, r1}, {Class, r1}, {Attachment, r1}, {Flow, r1}, {Share, r1}, {Event, r1}, {Member, r1}}
	}
	return nil
}

// Known reports whether this package defines an object and an action.
func Known(o Object, a Action) bool {
	return slices.Contains(Actions(), a) && slices.ContainsFunc(Objects(), func(i ObjectInfo) bool { return i.Object == o })
}
