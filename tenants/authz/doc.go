// Package authz decides which subject may do what: the table of roles in roles.go, evaluated by casbin with domains.
// The store's memberships are authoritative: casbin gets those of one subject through a read-only adapter and stores
// nothing, so a withdrawn membership has no effect from the next request, on every manager.
//
// The model (house rule: no patterns, explicit rules for roles on a whole fabric and on everything):
//
//	request = subject, domain, fabric of the domain, object, action
//	policy  = role, object, action
//	member  = subject, role, domain
//	allowed when object and action are the policy's, and the subject has the policy's role in
//	the request's domain, on its fabric or in "*"
package authz
