package control

import (
	"errors"
	"strings"

	"fairlane/tenants"
)

// InTenant maps faults to places in a request whose body is a tenant. A fault in a declared flow is mapped to what the
// tenant no longer has for it: a class or an attachment.
func InTenant(base string) func(*tenants.FieldError) string {
	return func(f *tenants.FieldError) string {
		switch {
		case f.Flow < 0:
			return base + "/" + PointerOf(f.Field)
		case f.Field == "class":
			return base + "/classes"
		}
		return base + "/attachments"
	}
}

// InvalidModel converts the faults that tenants.Validate found into an *InvalidError; at returns the pointer of the
// faulty field in the request.
func InvalidModel(err error, at func(*tenants.FieldError) string) error {
	if err == nil {
		return nil
	}
	var bad InvalidError
	list := []error{err}
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		list = joined.Unwrap()
	}
	for _, e := range list {
		var f *tenants.FieldError
		pointer := ""
		if errors.As(e, &f) {
			pointer = at(f)
		}
		bad.AddFrom(pointer, e)
	}
	return bad.OrNil()
}

// PointerOf converts "classes[1].name" into "classes/1/name", and the model's field names into the contract's.
func PointerOf(field string) string {
	if field == "demand" || field == "guarantee" || field == "cap" {
		return field + "_bps"
	}
	return strings.NewReplacer("[", "/", "].", "/", "]", "", ".", "/").Replace(field)
}

// AnyVersion makes PutFlows replace any version.
const AnyVersion int64 = -1

// Plain returns tenants in the form of the model, without their rows.
func Plain(list []Tenant) []tenants.Tenant {
	out := make([]tenants.Tenant, len(list))
	for i, t := range list {
		out[i] = t.Tenant
	}
	return out
}
