// Package authz decides who may do what: the table of roles in roles.go, and casbin, which
// evaluates it with domains. Memberships are the truth; casbin gets those of one subject through
// a read-only adapter and keeps nothing, so that a membership that was withdrawn is gone with the
// next request, on every manager.
//
// The model (house rule: no patterns, explicit rules for roles on a whole fabric and on everything):
//
//	request = subject, domain, fabric of the domain, object, action
//	policy  = role, object, action
//	member  = subject, role, domain
//	allowed when object and action are the policy's, and the subject has the policy's role in
//	the request's domain, on its fabric or in "*"
package authz
