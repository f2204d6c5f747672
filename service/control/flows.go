package control

import (
	"fairlane/tenants"
)

// AnyVersion makes PutFlows replace whatever version there is.
const AnyVersion int64 = -1

// Plain are tenants as the model has them, without their rows.
func Plain(list []Tenant) []tenants.Tenant {
	out := make([]tenants.Tenant, len(list))
	for i, t := range list {
		out[i] = t.Tenant
	}
	return out
}
